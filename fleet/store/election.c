// SPDX-License-Identifier: GPL-2.0-or-later
/* See election.h. */
#include <stdio.h>
#include <string.h>
#include "election.h"

int bwl_election_run(struct bwl_grpc *g, const char *prefix, const char *name, int64_t ttl_s,
		     struct bwl_election *el, struct bwl_err *e)
{
	/* was 0: nobody else has this key, because it contains our lease's number */
	struct bwl_etcd_put p = { .key = el->key, .value = name, .len = strlen(name) };
	int r;

	*el = (struct bwl_election){ 0 };
	r = bwl_etcd_lease_grant(g, ttl_s, &el->lease, e);
	if (r)
		return r;
	p.lease = el->lease;
	if (snprintf(el->key, sizeof(el->key), "%s%llx", prefix, (unsigned long long)el->lease) >=
	    (int)sizeof(el->key))
		r = bwl_fail(e, ENAMETOOLONG, "the prefix %.80s is too long", prefix);
	if (!r) /* the key is created at the revision of this step */
		r = bwl_etcd_txn(g, &p, 1, &el->created, e);
	if (r)
		*el = (struct bwl_election){ 0 };
	return r;
}

struct first {
	const struct bwl_election *el;
	bool any, ours;
	char name[BWL_ELECTION_NAME];
};

static int take_first(void *arg, const struct bwl_etcd_kv *kv)
{
	struct first *f = arg;
	size_t key = strlen(f->el->key), n = bwl_pb_len(kv->value);

	if (f->any)
		return 0;
	f->any = true;
	f->ours = key && bwl_pb_len(kv->key) == key && !memcmp(kv->key.at, f->el->key, key) &&
		  kv->created == f->el->created;
	if (n >= sizeof(f->name))
		n = sizeof(f->name) - 1;
	if (n)
		memcpy(f->name, kv->value.at, n);
	return 0;
}

static int see(void *arg, const struct bwl_etcd_kv *kv)
{
	*(int64_t *)arg = kv->created;
	return 0;
}

static int is_there(struct bwl_grpc *g, const struct bwl_election *el, struct bwl_err *e)
{
	struct bwl_etcd_range ask = { .key = el->key, .end = "", .keys_only = true };
	struct bwl_etcd_page page;
	int64_t created = 0;
	int r = bwl_etcd_range(g, &ask, see, &created, &page, e);

	if (!r && created != el->created)
		r = bwl_fail(e, ENOENT, "%s: the lease of this candidate has ended",
			     bwl_grpc_server(g));
	return r;
}

int bwl_election_look(struct bwl_grpc *g, const char *prefix, struct bwl_election *el,
		      char ret_leader[static BWL_ELECTION_NAME], struct bwl_err *e)
{
	char end[BWL_ETCD_KEY_MAX];
	struct bwl_etcd_range ask = { .key = prefix, .end = end, .limit = 1, .oldest_first = true };
	struct first f = { .el = el };
	struct bwl_etcd_page page;
	int r;

	bwl_etcd_prefix_end(prefix, end);
	r = bwl_etcd_range(g, &ask, take_first, &f, &page, e);
	el->leads = !r && f.ours;
	strcpy(ret_leader, f.name);
	if (!r && !f.ours && *el->key)
		r = is_there(g, el, e);
	if (r == -ENOENT)
		*el = (struct bwl_election){ 0 };
	return r;
}

void bwl_election_leave(struct bwl_grpc *g, struct bwl_election *el)
{
	if (el->lease)
		bwl_etcd_lease_revoke(g, el->lease, NULL);
	*el = (struct bwl_election){ 0 };
}

struct bwl_etcd_put bwl_election_fence(const struct bwl_election *el)
{
	return (struct bwl_etcd_put){ .key = el->key,
				      .op = BWL_ETCD_COMPARE,
				      .was = BWL_ETCD_ANY,
				      /*
				       * never "any": a candidate that is not running holds nothing
				       */
				      .created = el->created ? el->created : -1 };
}
