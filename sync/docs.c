// SPDX-License-Identifier: GPL-2.0-or-later
/* See docs.h. */
#include <stdlib.h>
#include <string.h>
#include "docs.h"

void doc_drop_bytes(struct sync_docs *d, struct doc *doc)
{
	d->bytes -= doc->len;
	free(doc->bytes);
	doc->bytes = NULL;
	doc->len = 0;
}

static void drop(struct sync_docs *d, unsigned i)
{
	doc_drop_bytes(d, d->list[i]);
	free(d->list[i]);
	d->list[i] = d->list[--d->n];
}

void sync_docs_done(struct sync_docs *d)
{
	while (d->n)
		drop(d, d->n - 1);
	free(d->list);
	d->list = NULL;
}

struct doc *sync_docs_find(const struct sync_docs *d, const char *key)
{
	for (unsigned i = 0; i < d->n; i++)
		if (!strcmp(d->list[i]->key, key))
			return d->list[i];
	return NULL;
}

/* However many grants there are, there is room for a revocation. */
static bool make_room(struct sync_docs *d, enum bwl_doc_kind for_kind)
{
	unsigned last = 0;

	d->left_out++;
	for (unsigned i = 1; i < d->n; i++)
		if (d->list[i]->at.kind > d->list[last]->at.kind)
			last = i;
	if (d->list[last]->at.kind <= for_kind)
		return false;
	drop(d, last);
	return true;
}

static struct doc *add(struct sync_docs *d, const char *key, const struct bwl_doc_at *at)
{
	struct doc *doc;

	if (d->n == DOCS_MAX && !make_room(d, at->kind))
		return NULL;
	if (!d->list)
		d->list = bwl_must(calloc(DOCS_MAX, sizeof(*d->list)));
	doc = bwl_must(calloc(1, sizeof(*doc)));
	strcpy(doc->key, key);
	doc->at = *at;
	d->list[d->n++] = doc;
	return doc;
}

static void keep_bytes(struct sync_docs *d, struct doc *doc, struct bwl_pb_in value)
{
	size_t len = bwl_pb_len(value);

	/* The list of its parts is not the document itself. */
	if (doc->at.big || !len || len > DOCS_BYTES_MAX - d->bytes)
		return;
	doc->bytes = bwl_must(malloc(len));
	memcpy(doc->bytes, value.at, len);
	doc->len = len;
	d->bytes += len;
}

void sync_docs_put(struct sync_docs *d, const char *range, const struct bwl_etcd_kv *kv,
		   enum sync_docs_from from)
{
	size_t len = bwl_pb_len(kv->key);
	char key[BWL_ETCD_KEY_MAX];
	struct bwl_doc_at at;
	struct doc *doc;

	if (len >= sizeof(key) || bwl_doc_parse_key(range, (const char *)kv->key.at, len, &at))
		return;
	memcpy(key, kv->key.at, len);
	key[len] = '\0';
	if (kv->gone)
		return; /* the next read notices it: an event may be late */
	doc = sync_docs_find(d, key);
	if (!doc)
		doc = add(d, key, &at);
	if (!doc)
		return;
	doc->seen = true;
	if (from == DOCS_READ ? kv->mod == doc->mod : kv->mod <= doc->mod)
		return;
	doc_drop_bytes(d, doc);
	doc->mod = kv->mod;
	doc->state = DOC_TODO;
	doc->again_ns = doc->fetch_ns = 0;
	doc->refusals = 0;
	keep_bytes(d, doc, kv->value);
}

void sync_docs_read_begin(struct sync_docs *d)
{
	d->left_out = 0;
	for (unsigned i = 0; i < d->n; i++)
		d->list[i]->seen = false;
}

void sync_docs_read_end(struct sync_docs *d)
{
	for (unsigned i = d->n; i-- > 0;)
		if (!d->list[i]->seen)
			drop(d, i);
}

enum doc_lane sync_docs_lane(const struct doc *doc)
{
	return doc->at.kind <= BWL_DOC_expulsion ? LANE_CLOSES : LANE_REST;
}

static bool is_before(const struct doc *a, const struct doc *b)
{
	if (a->at.kind != b->at.kind)
		return a->at.kind < b->at.kind;
	if (a->mod != b->mod)
		return a->mod < b->mod;
	return strcmp(a->key, b->key) < 0;
}

static bool is_ready(const struct doc *doc, uint64_t now_ns)
{
	return (doc->state == DOC_TODO || doc->state == DOC_REFUSED) && doc->again_ns <= now_ns;
}

/* What is early holds up all kinds after its own, for its first tries. */
static unsigned held_up_after(const struct sync_docs *d)
{
	unsigned kind = ~0U;

	for (unsigned i = 0; i < d->n; i++) {
		const struct doc *doc = d->list[i];

		if (doc->state == DOC_REFUSED && doc->early && doc->refusals <= DOC_EARLY_TRIES &&
		    doc->at.kind < kind)
			kind = doc->at.kind;
	}
	return kind;
}

struct doc *sync_docs_next(const struct sync_docs *d, enum doc_lane lane, uint64_t now_ns)
{
	unsigned last_kind = held_up_after(d);
	struct doc *next = NULL;

	for (unsigned i = 0; i < d->n; i++) {
		struct doc *doc = d->list[i];

		if (sync_docs_lane(doc) < lane &&
		    (is_ready(doc, now_ns) || doc->state == DOC_ON_ITS_WAY))
			return NULL;
		if (sync_docs_lane(doc) == lane && is_ready(doc, now_ns) &&
		    doc->at.kind <= last_kind && (!next || is_before(doc, next)))
			next = doc;
	}
	return next;
}

void sync_docs_taken(struct sync_docs *d, struct doc *doc, uint64_t now_ns)
{
	doc->state = DOC_TAKEN;
	doc_drop_bytes(d, doc);
	if (doc->at.kind != BWL_DOC_root && doc->at.kind != BWL_DOC_timestamp &&
	    doc->at.kind != BWL_DOC_enrolment && doc->at.kind != BWL_DOC_policy)
		return;
	for (unsigned i = 0; i < d->n; i++)
		if (d->list[i]->state == DOC_REFUSED)
			d->list[i]->again_ns = now_ns;
}

void sync_docs_refused(struct doc *doc, uint64_t now_ns, bool early)
{
	uint64_t wait_ns = early ? DOC_EARLY_NS : DOC_AGAIN_NS;
	unsigned doubled = doc->refusals++;

	if (early)
		doubled = doubled < DOC_EARLY_TRIES ? 0 : doubled - DOC_EARLY_TRIES + 1;
	if (doubled > 12) /* 1 s << 12 is more than an hour */
		doubled = 12;
	doc->early = early;
	wait_ns <<= doubled;
	if (wait_ns > DOC_AGAIN_MAX_NS)
		wait_ns = DOC_AGAIN_MAX_NS;
	doc->state = DOC_REFUSED;
	doc->again_ns = now_ns + wait_ns;
}

void sync_docs_again(struct sync_docs *d)
{
	for (unsigned i = 0; i < d->n; i++) {
		if (d->list[i]->state == DOC_ON_ITS_WAY)
			continue;
		d->list[i]->state = DOC_TODO;
		d->list[i]->again_ns = 0;
		d->list[i]->refusals = 0;
	}
}
