// SPDX-License-Identifier: GPL-2.0-or-later
/* See etcd_msg.h. Field numbers: etcd's api/etcdserverpb/rpc.proto and api/mvccpb/kv.proto. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "etcd_msg.h"

/* Calls fn for each field of a message. Returns 0, or a negative result of fn or of the format. */
static int each(struct bwl_pb_in in, int (*fn)(void *arg, const struct bwl_pb_field *f), void *arg)
{
	struct bwl_pb_field f;
	int r;

	while ((r = bwl_pb_next(&in, &f)) > 0) {
		r = fn(arg, &f);
		if (r)
			return r;
	}
	return r;
}

/* A field of the wrong kind is an error: it is not skipped. */
static int take_int(const struct bwl_pb_field *f, int64_t *ret)
{
	if (f->is_bytes)
		return -EBADMSG;
	*ret = (int64_t)f->v;
	return 0;
}

static int take_bool(const struct bwl_pb_field *f, bool *ret)
{
	if (f->is_bytes)
		return -EBADMSG;
	*ret = f->v;
	return 0;
}

static int take_bytes(const struct bwl_pb_field *f, struct bwl_pb_in *ret)
{
	if (!f->is_bytes)
		return -EBADMSG;
	*ret = f->bytes;
	return 0;
}

struct header {
	int64_t cluster, member, revision;
};

static int header_field(void *arg, const struct bwl_pb_field *f)
{
	struct header *h = arg;

	switch (f->number) {
	case 1:
		return take_int(f, &h->cluster);
	case 2:
		return take_int(f, &h->member);
	case 3:
		return take_int(f, &h->revision);
	default:
		return 0;
	}
}

static int take_header(const struct bwl_pb_field *f, struct header *ret)
{
	return f->is_bytes ? each(f->bytes, header_field, ret) : -EBADMSG;
}

static int kv_field(void *arg, const struct bwl_pb_field *f)
{
	struct bwl_etcd_kv *kv = arg;

	switch (f->number) {
	case 1:
		return take_bytes(f, &kv->key);
	case 2:
		return take_int(f, &kv->created);
	case 3:
		return take_int(f, &kv->mod);
	case 4:
		return take_int(f, &kv->version);
	case 5:
		return take_bytes(f, &kv->value);
	default:
		return 0;
	}
}

static void put_range(struct bwl_pb_out *o, const struct bwl_etcd_range *r)
{
	bwl_pb_put_text(o, 1, r->key);
	bwl_pb_put_text(o, 2, r->end);
}

void bwl_etcd_say_range(struct bwl_pb_out *o, const struct bwl_etcd_range *r)
{
	put_range(o, r);
	bwl_pb_put_int(o, 3, r->limit);
	bwl_pb_put_int(o, 4, r->revision);
	if (r->oldest_first) {
		bwl_pb_put_int(o, 5, 1); /* ascending, */
		bwl_pb_put_int(o, 6, 2); /* by create_revision */
	}
	bwl_pb_put_int(o, 8, r->keys_only);
}

void bwl_etcd_prefix_end(const char *prefix, char *end)
{
	size_t n = strlen(prefix);

	memcpy(end, prefix, n + 1);
	end[n - 1]++; /* '0' follows '/' */
}

struct range_answer {
	bwl_etcd_kv_fn fn;
	void *arg;
	struct header header;
	bool more;
};

static int range_field(void *arg, const struct bwl_pb_field *f)
{
	struct range_answer *a = arg;
	struct bwl_etcd_kv kv = { 0 };
	int r;

	switch (f->number) {
	case 1:
		return take_header(f, &a->header);
	case 2:
		r = f->is_bytes ? each(f->bytes, kv_field, &kv) : -EBADMSG;
		return r ? r : a->fn(a->arg, &kv);
	case 3:
		return take_bool(f, &a->more);
	default:
		return 0;
	}
}

int bwl_etcd_hear_range(struct bwl_pb_in in, bwl_etcd_kv_fn fn, void *arg,
			struct bwl_etcd_page *ret)
{
	struct range_answer a = { .fn = fn, .arg = arg };
	int r = each(in, range_field, &a);

	*ret = (struct bwl_etcd_page){ .revision = a.header.revision, .more = a.more };
	return r;
}

void bwl_etcd_say_put(struct bwl_pb_out *o, const struct bwl_etcd_put *p)
{
	bwl_pb_put_text(o, 1, p->key);
	bwl_pb_put_bytes(o, 2, p->value, p->len);
	bwl_pb_put_int(o, 3, p->lease);
}

/*
 * target, and the number of the field that has its value: Compare in rpc.proto. Its result 0 means
 * equal.
 */
static void say_compare(struct bwl_pb_out *o, const char *key, int64_t target, unsigned field,
			int64_t value)
{
	size_t at = bwl_pb_begin(o, 1);

	bwl_pb_put_int(o, 2, target);
	bwl_pb_put_text(o, 3, key);
	bwl_pb_put_oneof(o, field, value);
	bwl_pb_end(o, at);
}
#define BY_CREATED 1, 5
#define BY_MOD 2, 6

static void say_op(struct bwl_pb_out *o, const struct bwl_etcd_put *p)
{
	size_t op = bwl_pb_begin(o, 2), at = bwl_pb_begin(o, p->op == BWL_ETCD_DELETE ? 3 : 2);

	if (p->op == BWL_ETCD_DELETE)
		bwl_pb_put_text(o, 1, p->key);
	else
		bwl_etcd_say_put(o, p);
	bwl_pb_end(o, at);
	bwl_pb_end(o, op);
}

