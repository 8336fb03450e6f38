// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests at the socket of documents: bwl/agent.h has the words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <syslog.h>
#include <unistd.h>
#include "agent.h"
#include "part.h"
#include "policy_order.h"
#include "bwl/show.h"

#define WAIT_NS 100000000000ULL /* the longest time that a client waits for its document */

BWL_AUTO_DEFINE(json_decref, json_t *)

void docs_answer(int fd, const struct bwl_err *e)
{
	if (e)
		line_say(fd, json_pack("{s:s, s:s*, s:s*}", "error", e->text, "todo",
				       *e->hint ? e->hint : NULL, "id", e->id));
	else
		line_say(fd, json_pack("{s:s}", "by", AGENT_PROGRAM));
	close(fd);
}

void docs_answer_unsettled(int fd)
{
	struct bwl_err e = { 0 };

	bwl_fail(&e, EAGAIN, "it is accepted, but bwlimitd cannot wait until it is in force");
	bwl_hint(&e, "bwlimit-ctl status");
	e.id = "not-in-force";
	docs_answer(fd, &e);
}

/* A copy: the mapping of the memfd is not kept. */
static int bytes_of(const json_t *ask, int doc, char **ret, size_t *ret_len, struct bwl_err *e)
{
	const json_t *size = json_object_get(ask, "size");
	const char *at;
	int r;

	if (doc < 0)
		return bwl_fail(e, EBADMSG, "the document is missing");
	if (!json_is_integer(size) || json_integer_value(size) <= 0 ||
	    json_integer_value(size) > (json_int_t)BWL_SIGNED_BYTES_MAX)
		return bwl_fail(e, EBADMSG, "wrong size of the request");
	*ret_len = (size_t)json_integer_value(size);
	r = policy_ask_map(doc, *ret_len, &at, e);
	if (r)
		return r;
	*ret = bwl_must(malloc(*ret_len + 1));
	memcpy(*ret, at, *ret_len);
	(*ret)[*ret_len] = '\0';
	munmap((void *)(uintptr_t)at, *ret_len);
	return 0;
}

/*
 * Adds a waiting client; if there is no room, the oldest of the same right is told that its
 * document is not in force yet.
 */
static void wait_for(struct documents *v, enum line_right right, int fd)
{
	unsigned from = right == LINE_ROOT ? 0 : DOCS_WAITING, at = from;

	for (unsigned i = from; i < from + DOCS_WAITING; i++)
		if (v->waiting[i].fd < 0 ||
		    (v->waiting[at].fd >= 0 && v->waiting[i].end_ns < v->waiting[at].end_ns))
			at = i;
	if (v->waiting[at].fd >= 0)
		docs_answer_unsettled(v->waiting[at].fd);
	v->waiting[at].fd = fd;
	v->waiting[at].seq = bwl_memory_seq(v->docs.m);
	v->waiting[at].end_ns = bwl_now_ns() + WAIT_NS;
	line_say(fd, json_pack("{s:b}", "taken", 1));
}

static const char *text_of(const json_t *ask, const char *key)
{
	const char *s = json_string_value(json_object_get(ask, key));

	return s ? s : "?";
}

/* The client is told at once, not when it has waited in vain. */
static int accepted_meanwhile(uint64_t until_ns, uint64_t now_ns, struct bwl_err *e)
{
	char when[BWL_WHEN_BUF];

	bwl_fail(
		e, EAGAIN,
		"it is accepted, and comes into force when the policy on trial is confirmed or ends, at the latest %s",
		bwl_when(until_ns, now_ns, when));
	bwl_hint(e, "bwlimit-ctl policy confirm, or policy rollback");
	e->id = "not-in-force";
	return -e->code;
}

static void document(struct documents *v, enum line_right right, int fd, int doc, const json_t *ask)
{
	BWL_AUTO_FREE char *bytes = NULL;
	struct bwl_err e = { 0 };
	uint64_t now = bwl_now_ns(), until;
	char key[DOCS_KEY];
	bool wait = false;
	size_t len;
	int r = bytes_of(ask, doc, &bytes, &len, &e);

	snprintf(key, sizeof(key), "%.24s/%.31s", text_of(ask, "type"), text_of(ask, "name"));
	if (!r)
		r = docs_receive(v, key, bytes, len, &wait, &e);
	if (!r && wait) {
		until = bwl_pending_ns(v->pins, now);
		wait = !until;
		r = until ? accepted_meanwhile(until, now, &e) : 0;
	}
	if (!r && wait)
		wait_for(v, right, fd);
	else
		docs_answer(fd, r ? &e : NULL);
}

/* Both texts come in one document: {"root": TEXT, "enrolment": TEXT}. */
static int enrol(struct documents *v, const char *bytes, size_t len, const char *sha256,
		 struct bwl_err *e)
{
	BWL_AUTO(json_decref) json_t *o = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL);
	const char *root = json_string_value(json_object_get(o, "root")),
		   *enrolment = json_string_value(json_object_get(o, "enrolment"));
	struct bwl_memory *m = NULL;
	bool wait;
	int r;

	if (!root)
		return bwl_fail(e, EBADMSG, "malformed request");
	if (!enrolment)
		return docs_receive(v, "root", root, strlen(root), &wait, e);
	/* The policy that it would return to was never checked against signed documents. */
	r = bwl_trial_refuses(v->pins, e);
	if (r)
		return r;
	r = bwl_memory_begin(v->a->state_dir, root, enrolment, sha256, docs_clock_now().wall_s, &m,
			     e);
	if (r)
		return r;
	agent_later(LOG_NOTICE, "documents", "enrolled: tray %s of fleet %s, root %.16s",
		    bwl_memory_tray(m)->name, bwl_memory_tray(m)->fleet, sha256 ? sha256 : "");
	bwl_memory_free(m);
	docs_reload(v);
	docs_spare_keys(v);
	docs_source_wake(v->a->source);
	return 0;
}

static void order_enrol(struct documents *v, enum line_right right, int fd, int doc,
			const json_t *ask)
{
	BWL_AUTO_FREE char *bytes = NULL;
	struct bwl_err e = { 0 };
	size_t len;
	int r = right == LINE_ROOT ? bytes_of(ask, doc, &bytes, &len, &e)
				   : bwl_fail(&e, EPERM, "only root may do this");

	if (!r)
		r = enrol(v, bytes, len, json_string_value(json_object_get(ask, "sha256")), &e);
	docs_answer(fd, r ? &e : NULL);
}

void docs_said(void *arg, enum line_right right, int fd, int document_fd, const char *line,
	       size_t len, const char *wrong)
{
	struct documents *v = arg;
	BWL_AUTO_CLOSE int doc = document_fd;
	BWL_AUTO(json_decref)
	json_t *ask = line ? json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *verb = json_string_value(json_object_get(ask, "verb"));

	if (!verb) {
		line_refuse(fd, wrong ? wrong : "malformed request", NULL);
		close(fd);
	} else if (!strcmp(verb, "document")) {
		document(v, right, fd, doc, ask);
	} else if (!strcmp(verb, "status")) {
		json_int_t cosigned = json_integer_value(json_object_get(ask, "cosigned"));

		line_say_long(fd, json_pack("{s:s, s:o}", "by", AGENT_PROGRAM, "status",
					    docs_say(v, cosigned > 0 ? (uint64_t)cosigned : 0)));
		close(fd);
	} else if (!strcmp(verb, "enrol")) {
		order_enrol(v, right, fd, doc, ask);
	} else {
		line_refuse(fd, "bwlimitd does not know this request: is it another version?",
			    NULL);
		close(fd);
	}
}
