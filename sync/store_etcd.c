/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See store_etcd.h. What the watch says comes in the middle of other calls; it waits in a queue
 * until hear() asks, of at most QUEUE_MOST bytes: beyond them a full read says it.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fleet/store/publish.h"
#include "store_etcd.h"

#define QUEUE_MOST (8U << 20)
#define LEASE_S 30
#define PING_NS (3 * SYNC_S)   /* after the watch has said nothing for so long it is asked */
#define SILENT_NS (6 * SYNC_S) /* and is lost */

enum { FOR_ALL, FOR_TRAY, RANGES };

struct queued {
	struct queued *next;
	size_t len;
	uint8_t msg[];
};

struct store_etcd {
	struct store_etcd_conf conf;
	char range[RANGES][BWL_ETCD_KEY_MOST], end[RANGES][BWL_ETCD_KEY_MOST];
	struct bwl_grpc *g;
	int64_t lease; /* 0: none */
	struct bwl_grpc_stream *watch;
	unsigned asked;    /* watches that were asked for, one a range */
	int64_t from;      /* revision that they begin with */
	uint64_t heard_ns; /* when the watch said something last */
	uint64_t pinged_ns;
	bool heard, missed; /* something since then; more than the queue takes */
	struct queued *first, **last;
	size_t queued;
};

struct store_etcd *store_etcd_new(const struct store_etcd_conf *c)
{
	struct store_etcd *s = bwl_must(calloc(1, sizeof(*s)));

	s->conf = *c;
	s->last = &s->first;
	/* Prefix and tray were judged: they fit. */
	bwl_doc_range(s->range[FOR_ALL], c->prefix, NULL);
	bwl_doc_range(s->range[FOR_TRAY], c->prefix, c->tray);
	for (unsigned i = 0; i < RANGES; i++)
		bwl_etcd_prefix_end(s->range[i], s->end[i]);
	return s;
}

static void forget_queue(struct store_etcd *s)
{
	while (s->first) {
		struct queued *q = s->first;

		s->first = q->next;
		free(q);
	}
	s->last = &s->first;
	s->queued = 0;
}

static void close_watch(struct store_etcd *s)
{
	bwl_grpc_stream_close(s->watch);
	s->watch = NULL;
	forget_queue(s);
}

static void close_server(void *arg)
{
	struct store_etcd *s = arg;

	close_watch(s);
	bwl_grpc_close(s->g);
	s->g = NULL;
}

void store_etcd_free(struct store_etcd *s)
{
	if (!s)
		return;
	close_server(s);
	free(s);
}

static int open_server(void *arg, const char *server, struct bwl_err *e)
{
	struct store_etcd *s = arg;
	struct bwl_etcd_status status;
	int r;

	close_server(s);
	r = bwl_grpc_open(server, &s->conf.tls, &s->g, e);
	if (!r)
		r = bwl_etcd_status(s->g, &status, e);
	if (!r && !status.leader)
		r = bwl_fail(e, EHOSTUNREACH, "%s has no leader: it is cut off from the others",
			     server);
	if (!r && !s->conf.accept_holes)
		r = bwl_etcd_version_ok(status.version, e);
	return r;
}

struct into {
	struct docs *docs;
	const char *range;
	enum docs_from from;
};

static int put(void *arg, const struct bwl_etcd_kv *kv)
{
	struct into *i = arg;

	docs_put(i->docs, i->range, kv, i->from);
	return 0;
}

static int read_all(void *arg, struct docs *d, int64_t *ret_revision, struct bwl_err *e)
{
	struct store_etcd *s = arg;
	int r = 0;

	/* Both at the revision of the first. */
	*ret_revision = 0;
	for (unsigned i = 0; !r && i < RANGES; i++)
		r = bwl_etcd_keys(s->g, s->range[i], put,
				  &(struct into){ .docs = d, .range = s->range[i] }, ret_revision,
				  e);
	return r;
}

static int said(void *arg, const uint8_t *msg, size_t len)
{
	struct store_etcd *s = arg;
	struct queued *q;

	s->heard = true;
	if (len > QUEUE_MOST - s->queued) {
		s->missed = true;
		return 0;
	}
	q = bwl_must(malloc(sizeof(*q) + len));
	q->next = NULL;
	q->len = len;
	memcpy(q->msg, msg, len);
	*s->last = q;
	s->last = &q->next;
	s->queued += len;
	return 0;
}

static int tell_watch(struct store_etcd *s, struct bwl_pb_out *say)
{
	int r = bwl_grpc_stream_say(s->watch, say->at, say->len);

	free(say->at);
	return r;
}

/* One range after the other: the next when the last is on its way. */
static void ask_for_ranges(struct store_etcd *s)
{
	while (s->asked < RANGES) {
		struct bwl_etcd_range r = { .key = s->range[s->asked],
					    .end = s->end[s->asked],
					    .revision = s->from };
		struct bwl_pb_out say = { 0 };

		bwl_etcd_say_watch(&say, &r, s->asked + 1);
		if (tell_watch(s, &say))
			return;
		s->asked++;
	}
}

