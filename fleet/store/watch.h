/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A watch on some ranges of etcd, as a hint that something is new: who needs the truth reads. What
 * it says comes in the middle of other calls; it waits in a queue of 8 MiB until it is asked for,
 * and beyond that a full read says it.
 */
#ifndef BWL_FLEET_WATCH_H
#define BWL_FLEET_WATCH_H

#include "etcd.h"

#define BWL_WATCH_RANGES 4

struct bwl_watch;
/* prefix: the ranges; each ends in '/', and outlives it. */
struct bwl_watch *bwl_watch_new(const char *const *prefix, unsigned n);
void bwl_watch_free(struct bwl_watch *w); /* NULL-safe */
/* What changes from that revision on, in place of what was watched before. */
int bwl_watch_open(struct bwl_watch *w, struct bwl_grpc *g, int64_t from, uint64_t now_ns,
		   struct bwl_err *e);
void bwl_watch_close(struct bwl_watch *w); /* before its server is */
/*
 * Everything that has come, in order. -ESTALE (e is not filled): it must begin anew, after a read;
 * -ETIMEDOUT: it says nothing any more, not even when it is asked.
 */
typedef int (*bwl_watch_fn)(void *arg, unsigned range, const struct bwl_etcd_kv *kv);
int bwl_watch_hear(struct bwl_watch *w, bwl_watch_fn fn, void *arg, uint64_t now_ns,
		   struct bwl_err *e);

#endif
