// SPDX-License-Identifier: GPL-2.0-or-later
/* See store_etcd.h. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fleet/store/publish.h"
#include "fleet/store/watch.h"
#include "store_etcd.h"

#define LEASE_S 30
#define COSIGNED_HEAD 256 /* bytes of a note that include its size */

enum { FOR_ALL, FOR_TRAY, RANGES };

struct store_etcd {
	struct store_etcd_conf conf;
	char range[RANGES][BWL_ETCD_KEY_MAX];
	char cosigned[BWL_ETCD_KEY_MAX]; /* key of the checkpoint that the controller cosigned */
	int64_t cosigned_mod;            /* 0: there is none */
	bool cosigned_new;               /* its value must be read */
	/*
	 * Two connections, one for calls and one for the watch: while libcurl 7.88 works for one
	 * stream, it reads what came for another stream of the same connection, and of an answer
	 * that came whole in this way it may deliver only the trailers. That happened once in some
	 * dozens of calls, and the server then counted as lost.
	 */
	struct bwl_grpc *g, *for_watch;
	int64_t lease; /* 0: none */
	struct bwl_watch *watch;
};

struct store_etcd *store_etcd_new(const struct store_etcd_conf *c)
{
	struct store_etcd *s = bwl_must(calloc(1, sizeof(*s)));

	s->conf = *c;
	/* Prefix and tray have been checked: they fit. */
	bwl_doc_range(s->range[FOR_ALL], c->prefix, NULL);
	bwl_doc_range(s->range[FOR_TRAY], c->prefix, c->tray);
	bwl_cosigned_key(s->cosigned, c->prefix, c->tray);
	s->watch = bwl_watch_new((const char *const[]){ s->range[FOR_ALL], s->range[FOR_TRAY] },
				 RANGES);
	return s;
}

static void close_server(void *arg)
{
	struct store_etcd *s = arg;

	bwl_watch_close(s->watch);
	bwl_grpc_close(s->for_watch);
	bwl_grpc_close(s->g);
	s->g = s->for_watch = NULL;
}

void store_etcd_free(struct store_etcd *s)
{
	if (!s)
		return;
	close_server(s);
	bwl_watch_free(s->watch);
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
		r = bwl_grpc_open(server, &s->conf.tls, &s->for_watch, e);
	if (!r)
		r = bwl_etcd_status(s->g, &status, e);
	if (!r && !status.leader)
		r = bwl_fail(e, EHOSTUNREACH,
			     "%s has no leader: it is cut off from the other members", server);
	if (!r && !s->conf.accept_holes)
		r = bwl_etcd_version_ok(status.version, e);
	return r;
}

struct into {
	struct store_etcd *s;
	struct sync_docs *docs;
	const char *range;
	bool cosigned; /* it exists */
};

static bool is_cosigned(const struct store_etcd *s, const struct bwl_etcd_kv *kv)
{
	return bwl_pb_len(kv->key) == strlen(s->cosigned) &&
	       !memcmp(kv->key.at, s->cosigned, strlen(s->cosigned));
}

static int put(void *arg, const struct bwl_etcd_kv *kv)
{
	struct into *i = arg;

	if (!is_cosigned(i->s, kv)) {
		sync_docs_put(i->docs, i->range, kv, DOCS_READ);
		return 0;
	}
	i->cosigned = true;
	i->s->cosigned_new |= kv->mod != i->s->cosigned_mod;
	i->s->cosigned_mod = kv->mod;
	return 0;
}

/*
 * The size is in the second line. If it is invalid it is ignored: the proof then starts from
 * nothing, and nothing is cosigned.
 */
static int take_cosigned(void *arg, const struct bwl_etcd_kv *kv)
{
	char text[COSIGNED_HEAD];
	unsigned long long size;
	struct sync_docs *d = arg;

	snprintf(text, sizeof(text), "%.*s", (int)bwl_pb_len(kv->value),
		 (const char *)kv->value.at);
	d->cosigned = sscanf(text, "%*[^\n]\n%18llu\n", &size) == 1 ? size : 0;
	return 0;
}

static int read_cosigned(struct store_etcd *s, struct sync_docs *d, struct bwl_err *e)
{
	struct bwl_etcd_range ask = { .key = s->cosigned, .end = "" };
	struct bwl_etcd_page page;
	int r = s->cosigned_new ? bwl_etcd_range(s->g, &ask, take_cosigned, d, &page, e) : 0;

	s->cosigned_new = s->cosigned_new && r;
	return r;
}

static int read_all(void *arg, struct sync_docs *d, int64_t *ret_revision, struct bwl_err *e)
{
	struct store_etcd *s = arg;
	struct into into = { .s = s, .docs = d };
	int r = 0;

	/* Both ranges are read at the revision of the first. */
	*ret_revision = 0;
	for (unsigned i = 0; !r && i < RANGES; i++) {
		into.range = s->range[i];
		r = bwl_etcd_keys(s->g, into.range, put, &into, ret_revision, e);
	}
	if (!r && !into.cosigned)
		d->cosigned = (uint64_t)(s->cosigned_mod = 0);
	return r ? r : read_cosigned(s, d, e);
}

static int watch(void *arg, int64_t from, uint64_t now_ns, struct bwl_err *e)
{
	struct store_etcd *s = arg;

	return bwl_watch_open(s->watch, s->for_watch, from, now_ns, e);
}

struct news {
	struct store_etcd *s;
	struct sync_docs *docs;
};

static int put_news(void *arg, unsigned range, const struct bwl_etcd_kv *kv)
{
	struct news *n = arg;

	if (range == FOR_TRAY && is_cosigned(n->s, kv)) {
		n->s->cosigned_mod = kv->mod;
		n->s->cosigned_new = false;
		n->docs->cosigned = 0;
		return kv->gone ? 0 : take_cosigned(n->docs, kv);
	}
	sync_docs_put(n->docs, n->s->range[range], kv, DOCS_WATCH);
	return 0;
}

static int hear(void *arg, struct sync_docs *d, uint64_t now_ns, struct bwl_err *e)
{
	struct news n = { .s = arg, .docs = d };

	return bwl_watch_hear(n.s->watch, put_news, &n, now_ns, e);
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
	char key[BWL_ETCD_KEY_MAX];
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
	if (!r && s->conf.at)
		r = write_out(s, "at", s->conf.at, strlen(s->conf.at), s->lease, e);
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
	struct pollfd p[LANE_COUNT + 2]; /* HANDOVER_FDS, and one for signals */

	if (s->for_watch) {
		bwl_grpc_wait(s->for_watch, timeout_ms, fds, n, NULL);
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
