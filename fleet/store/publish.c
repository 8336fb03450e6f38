// SPDX-License-Identifier: GPL-2.0-or-later
/* See publish.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/cleanup.h"
#include "publish.h"

/* An existing part has the same bytes: its name is their digest. */
static int put_part(struct bwl_grpc *g, const char *key, const uint8_t *at, size_t len,
		    struct bwl_err *e)
{
	struct bwl_etcd_put p = { .key = key, .value = at, .len = len };
	int64_t revision;
	int r = bwl_etcd_txn(g, &p, 1, &revision, e);

	return r == -EEXIST ? 0 : r;
}

static int put_parts(struct bwl_grpc *g, const struct bwl_doc *d, const char *sha, unsigned parts,
		     struct bwl_err *e)
{
	char key[BWL_ETCD_KEY_MAX];

	for (unsigned i = 0; i < parts; i++) {
		size_t from = (size_t)i * BWL_DOC_PART_BYTES, len = d->len - from;
		int r = bwl_part_key(key, d->prefix, sha, i);

		if (!r)
			r = put_part(g, key, (const uint8_t *)d->at + from,
				     len < BWL_DOC_PART_BYTES ? len : BWL_DOC_PART_BYTES, e);
		if (r)
			return r;
	}
	return 0;
}

int bwl_doc_publish(struct bwl_grpc *g, const struct bwl_doc *d, int64_t was, int64_t *ret_revision,
		    struct bwl_err *e)
{
	char key[BWL_ETCD_KEY_MAX], head[BWL_DOC_SHA_HEX + 8], sha[BWL_DOC_SHA_HEX];
	struct bwl_etcd_put p[1 + BWL_DOC_WITH_MAX] = {
		{ .key = key, .value = d->at, .len = d->len, .was = was },
	};
	bool big = d->len > BWL_DOC_INLINE_MAX;
	unsigned parts = (unsigned)((d->len + BWL_DOC_PART_BYTES - 1) / BWL_DOC_PART_BYTES);

	if (!d->len || d->len > BWL_DOC_MAX)
		return bwl_fail(e, EFBIG, "document '%s' has %zu bytes; the store takes 1 to %u",
				d->name, d->len, BWL_DOC_MAX);
	if (!bwl_store_name_ok(d->name, strlen(d->name)) ||
	    (d->tray && !bwl_store_name_ok(d->tray, strlen(d->tray))) ||
	    bwl_doc_key(key, d->prefix, d->tray, d->kind, d->name, big))
		return bwl_fail(
			e, EINVAL,
			"'%.80s': a name must be at most %u letters, digits, '.', '_' and '-'",
			d->name, BWL_DOC_NAME_MAX - 1);
	if (big) {
		int r;

		bwl_doc_sha(d->at, d->len, sha);
		r = put_parts(g, d, sha, parts, e);
		if (r)
			return r;
		p->len = (size_t)snprintf(head, sizeof(head), "%u %s", parts, sha);
		p->value = head;
	}
	for (unsigned i = 0; i < d->nwith && i < BWL_DOC_WITH_MAX; i++)
		p[1 + i] = d->with[i];
	return bwl_etcd_txn(g, p, 1 + d->nwith, ret_revision, e);
}

struct value {
	uint8_t *at;
	size_t len, most;
	int64_t mod;
};

static int append(void *arg, const struct bwl_etcd_kv *kv)
{
	struct value *v = arg;
	size_t len = bwl_pb_len(kv->value);

	if (len > v->most - v->len)
		return -EMSGSIZE;
	v->at = bwl_must(realloc(v->at, v->len + len + 1));
	if (len)
		memcpy(v->at + v->len, kv->value.at, len);
	v->len += len;
	v->mod = kv->mod;
	return 0;
}

static int get(struct bwl_grpc *g, const char *key, struct value *v, struct bwl_err *e)
{
	struct bwl_etcd_range ask = { .key = key, .end = "" };
	struct bwl_etcd_page page;
	size_t before = v->len;
	int r;

	v->mod = 0;
	r = bwl_etcd_range(g, &ask, append, v, &page, e);
	if (r == -EMSGSIZE)
		return bwl_fail(e, EMSGSIZE, "'%s' is larger than a document may be", key);
	if (!r && (!v->mod || v->len == before))
		return bwl_fail(e, ENOENT, "'%s' is missing or empty", key);
	return r;
}

int bwl_doc_fetch(struct bwl_grpc *g, const char *prefix, const char *key, bool big, uint8_t **ret,
		  size_t *ret_len, int64_t *ret_mod, struct bwl_err *e)
{
	struct value head = { .most = BWL_GRPC_MESSAGE_MAX }, all = { .most = BWL_DOC_MAX };
	char part[BWL_ETCD_KEY_MAX], sha[BWL_DOC_SHA_HEX];
	BWL_AUTO_FREE uint8_t *head_at = NULL, *at = NULL;
	struct bwl_doc_head h;
	int r = get(g, key, &head, e);

	head_at = head.at;
	if (r)
		return r;
	*ret_mod = head.mod;
	if (!big) {
		*ret = bwl_take_ptr(&head_at);
		*ret_len = head.len;
		return 0;
	}
	if (bwl_doc_parse_head((const char *)head.at, head.len, &h))
		return bwl_fail(e, EUCLEAN, "'%s' does not say which parts it has", key);
	for (unsigned i = 0; i < h.parts; i++) {
		r = bwl_part_key(part, prefix, h.sha, i);
		r = r ? r : get(g, part, &all, e);
		at = all.at; /* freed at the return */
		if (r)
			return r;
	}
	bwl_doc_sha(all.at, all.len, sha);
	if (strcmp(sha, h.sha))
		return bwl_fail(e, EUCLEAN, "the parts of '%s' do not match their digest", key);
	*ret = bwl_take_ptr(&at);
	*ret_len = all.len;
	return 0;
}
