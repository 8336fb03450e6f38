// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signed documents: received through a separate socket and remembered; their deadline is passed to
 * the data plane. On a separate thread, which waits for the state directory's disk, and for nothing
 * else: reconcile.c puts policies in force, and the client waits.
 */
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#include "part.h"
#include "parts.h"
#include "signed/enrolled.h"

#define EVERY_MS 1000
#define MINUTE_NS 60000000000ULL
#define SYNC_USER "bwlimit-sync"
#define NOBODY ((uid_t)-1)

static void find_sync(struct documents *v)
{
	char buf[4096];
	struct passwd pw, *found = NULL;

	line_socket_sync(v->socket, !getpwnam_r(SYNC_USER, &pw, buf, sizeof(buf), &found) && found
					    ? found->pw_uid
					    : NOBODY);
}

static void answer_waiting(struct documents *v, const struct docs_settled *s, uint64_t now)
{
	for (unsigned i = 0; i < 2 * DOCS_WAITING; i++) {
		struct bwl_err e = { 0 };

		if (v->waiting[i].fd < 0)
			continue;
		if (s && v->waiting[i].seq <= s->seq) {
			if (s->code) {
				bwl_fail(&e, s->code, "it is accepted, but not in force: %s",
					 s->why);
				e.id = "not-in-force";
			}
			docs_answer(v->waiting[i].fd, s->code ? &e : NULL);
		} else if (now > v->waiting[i].end_ns) {
			docs_answer_unsettled(v->waiting[i].fd);
		} else {
			continue;
		}
		v->waiting[i].fd = -1;
	}
}

static void settled(struct documents *v, const struct docs_settled *s)
{
	v->in_force = v->in_force || (!s->code && s->seq);
	v->not_in_force = s->code;
	if (!s->code && s->seq && v->terms.any &&
	    memcmp(v->since_of, v->terms.policy->d.digest, sizeof(v->since_of))) {
		memcpy(v->since_of, v->terms.policy->d.digest, sizeof(v->since_of));
		v->since_s = docs_clock_now().wall_s;
	}
	if (!s->code && v->docs.m && json_object_size(bwl_memory_due(v->docs.m))) {
		if (s->seq == bwl_memory_seq(v->docs.m))
			docs_do_due(v);
		else /* another document came meanwhile: after that */
			docs_source_wake(v->a->source);
	}
	if (!s->code)
		docs_close_expelled(v);
	docs_mind_end(v);
}

/* reconcile.c settles nothing while a policy is on trial, or the glass is broken. */
static void mind_trial(struct documents *v, bool minute)
{
	bool trial = bwl_trial_ns(v->pins);

	if (trial && (minute || !v->trial))
		docs_close_expelled(v);
	v->trial = trial;
}

static void step(struct documents *v)
{
	struct docs_settled s;
	uint64_t now = bwl_now_ns();
	bool minute = now - v->minute_ns >= MINUTE_NS;
	bool news = docs_source_settled(v->a->source, &s);

	line_socket_run(v->socket, now);
	if (news)
		settled(v, &s);
	answer_waiting(v, news ? &s : NULL, now);
	if (!v->docs.m && !v->damaged && bwl_is_enrolled(v->a->state_dir)) {
		docs_reload(v); /* bwlimit-ctl enrolled the tray while there was no socket */
		docs_source_wake(v->a->source);
	}
	docs_mind_end(v);
	mind_trial(v, minute);
	if (!minute)
		return;
	v->minute_ns = now;
	find_sync(v);
}

static void run(void *arg)
{
	struct documents *v = arg;
	struct pollfd p[] = { { .fd = line_socket_fd(v->socket), .events = POLLIN },
			      { .fd = docs_source_fd(v->a->source), .events = POLLIN } };

	while (agent_thread_goes_on(&v->thread)) {
		poll(p, sizeof(p) / sizeof(p[0]), EVERY_MS);
		step(v);
	}
}

static void end(struct documents *v)
{
	line_socket_close(v->socket);
	for (unsigned i = 0; i < 2 * DOCS_WAITING; i++)
		if (v->waiting[i].fd >= 0)
			close(v->waiting[i].fd);
	docs_terms_free(&v->terms);
	docs_free(&v->docs);
	json_decref(v->closed.of);
	json_decref(v->closed.since);
	bwl_pins_close(v->pins);
	free(v);
}
BWL_AUTO_DEFINE(end, struct documents *)

int agent_documents_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	/* Signatures decide what is accepted, but clients are limited nevertheless. */
	static const struct line_rule rule = { .mode = 0666, .documents = true, .said = docs_said };
	BWL_AUTO(end) struct documents *v = bwl_must(calloc(1, sizeof(*v)));
	struct sockaddr_un at;
	struct line_who who;
	int r;

	v->a = a;
	for (unsigned i = 0; i < 2 * DOCS_WAITING; i++)
		v->waiting[i].fd = -1;
	v->minute_ns = bwl_now_ns();
	line_who_find(&who, 1U << LINE_ROOT | 1U << LINE_SYNC);
	who.by_user = true;
	r = bwl_pins_open(a->pin_dir, true, &v->pins, e);
	if (!r)
		r = line_socket_address(a->pin_dir, BWL_AGENT_DOCUMENTS, &at, e);
	if (!r)
		r = line_socket_open(at.sun_path, &rule, &who, v, &v->socket, e);
	if (r)
		return r;
	find_sync(v);
	docs_reload(v);
	docs_destroy_again(v);
	r = agent_thread_start(&v->thread, run, v, e);
	if (!r)
		*ret_part = bwl_take_ptr(&v);
	return r;
}

void agent_documents_stop(struct agent *a, void *part)
{
	struct documents *v = part;

	(void)a;
	agent_thread_stop(&v->thread);
	end(v);
}
