// SPDX-License-Identifier: GPL-2.0-or-later
/* See etcd.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "etcd.h"

#define PAGE_KEYS 256
#define PAGE_VALUES 32 /* of BWL_ETCD_VALUE_MAX each: below BWL_GRPC_MESSAGE_MAX */

/*
 * etcd returns this to writers while its alarm NOSPACE is set. Free room alone does not clear the
 * alarm.
 */
static void hint_full(struct bwl_err *e)
{
	if (e && strstr(e->text, "database space exceeded"))
		bwl_hint(
			e,
			"the store is full: `etcdctl compaction REVISION`, `etcdctl defrag` at each member, then `etcdctl alarm disarm`");
}

/* Frees the message. */
static int call_for(struct bwl_grpc *g, const char *method, unsigned ms, struct bwl_pb_out *say,
		    uint8_t **ret, struct bwl_pb_in *ret_in, struct bwl_err *e)
{
	size_t len;
	int r;

	*ret = NULL;
	r = bwl_grpc_call(g, method, say->at, say->len, ms, ret, &len, e);
	free(say->at);
	if (!r)
		*ret_in = bwl_pb_in(*ret, len);
	else if (r == -ENOSPC)
		hint_full(e);
	return r;
}

static int call(struct bwl_grpc *g, const char *method, struct bwl_pb_out *say, uint8_t **ret,
		struct bwl_pb_in *ret_in, struct bwl_err *e)
{
	return call_for(g, method, BWL_ETCD_CALL_MS, say, ret, ret_in, e);
}

static int heard(struct bwl_grpc *g, uint8_t *msg, int r, struct bwl_err *e)
{
	free(msg);
	if (r == -EBADMSG)
		return bwl_fail(e, EBADMSG,
				"%s: cannot parse the message in its answer: is it etcd?",
				bwl_grpc_server(g));
	return r;
}

int bwl_etcd_servers(char *list, const char *to[static BWL_ETCD_SERVERS_MAX], unsigned *n,
		     struct bwl_err *e)
{
	char *at;

	for (char *one = strtok_r(list, ",", &at); one; one = strtok_r(NULL, ",", &at)) {
		if (*n == BWL_ETCD_SERVERS_MAX)
			return bwl_fail(e, EINVAL, "more than %u servers", BWL_ETCD_SERVERS_MAX);
		if (strncmp(one, "https://", 8) || !one[8] || strchr(one + 8, '/'))
			return bwl_fail(e, EINVAL, "'%.80s' is not a server: say https://HOST:PORT",
					one);
		to[(*n)++] = one;
	}
	return 0;
}

int bwl_etcd_status(struct bwl_grpc *g, struct bwl_etcd_status *ret, struct bwl_err *e)
{
	struct bwl_pb_out say = { 0 };
	struct bwl_pb_in in;
	uint8_t *msg;
	int r = call_for(g, "/etcdserverpb.Maintenance/Status", BWL_ETCD_STATUS_MS, &say, &msg, &in,
			 e);

	return r ? r : heard(g, msg, bwl_etcd_hear_status(in, ret), e);
}

int bwl_etcd_range(struct bwl_grpc *g, const struct bwl_etcd_range *range, bwl_etcd_kv_fn fn,
		   void *arg, struct bwl_etcd_page *ret, struct bwl_err *e)
{
	struct bwl_pb_out say = { 0 };
	struct bwl_pb_in in;
	uint8_t *msg;
	int r;

	bwl_etcd_say_range(&say, range);
	r = call(g, "/etcdserverpb.KV/Range", &say, &msg, &in, e);
	return r ? r : heard(g, msg, bwl_etcd_hear_range(in, fn, arg, ret), e);
}

struct pages {
	bwl_etcd_kv_fn fn;
	void *arg;
	bool any, cut;
	char last[BWL_ETCD_KEY_MAX];
};

static int of_page(void *arg, const struct bwl_etcd_kv *kv)
{
	struct pages *p = arg;
	size_t n = bwl_pb_len(kv->key);
	int r = p->fn(p->arg, kv);

	p->any = true;
	p->cut = n >= sizeof(p->last);
	if (p->cut)
		n = sizeof(p->last) - 1;
	memcpy(p->last, kv->key.at, n);
	p->last[n] = '\0';
	return r;
}

