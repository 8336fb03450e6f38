// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs ipsec/track.h on a separate thread while the policy in force has encrypted peers. There is
 * one tracker per pin directory: a lock on its links/ decides between this and `bwlimit-ipsecd
 * track`. The second one waits, and takes over when the first one ends.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include "ipsec/track.h"
#include "parts.h"
#include "thread.h"

#define AGAIN_NS 2000000000ULL

struct tracking {
	struct agent_thread thread;
	const char *pin_dir;
};

static bool goes_on(void *arg)
{
	return agent_thread_goes_on(&((struct tracking *)arg)->thread);
}

static void on_begin(void *arg)
{
	(void)arg;
	agent_log(LOG_INFO, "tracking", "the kernel's SAs are tracked");
}

static void on_change(const struct bwl_pins *p, uint32_t id, const struct bwl_track_verdict *v,
		      void *arg)
{
	char name[BWL_NAME_LEN];

	(void)arg;
	snprintf(name, sizeof(name), "%.*s", BWL_NAME_LEN - 1, p->name[id].name);
	if (v->flags & BWL_TUN_SA)
		agent_log(LOG_INFO, "sa-open", "%s: open, sends by SA %08x", name,
			  ntohl(v->spi_out));
	else
		agent_log(LOG_NOTICE, "sa-closed", "%s: closed, %s", name,
			  bwl_track_why_text(v->why));
	if (v->alarm)
		agent_log(LOG_ALERT, "sa-alarm", "%s: %s", name, bwl_track_why_text(v->alarm));
}

static void on_failure(const struct bwl_err *e, void *arg)
{
	(void)arg;
	agent_log_err(LOG_ERR, "tracking", e);
}

static void run(void *arg)
{
	struct tracking *t = arg;
	const struct bwl_track_user user = { goes_on, on_begin, on_change, on_failure, t };
	char told[sizeof(((struct bwl_err *)0)->text)] = "";
	struct bwl_err e = { 0 };
	int err;

	while ((err = bwl_track_follow(t->pin_dir, &user, &e))) {
		if (strcmp(told, e.text))
			agent_log_err(err == -EBUSY ? LOG_INFO : LOG_ERR, "tracking", &e);
		snprintf(told, sizeof(told), "%s", e.text);
		if (!agent_thread_nap(&t->thread, AGAIN_NS))
			return;
		e = (struct bwl_err){ 0 };
	}
}

bool agent_tracking_wanted(struct agent *a)
{
	const struct bwl_peer *body;
	struct bwl_gen g;
	bool found = false;
	uint32_t i;

	if (bwl_gen_open(a->pins, bwl_active_slot(a->pins), &g, NULL))
		return false;
	for (i = 1; !found && i < a->pins->schema.max_peers; i++) {
		body = bwl_body(a->pins, &g, i);
		found = body && body->meta.path != BWL_PATH_CLEAR;
	}
	bwl_gen_close(&g);
	return found;
}

int agent_tracking_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	BWL_AUTO_FREE struct tracking *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return bwl_fail(e, ENOMEM, "out of memory");
	t->pin_dir = a->pin_dir;
	r = agent_thread_start(&t->thread, run, t, e);
	if (!r)
		*ret_part = bwl_take_ptr(&t);
	return r;
}

void agent_tracking_stop(struct agent *a, void *part)
{
	struct tracking *t = part;

	(void)a;
	agent_thread_stop(&t->thread);
	free(t);
}