static int watch(void *arg, int64_t from, uint64_t now_ns, struct bwl_err *e)
{
	struct store_etcd *s = arg;
	int r;

	close_watch(s);
	r = bwl_grpc_stream_open(s->g, BWL_ETCD_WATCH, said, s, &s->watch, e);
	if (r)
		return r;
	s->asked = 0;
	s->from = from;
	s->missed = false;
	s->heard_ns = s->pinged_ns = now_ns;
	ask_for_ranges(s);
	return 0;
}

static int hear_one(struct store_etcd *s, struct docs *d, const struct queued *q, struct bwl_err *e)
{
	struct into into = { .docs = d, .range = s->range[FOR_ALL], .from = DOCS_WATCH };
	struct bwl_pb_in in = bwl_pb_in(q->msg, q->len);
	struct bwl_etcd_watch w;
	int r = bwl_etcd_hear_watch(in, put, &into, &w);

	/* Which range it is of is known by its id alone, wherever in the message that stood. */
	if (!r && w.id == FOR_TRAY + 1) {
		into.range = s->range[FOR_TRAY];
		r = bwl_etcd_hear_watch(in, put, &into, &w);
	}
	if (r)
		return bwl_fail(e, EBADMSG, "%s: what its watch says cannot be understood",
				bwl_grpc_server(s->g));
	if (w.compacted)
		return -ESTALE;
	if (w.canceled)
		return bwl_fail(e, EACCES, "%s ended the watch: %.*s", bwl_grpc_server(s->g),
				(int)(bwl_pb_len(w.why) < 200 ? bwl_pb_len(w.why) : 200),
				w.why.at ? (const char *)w.why.at : "");
	return 0;
}

static int is_silent(struct store_etcd *s, uint64_t now_ns, struct bwl_err *e)
{
	struct bwl_pb_out say = { 0 };

	if (s->heard)
		s->heard_ns = now_ns;
	s->heard = false;
	if (now_ns - s->heard_ns >= SILENT_NS)
		return bwl_fail(e, ETIMEDOUT, "%s: its watch says nothing any more",
				bwl_grpc_server(s->g));
	if (now_ns - s->heard_ns >= PING_NS && now_ns - s->pinged_ns >= PING_NS) {
		s->pinged_ns = now_ns;
		bwl_etcd_say_progress(&say);
		tell_watch(s, &say);
	}
	return 0;
}

static int hear(void *arg, struct docs *d, uint64_t now_ns, struct bwl_err *e)
{
	struct store_etcd *s = arg;
	int r = 0;

	ask_for_ranges(s);
	for (const struct queued *q = s->first; q && !r; q = q->next)
		r = hear_one(s, d, q, e);
	forget_queue(s);
	if (!r && s->missed)
		r = -ESTALE;
	if (!r)
		r = bwl_grpc_stream_state(s->watch, e);
	if (!r)
		r = is_silent(s, now_ns, e);
	return r;
}

static int fetch(void *arg, const char *key, bool big, uint8_t **ret, size_t *ret_len,
		 int64_t *ret_mod, struct bwl_err *e)
{
	struct store_etcd *s = arg;

	return bwl_doc_fetch(s->g, s->conf.prefix, key, big, ret, ret_len, ret_mod, e);
}

static int write_out(struct store_etcd *s, const char *what, const void *at, size_t len,
		     int64_t lease, struct bwl_err *e)
{
	char key[BWL_ETCD_KEY_MOST];
	struct bwl_etcd_put p = { .key = key, .value = at, .len = len, .lease = lease };
	int r = bwl_out_key(key, s->conf.prefix, s->conf.tray, what);

	return r ? r : bwl_etcd_put(s->g, &p, e);
}

static int alive(void *arg, struct bwl_err *e)
{
	struct store_etcd *s = arg;
	int r = s->lease ? bwl_etcd_lease_keep(s->g, s->lease, e) : -ENOENT;

	if (r != -ENOENT)
		return r;
	s->lease = 0;
	r = bwl_etcd_lease_grant(s->g, LEASE_S, &s->lease, e);
	if (!r)
		r = write_out(s, "alive", BWL_VERSION, strlen(BWL_VERSION), s->lease, e);
	if (r)
		s->lease = 0;
	return r;
}

static int status(void *arg, const void *at, size_t len, struct bwl_err *e)
{
	return write_out(arg, "status", at, len, 0, e);
}

void store_etcd_wait(struct store_etcd *s, unsigned timeout_ms, struct curl_waitfd *fds, unsigned n)
{
	struct pollfd p[LANE_COUNT + 2];

	if (s->g) {
		bwl_grpc_wait(s->g, timeout_ms, fds, n, NULL);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		p[i] = (struct pollfd){ .fd = fds[i].fd, .events = POLLIN };
	poll(p, n, (int)timeout_ms);
}

const struct sync_store store_etcd_ops = {
	.open = open_server,
	.close = close_server,
	.read = read_all,
	.watch = watch,
	.hear = hear,
	.fetch = fetch,
	.alive = alive,
	.status = status,
};