void bwl_etcd_say_txn(struct bwl_pb_out *o, const struct bwl_etcd_put *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (p[i].created)
			say_compare(o, p[i].key, BY_CREATED, p[i].created);
		if (p[i].was != BWL_ETCD_ANY)
			say_compare(o, p[i].key, BY_MOD, p[i].was);
	}
	for (unsigned i = 0; i < n; i++)
		if (p[i].op != BWL_ETCD_COMPARE)
			say_op(o, &p[i]);
}

struct txn_answer {
	struct header header;
	bool done;
};

static int txn_field(void *arg, const struct bwl_pb_field *f)
{
	struct txn_answer *a = arg;

	return f->number == 1   ? take_header(f, &a->header)
	       : f->number == 2 ? take_bool(f, &a->done)
				: 0;
}

int bwl_etcd_hear_txn(struct bwl_pb_in in, bool *ret_done, int64_t *ret_revision)
{
	struct txn_answer a = { 0 };
	int r = each(in, txn_field, &a);

	*ret_done = a.done;
	*ret_revision = a.header.revision;
	return r;
}

void bwl_etcd_say_grant(struct bwl_pb_out *o, int64_t ttl_s)
{
	bwl_pb_put_int(o, 1, ttl_s);
}

void bwl_etcd_say_keep(struct bwl_pb_out *o, int64_t id)
{
	bwl_pb_put_int(o, 1, id);
}

struct lease_answer {
	int64_t id, ttl_s;
};

static int lease_field(void *arg, const struct bwl_pb_field *f)
{
	struct lease_answer *a = arg;

	return f->number == 2 ? take_int(f, &a->id) : f->number == 3 ? take_int(f, &a->ttl_s) : 0;
}

int bwl_etcd_hear_lease(struct bwl_pb_in in, int64_t *ret_id, int64_t *ret_ttl_s)
{
	struct lease_answer a = { 0 };
	int r = each(in, lease_field, &a);

	*ret_id = a.id;
	*ret_ttl_s = a.ttl_s;
	return r;
}

static int status_field(void *arg, const struct bwl_pb_field *f)
{
	struct bwl_etcd_status *s = arg;
	struct bwl_pb_in text;
	struct header h = { 0 };
	int64_t leader;
	int r = 0;

	switch (f->number) {
	case 1:
		r = take_header(f, &h);
		s->cluster = (uint64_t)h.cluster;
		s->member = (uint64_t)h.member;
		return r;
	case 2:
		if (take_bytes(f, &text) || bwl_pb_len(text) >= sizeof(s->version))
			return -EBADMSG;
		snprintf(s->version, sizeof(s->version), "%.*s", (int)bwl_pb_len(text),
			 (const char *)text.at);
		return 0;
	case 4:
		r = take_int(f, &leader);
		s->leader = r ? 0 : (uint64_t)leader;
		return r;
	default:
		return 0;
	}
}

int bwl_etcd_hear_status(struct bwl_pb_in in, struct bwl_etcd_status *ret)
{
	*ret = (struct bwl_etcd_status){ 0 };
	return each(in, status_field, ret);
}

void bwl_etcd_say_watch(struct bwl_pb_out *o, const struct bwl_etcd_range *r, int64_t id)
{
	size_t at = bwl_pb_begin(o, 1);

	put_range(o, r);
	bwl_pb_put_int(o, 3, r->revision);
	bwl_pb_put_int(o, 4, 1); /* progress_notify */
	bwl_pb_put_int(o, 7, id);
	bwl_pb_put_int(o, 8, 1); /* fragment: no answer is larger than a request may be */
	bwl_pb_end(o, at);
}

void bwl_etcd_say_progress(struct bwl_pb_out *o)
{
	bwl_pb_end(o, bwl_pb_begin(o, 3));
}

struct watch_answer {
	bwl_etcd_kv_fn fn;
	void *arg;
	struct header header;
	struct bwl_etcd_watch *w;
};

static int event_field(void *arg, const struct bwl_pb_field *f)
{
	struct bwl_etcd_kv *kv = arg;
	int64_t type;
	int r;

	switch (f->number) {
	case 1:
		r = take_int(f, &type);
		kv->gone = !r && type == 1;
		return r;
	case 2:
		return f->is_bytes ? each(f->bytes, kv_field, kv) : -EBADMSG;
	default:
		return 0;
	}
}

static int watch_field(void *arg, const struct bwl_pb_field *f)
{
	struct watch_answer *a = arg;
	struct bwl_etcd_kv kv = { 0 };
	int r;

	switch (f->number) {
	case 1:
		return take_header(f, &a->header);
	case 2:
		return take_int(f, &a->w->id);
	case 3:
		return take_bool(f, &a->w->created);
	case 4:
		return take_bool(f, &a->w->canceled);
	case 5:
		return take_int(f, &a->w->compacted);
	case 6:
		return take_bytes(f, &a->w->why);
	case 11:
		r = f->is_bytes ? each(f->bytes, event_field, &kv) : -EBADMSG;
		return r ? r : a->fn(a->arg, &kv);
	default:
		return 0;
	}
}

int bwl_etcd_hear_watch(struct bwl_pb_in in, bwl_etcd_kv_fn fn, void *arg,
			struct bwl_etcd_watch *ret)
{
	struct watch_answer a = { .fn = fn, .arg = arg, .w = ret };
	int r;

	*ret = (struct bwl_etcd_watch){ 0 };
	r = each(in, watch_field, &a);
	ret->revision = a.header.revision;
	return r;
}
