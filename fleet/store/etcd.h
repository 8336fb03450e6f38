/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to etcd, by calls that wait for their answer (grpc.h), and the choice of server.
 * -ERANGE: the requested data was compacted. -ENOENT: there is no such lease. -ENOSPC: the store is
 * full, and only answers reads.
 */
#ifndef BWL_FLEET_ETCD_H
#define BWL_FLEET_ETCD_H

#include "etcd_msg.h"
#include "grpc.h"

#define BWL_ETCD_KEY_MAX 256    /* with its '\0' */
#define BWL_ETCD_CALL_MS 3000   /* for one answer */
#define BWL_ETCD_STATUS_MS 8000 /* for the first one, which waits for TLS */

#define BWL_ETCD_SERVERS_MAX 16
/* "https://HOST:PORT,…", split in place, appended to the *n that are in `to`. */
int bwl_etcd_servers(char *list, const char *to[static BWL_ETCD_SERVERS_MAX], unsigned *n,
		     struct bwl_err *e);

int bwl_etcd_status(struct bwl_grpc *g, struct bwl_etcd_status *ret, struct bwl_err *e);
/* One page. */
int bwl_etcd_range(struct bwl_grpc *g, const struct bwl_etcd_range *r, bwl_etcd_kv_fn fn, void *arg,
		   struct bwl_etcd_page *ret, struct bwl_err *e);
/*
 * All keys with the prefix, without their values, page by page at one revision: *revision, or if
 * that is 0 the newest, which is then returned in it.
 */
int bwl_etcd_keys(struct bwl_grpc *g, const char *prefix, bwl_etcd_kv_fn fn, void *arg,
		  int64_t *revision, struct bwl_err *e);
/*
 * The same with their values, in smaller pages: for keys whose values are below BWL_ETCD_VALUE_MAX
 * bytes, so that a page fits a message.
 */
#define BWL_ETCD_VALUE_MAX (100U << 10)
int bwl_etcd_values(struct bwl_grpc *g, const char *prefix, bwl_etcd_kv_fn fn, void *arg,
		    int64_t *revision, struct bwl_err *e);
int bwl_etcd_put(struct bwl_grpc *g, const struct bwl_etcd_put *p, struct bwl_err *e);
/* -EEXIST: one of them has changed. */
int bwl_etcd_txn(struct bwl_grpc *g, const struct bwl_etcd_put *p, unsigned n,
		 int64_t *ret_revision, struct bwl_err *e);
int bwl_etcd_lease_grant(struct bwl_grpc *g, int64_t ttl_s, int64_t *ret_id, struct bwl_err *e);
int bwl_etcd_lease_keep(struct bwl_grpc *g, int64_t id, struct bwl_err *e);
/* Deletes everything that was put under it, too. */
int bwl_etcd_lease_revoke(struct bwl_grpc *g, int64_t id, struct bwl_err *e);
/* -EACCES: no permission. -EBUSY: there is no such user. */
int bwl_etcd_user_delete(struct bwl_grpc *g, const char *name, struct bwl_err *e);

#define BWL_ETCD_WATCH "/etcdserverpb.Watch/Watch"

/* Is this a version whose authorisation has no known hole? Otherwise why and what to do, EPERM. */
int bwl_etcd_version_ok(const char *version, struct bwl_err *e);

#endif
