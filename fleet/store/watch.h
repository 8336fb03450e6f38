/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A watch on ranges of etcd, as a hint that something has changed; read to get the truth. Its
 * messages arrive during other calls and wait in a queue of 8 MiB; beyond that a full read is
 * required.
 */
#ifndef BWL_FLEET_WATCH_H
#define BWL_FLEET_WATCH_H

#include "etcd.h"

#define BWL_WATCH_RANGES 4

struct bwl_watch;
/* prefix: the ranges; each ends in '/', and must outlive it. */
struct bwl_watch *bwl_watch_new(const char *const *prefix, unsigned n);
void bwl_watch_free(struct bwl_watch *w); /* NULL-safe */
/* Watches changes from that revision on, replacing the previous watch. */
int bwl_watch_open(struct bwl_watch *w, struct bwl_grpc *g, int64_t from, uint64_t now_ns,
		   struct bwl_err *e);
void bwl_watch_close(struct bwl_watch *w); /* before its server is closed */
/*
 * Everything that has arrived, in order. -ESTALE (e is not filled): start anew, after a read;
 * -ETIMEDOUT: it no longer answers, even when probed.
 */
typedef int (*bwl_watch_fn)(void *arg, unsigned range, const struct bwl_etcd_kv *kv);
int bwl_watch_hear(struct bwl_watch *w, bwl_watch_fn fn, void *arg, uint64_t now_ns,
		   struct bwl_err *e);

#endif
