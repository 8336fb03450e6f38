// SPDX-License-Identifier: GPL-2.0-or-later
/* See watch.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "watch.h"

#define QUEUE_MAX (8U << 20)
#define SECOND_NS 1000000000ULL
#define PING_NS (3 * SECOND_NS)   /* after this silence the server is probed */
#define ANSWER_NS (3 * SECOND_NS) /* without an answer for this long it is lost */

struct queued {
	struct queued *next;
	size_t len;
	uint8_t msg[];
};

struct bwl_watch {
	const char *prefix[BWL_WATCH_RANGES];
	char end[BWL_WATCH_RANGES][BWL_ETCD_KEY_MAX];
	unsigned n;
	struct bwl_grpc *g;
	struct bwl_grpc_stream *stream;
	unsigned asked;    /* watches requested so far, one per range */
	int64_t from;      /* the revision at which they begin */
	uint64_t heard_ns; /* when the last message came */
	uint64_t pinged_ns;
	bool heard, missed; /* heard: a message since then; missed: more than the queue takes */
	struct queued *first, **last;
	size_t queued;
};

struct bwl_watch *bwl_watch_new(const char *const *prefix, unsigned n)
{
	struct bwl_watch *w = bwl_must(calloc(1, sizeof(*w)));

	w->last = &w->first;
	for (w->n = 0; w->n < n && w->n < BWL_WATCH_RANGES; w->n++) {
		w->prefix[w->n] = prefix[w->n];
		bwl_etcd_prefix_end(prefix[w->n], w->end[w->n]);
	}
	return w;
}

static void forget_queue(struct bwl_watch *w)
{
	while (w->first) {
		struct queued *q = w->first;

		w->first = q->next;
		free(q);
	}
	w->last = &w->first;
	w->queued = 0;
}

void bwl_watch_close(struct bwl_watch *w)
{
	bwl_grpc_stream_close(w->stream);
	w->stream = NULL;
	forget_queue(w);
}

void bwl_watch_free(struct bwl_watch *w)
{
	if (!w)
		return;
	bwl_watch_close(w);
	free(w);
}

static int said(void *arg, const uint8_t *msg, size_t len)
{
	struct bwl_watch *w = arg;
	struct queued *q;

	w->heard = true;
	if (len > QUEUE_MAX - w->queued) {
		w->missed = true;
		return 0;
	}
	q = bwl_must(malloc(sizeof(*q) + len));
	q->next = NULL;
	q->len = len;
	memcpy(q->msg, msg, len);
	*w->last = q;
	w->last = &q->next;
	w->queued += len;
	return 0;
}

static int tell(struct bwl_watch *w, struct bwl_pb_out *say)
{
	int r = bwl_grpc_stream_say(w->stream, say->at, say->len);

	free(say->at);
	return r;
}

/* One range after another: each one when the previous request is on its way. */
static void ask_for_ranges(struct bwl_watch *w)
{
	while (w->asked < w->n) {
		struct bwl_etcd_range r = { .key = w->prefix[w->asked],
					    .end = w->end[w->asked],
					    .revision = w->from };
		struct bwl_pb_out say = { 0 };

		bwl_etcd_say_watch(&say, &r, w->asked + 1);
		if (tell(w, &say))
			return;
		w->asked++;
	}
}

int bwl_watch_open(struct bwl_watch *w, struct bwl_grpc *g, int64_t from, uint64_t now_ns,
		   struct bwl_err *e)
{
	int r;

	bwl_watch_close(w);
	w->g = g;
	r = bwl_grpc_stream_open(g, BWL_ETCD_WATCH, said, w, &w->stream, e);
	if (r)
		return r;
	w->asked = 0;
	w->from = from;
	w->heard = w->missed = false;
	w->heard_ns = w->pinged_ns = now_ns;
	ask_for_ranges(w);
	return 0;
}

struct into {
	bwl_watch_fn fn;
	void *arg;
	unsigned range;
};

static int pass(void *arg, const struct bwl_etcd_kv *kv)
{
	struct into *i = arg;

	return i->fn(i->arg, i->range, kv);
}

static int nothing(void *arg, const struct bwl_etcd_kv *kv)
{
	(void)arg;
	(void)kv;
	return 0;
}

static int hear_one(struct bwl_watch *w, const struct queued *q, struct into *into,
		    struct bwl_err *e)
{
	struct bwl_pb_in in = bwl_pb_in(q->msg, q->len);
	struct bwl_etcd_watch said_of;
	/* Only the id tells which range it belongs to, and it may be anywhere in the message. */
	int r = bwl_etcd_hear_watch(in, nothing, NULL, &said_of);

	if (!r && said_of.id >= 1 && said_of.id <= (int64_t)w->n) {
		into->range = (unsigned)said_of.id - 1;
		r = bwl_etcd_hear_watch(in, pass, into, &said_of);
	}
	if (r)
		return bwl_fail(e, EBADMSG, "%s: cannot parse its answer to a watch",
				bwl_grpc_server(w->g));
	if (said_of.compacted)
		return -ESTALE;
	if (said_of.canceled)
		return bwl_fail(e, EACCES, "%s ended the watch: %.*s", bwl_grpc_server(w->g),
				(int)(bwl_pb_len(said_of.why) < 200 ? bwl_pb_len(said_of.why)
								    : 200),
				said_of.why.at ? (const char *)said_of.why.at : "");
	return 0;
}

static int is_silent(struct bwl_watch *w, uint64_t now_ns, struct bwl_err *e)
{
	struct bwl_pb_out say = { 0 };

	if (w->heard)
		w->heard_ns = now_ns;
	w->heard = false;
	if (w->pinged_ns > w->heard_ns && now_ns - w->pinged_ns >= ANSWER_NS)
		return bwl_fail(e, ETIMEDOUT, "%s: its watch no longer answers",
				bwl_grpc_server(w->g));
	/*
	 * If we probed late, because we were busy with a large document, the server still has the
	 * full time to answer.
	 */
	if (w->pinged_ns <= w->heard_ns && now_ns - w->heard_ns >= PING_NS) {
		w->pinged_ns = now_ns;
		bwl_etcd_say_progress(&say);
		tell(w, &say);
	}
	return 0;
}

int bwl_watch_hear(struct bwl_watch *w, bwl_watch_fn fn, void *arg, uint64_t now_ns,
		   struct bwl_err *e)
{
	struct into into = { .fn = fn, .arg = arg };
	int r = 0;

	/* Takes what arrived during calls on the other connection. */
	bwl_grpc_wait(w->g, 0, NULL, 0, NULL);
	ask_for_ranges(w);
	for (const struct queued *q = w->first; q && !r; q = q->next)
		r = hear_one(w, q, &into, e);
	forget_queue(w);
	if (!r && w->missed)
		r = -ESTALE;
	if (!r)
		r = bwl_grpc_stream_state(w->stream, e);
	if (!r)
		r = is_silent(w, now_ns, e);
	return r;
}
