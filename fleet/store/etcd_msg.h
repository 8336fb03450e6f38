/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * etcd's messages (api/etcdserverpb/rpc.proto), those that we send and those that we receive.
 * Received data points into the message. 0, or -EBADMSG.
 */
#ifndef BWL_FLEET_ETCD_MSG_H
#define BWL_FLEET_ETCD_MSG_H

#include "pb.h"

struct bwl_etcd_kv {
	struct bwl_pb_in key, value;
	int64_t created; /* revision at which it was made */
	int64_t mod;     /* revision of its last change */
	int64_t version; /* changes since it was made; 0: it does not exist */
	bool gone;       /* for an event: it was deleted */
};
typedef int (*bwl_etcd_kv_fn)(void *arg, const struct bwl_etcd_kv *kv); /* negative: enough */

/* The keys from `key` up to `end` (exclusive). end empty: only that key. */
struct bwl_etcd_range {
	const char *key, *end;
	int64_t limit;    /* 0: none */
	int64_t revision; /* 0: now */
	bool keys_only;
	bool oldest_first; /* by the revision at which they were made */
};
struct bwl_etcd_page {
	int64_t revision; /* of the store */
	bool more;
};
void bwl_etcd_say_range(struct bwl_pb_out *o, const struct bwl_etcd_range *r);
int bwl_etcd_hear_range(struct bwl_pb_in in, bwl_etcd_kv_fn fn, void *arg,
			struct bwl_etcd_page *ret);
/* The end of the range of all keys with the prefix, which ends in '/'. */
void bwl_etcd_prefix_end(const char *prefix, char *end);

enum bwl_etcd_op {
	BWL_ETCD_PUT,
	BWL_ETCD_DELETE,
	BWL_ETCD_COMPARE, /* nothing is changed: a condition for the others */
};
struct bwl_etcd_put {
	const char *key;
	const void *value;
	size_t len;
	int64_t lease; /* 0: none */
	/* Only for a transaction: */
	enum bwl_etcd_op op;
	int64_t was;     /* its previous mod, 0: it must not exist; BWL_ETCD_ANY */
	int64_t created; /* and the revision at which it was made; 0: any */
};
#define BWL_ETCD_ANY (-1)
void bwl_etcd_say_put(struct bwl_pb_out *o, const struct bwl_etcd_put *p);
/* Applies all of them, if each has the stated mod and creation; otherwise none. */
void bwl_etcd_say_txn(struct bwl_pb_out *o, const struct bwl_etcd_put *p, unsigned n);
int bwl_etcd_hear_txn(struct bwl_pb_in in, bool *ret_done, int64_t *ret_revision);

void bwl_etcd_say_grant(struct bwl_pb_out *o, int64_t ttl_s);
void bwl_etcd_say_keep(struct bwl_pb_out *o, int64_t id);
/* For both. ttl 0: it has ended. */
int bwl_etcd_hear_lease(struct bwl_pb_in in, int64_t *ret_id, int64_t *ret_ttl_s);

struct bwl_etcd_status {
	uint64_t cluster, member, leader; /* leader 0: none */
	char version[32];
};
int bwl_etcd_hear_status(struct bwl_pb_in in, struct bwl_etcd_status *ret);

void bwl_etcd_say_watch(struct bwl_pb_out *o, const struct bwl_etcd_range *r, int64_t id);
void bwl_etcd_say_progress(struct bwl_pb_out *o);
struct bwl_etcd_watch {
	int64_t id, revision;
	int64_t compacted; /* not 0: the requested data is compacted up to there */
	bool created, canceled;
	struct bwl_pb_in why; /* why it was canceled */
};
/* Calls fn for each event. */
int bwl_etcd_hear_watch(struct bwl_pb_in in, bwl_etcd_kv_fn fn, void *arg,
			struct bwl_etcd_watch *ret);

#endif
