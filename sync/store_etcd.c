/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See store_etcd.h. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fleet/store/publish.h"
#include "fleet/store/watch.h"
#include "store_etcd.h"

#define LEASE_S 30

enum { FOR_ALL, FOR_TRAY, RANGES };

struct store_etcd {
	struct store_etcd_conf conf;
	char range[RANGES][BWL_ETCD_KEY_MOST];
	struct bwl_grpc *g;
	int64_t lease; /* 0: none */
	struct bwl_watch *watch;
};

struct store_etcd *store_etcd_new(const struct store_etcd_conf *c)
{
	struct store_etcd *s = bwl_must(calloc(1, sizeof(*s)));

	s->conf = *c;
	/* Prefix and tray were judged: they fit. */
	bwl_doc_range(s->range[FOR_ALL], c->prefix, NULL);
	bwl_doc_range(s->range[FOR_TRAY], c->prefix, c->tray);
	s->watch = bwl_watch_new((const char *const[]){ s->range[FOR_ALL], s->range[FOR_TRAY] },
				 RANGES);
	return s;
}

static void close_server(void *arg)
{
	struct store_etcd *s = arg;

	bwl_watch_close(s->watch);
	bwl_grpc_close(s->g);
	s->g = NULL;
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
};

static int put(void *arg, const struct bwl_etcd_kv *kv)
{
	struct into *i = arg;

	docs_put(i->docs, i->range, kv, DOCS_READ);
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

static int watch(void *arg, int64_t from, uint64_t now_ns, struct bwl_err *e)
{
	struct store_etcd *s = arg;

	return bwl_watch_open(s->watch, s->g, from, now_ns, e);
}

struct news {
	struct store_etcd *s;
	struct docs *docs;
};

static int put_news(void *arg, unsigned range, const struct bwl_etcd_kv *kv)
{
	struct news *n = arg;

	docs_put(n->docs, n->s->range[range], kv, DOCS_WATCH);
	return 0;
}

static int hear(void *arg, struct docs *d, uint64_t now_ns, struct bwl_err *e)
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
