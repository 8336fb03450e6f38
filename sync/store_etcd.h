/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store of loop.h, in etcd: one server at a time, and a watch on the two ranges of a tray. */
#ifndef BWL_SYNC_STORE_ETCD_H
#define BWL_SYNC_STORE_ETCD_H

#include "loop.h"

struct store_etcd;
struct store_etcd_conf {
	struct bwl_grpc_tls tls;
	const char *prefix, *tray;
	const char *at; /* the address where the tray's numbers are served; NULL: nowhere */
	bool accept_holes;
};
struct store_etcd *store_etcd_new(const struct store_etcd_conf *c);
void store_etcd_free(struct store_etcd *s); /* NULL-safe */
extern const struct sync_store store_etcd_ops;
/* Waits for a server, for these descriptors, or for that long. */
void store_etcd_wait(struct store_etcd *s, unsigned timeout_ms, struct curl_waitfd *fds,
		     unsigned n);

#endif