static int each_page(struct bwl_grpc *g, const char *prefix, bool keys_only, bwl_etcd_kv_fn fn,
		     void *arg, int64_t *revision, struct bwl_err *e)
{
	char from[BWL_ETCD_KEY_MAX + 1], end[BWL_ETCD_KEY_MAX];
	struct bwl_etcd_page page = { .more = true };
	struct pages p = { .fn = fn, .arg = arg };
	unsigned limit = keys_only ? PAGE_KEYS : PAGE_VALUES;

	snprintf(from, sizeof(from), "%s", prefix);
	bwl_etcd_prefix_end(prefix, end);
	while (page.more) {
		struct bwl_etcd_range ask = { .key = from,
					      .end = end,
					      .limit = limit,
					      .revision = *revision,
					      .keys_only = keys_only };
		int r;

		p.any = false;
		r = bwl_etcd_range(g, &ask, of_page, &p, &page, e);
		/* A tray may write values and names of 1.5 MB. */
		if (r == -EMSGSIZE && limit > 1) {
			limit /= 2;
			if (e)
				*e = (struct bwl_err){ 0 };
			continue;
		}
		if (r)
			return r;
		if (!*revision)
			*revision = page.revision;
		if (page.more && (!p.any || strcmp(p.last, from) < 0))
			return bwl_fail(e, EBADMSG, "%s: its list of keys does not end",
					bwl_grpc_server(g));
		/* After the last key, by bytes that none of our keys has. */
		snprintf(from, sizeof(from), "%s%s", p.last, p.cut ? "\377" : "\001");
	}
	return 0;
}

int bwl_etcd_keys(struct bwl_grpc *g, const char *prefix, bwl_etcd_kv_fn fn, void *arg,
		  int64_t *revision, struct bwl_err *e)
{
	return each_page(g, prefix, true, fn, arg, revision, e);
}

int bwl_etcd_values(struct bwl_grpc *g, const char *prefix, bwl_etcd_kv_fn fn, void *arg,
		    int64_t *revision, struct bwl_err *e)
{
	return each_page(g, prefix, false, fn, arg, revision, e);
}

int bwl_etcd_put(struct bwl_grpc *g, const struct bwl_etcd_put *p, struct bwl_err *e)
{
	struct bwl_pb_out say = { 0 };
	struct bwl_pb_in in;
	uint8_t *msg;
	int r;

	bwl_etcd_say_put(&say, p);
	r = call(g, "/etcdserverpb.KV/Put", &say, &msg, &in, e);
	free(msg);
	return r;
}

int bwl_etcd_txn(struct bwl_grpc *g, const struct bwl_etcd_put *p, unsigned n,
		 int64_t *ret_revision, struct bwl_err *e)
{
	struct bwl_pb_out say = { 0 };
	struct bwl_pb_in in;
	bool done = false;
	uint8_t *msg;
	int r;

	bwl_etcd_say_txn(&say, p, n);
	r = call(g, "/etcdserverpb.KV/Txn", &say, &msg, &in, e);
	if (r)
		return r;
	r = heard(g, msg, bwl_etcd_hear_txn(in, &done, ret_revision), e);
	if (!r && !done) {
		bwl_fail(e, EEXIST, "somebody has changed '%s' meanwhile", p->key);
		r = bwl_hint(e,
			     "look at what is there now, and publish again if you still want to");
	}
	return r;
}

static int lease(struct bwl_grpc *g, const char *method, struct bwl_pb_out *say, int64_t *ret_id,
		 struct bwl_err *e)
{
	struct bwl_pb_in in;
	int64_t ttl_s;
	uint8_t *msg;
	int r = call(g, method, say, &msg, &in, e);

	if (!r)
		r = heard(g, msg, bwl_etcd_hear_lease(in, ret_id, &ttl_s), e);
	if (!r && ttl_s <= 0)
		r = bwl_fail(e, ENOENT, "%s: the lease has ended", bwl_grpc_server(g));
	return r;
}

int bwl_etcd_lease_grant(struct bwl_grpc *g, int64_t ttl_s, int64_t *ret_id, struct bwl_err *e)
{
	struct bwl_pb_out say = { 0 };

	bwl_etcd_say_grant(&say, ttl_s);
	return lease(g, "/etcdserverpb.Lease/LeaseGrant", &say, ret_id, e);
}

int bwl_etcd_lease_keep(struct bwl_grpc *g, int64_t id, struct bwl_err *e)
{
	struct bwl_pb_out say = { 0 };

	bwl_etcd_say_keep(&say, id);
	return lease(g, "/etcdserverpb.Lease/LeaseKeepAlive", &say, &id, e);
}

int bwl_etcd_lease_revoke(struct bwl_grpc *g, int64_t id, struct bwl_err *e)
{
	struct bwl_pb_out say = { 0 };
	struct bwl_pb_in in;
	uint8_t *msg;
	int r;

	bwl_etcd_say_keep(&say, id); /* the message has only an id, like this one */
	r = call(g, "/etcdserverpb.Lease/LeaseRevoke", &say, &msg, &in, e);
	free(msg);
	return r;
}

int bwl_etcd_user_delete(struct bwl_grpc *g, const char *name, struct bwl_err *e)
{
	struct bwl_pb_out say = { 0 };
	struct bwl_pb_in in;
	uint8_t *msg;
	int r;

	bwl_pb_put_text(&say, 1, name); /* api/etcdserverpb/rpc.proto: AuthUserDeleteRequest */
	r = call(g, "/etcdserverpb.Auth/UserDelete", &say, &msg, &in, e);
	free(msg);
	return r;
}
