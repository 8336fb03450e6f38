// SPDX-License-Identifier: GPL-2.0-or-later
/* See wait.h. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fleet/store/watch.h"
#include "says.h"
#include "told.h"
#include "wait.h"

#define SECOND 1000000000ULL
#define LOOK_MS 200
#define READ_NS (2 * SECOND) /* for how long the watch alone is relied on */

struct waiting {
	struct fleet *f;
	const struct fleet_put *p;
	size_t before; /* bytes of "PREFIX/node/" */
	char range[BWL_ETCD_KEY_MAX];
};

static int on_change(void *arg, unsigned range, const struct bwl_etcd_kv *kv)
{
	struct waiting *w = arg;
	const char *key = (const char *)kv->key.at + w->before;
	size_t len = bwl_pb_len(kv->key);
	char name[BWL_DOC_NAME_MAX];
	struct fleet_tray *t;
	const char *slash;

	(void)range;
	len = len > w->before ? len - w->before : 0;
	slash = len ? memchr(key, '/', len) : NULL;
	if (!slash || (size_t)(slash - key) >= sizeof(name) || kv->gone ||
	    len - (size_t)(slash - key) != strlen("/out/status") ||
	    memcmp(slash, "/out/status", strlen("/out/status")))
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)(slash - key), key);
	t = fleet_tray(w->f, name);
	if (t && t->chosen)
		fleet_status_take(w->f, t, kv->value.at, bwl_pb_len(kv->value));
	return 0;
}

/* Reads the trays that have not answered: the watch may have missed something. */
static int read_silent(struct waiting *w)
{
	const struct status_refused *why;
	int r = 0;

	for (size_t i = 0; !r && i < w->f->n && !ctl_stopped; i++) {
		struct fleet_tray *t = &w->f->tray[i];

		if (t->chosen && fleet_says(t->status, &w->p->d, &why) != FLEET_ACKNOWLEDGED)
			r = fleet_status_read(w->f, t);
	}
	return r;
}

/*
 * A watch that ends, or is silent, is reopened: the store may have lost a member. The reads in
 * between find what it missed. The watch has its own connection, see sync/store_etcd.c: libcurl
 * 7.88 may lose the answer of a call beside it.
 */
static void hear_trays(struct waiting *w, struct bwl_watch *watch, struct bwl_grpc *g,
		       uint64_t end_ns)
{
	uint64_t read_ns = bwl_now_ns() + READ_NS, next_ns;
	struct fleet_told told = { 0 };
	struct bwl_err e;
	bool open = false;

	while (!ctl_stopped) {
		uint64_t now_ns = bwl_now_ns();

		if (!open)
			open = !bwl_watch_open(watch, g, w->p->revision, now_ns, &e);
		if (open && bwl_watch_hear(watch, on_change, w, now_ns, &e))
			open = false;
		if (now_ns >= read_ns) {
			/* Trays that cannot be queried now are retried, until the time is over. */
			if (read_silent(w))
				w->f->c->err = (struct bwl_err){ 0 };
			read_ns = bwl_now_ns() + READ_NS;
		}
		fleet_tell_progress(w->f, w->p, &told);
		if (told.count[FLEET_ACKNOWLEDGED] == w->p->ntrays || now_ns >= end_ns)
			break;
		next_ns = end_ns - now_ns;
		bwl_grpc_wait(g,
			      next_ns / 1000000 < LOOK_MS ? (unsigned)(next_ns / 1000000) + 1
							  : LOOK_MS,
			      NULL, 0, &e);
	}
	fleet_tell_no_more(&told);
}

int fleet_wait(struct fleet *f, const struct fleet_put *p, const struct fleet_wait *how)
{
	struct waiting w = { .f = f, .p = p };
	const char *ranges[] = { w.range };
	uint64_t start_ns = bwl_now_ns();
	struct bwl_watch *watch;
	struct bwl_grpc *g;
	int r;

	if (how->no_wait || p->pending)
		return fleet_tell(f, p, false, 0);
	w.before = (size_t)snprintf(w.range, sizeof(w.range), "%s/node/", f->conf.prefix);
	r = bwl_grpc_open(bwl_grpc_server(f->g), &f->conf.tls, &g, &f->c->err);
	if (r)
		return r;
	ctl_catch_signals();
	watch = bwl_watch_new(ranges, 1);
	hear_trays(&w, watch, g, start_ns + how->timeout_ns);
	bwl_watch_free(watch);
	bwl_grpc_close(g);
	return fleet_tell(f, p, true, bwl_now_ns() - start_ns);
}
