// SPDX-License-Identifier: GPL-2.0-or-later
/* See proofs.h. */
#include <stdlib.h>
#include <string.h>
#include "audit/item.h"
#include "audit/prove.h"
#include "audit/verify.h"
#include "proofs.h"

static void add_leaf(struct ev_log *l, uint64_t n, const struct bwl_hash *leaf)
{
	if (n != l->n) {
		l->holes = true;
		return;
	}
	if (l->n == l->leaf_room)
		l->leaf[0] = bwl_must(reallocarray(
			l->leaf[0], l->leaf_room = 2 * l->leaf_room + 1024, sizeof(*l->leaf[0])));
	l->leaf[0][l->n++] = *leaf;
}

static void add_entry(struct ev_log *l, const struct bwl_audit_item *i)
{
	const char *event = json_string_value(json_object_get(i->json, "event"));
	struct bwl_err e = { 0 };
	struct ev_entry x;

	if (!event || strcmp(event, EV_EVENT))
		return;
	if (ev_entry_parse(json_object_get(i->json, "data"), &x, &e)) {
		bwl_warn("record %llu of the audit log is an interval that cannot be shown: %s",
			 (unsigned long long)i->n, e.text);
		return;
	}
	if (l->nentries == l->room)
		l->entry = bwl_must(
			reallocarray(l->entry, l->room = 2 * l->room + 64, sizeof(*l->entry)));
	l->entry[l->nentries++] = (struct ev_found){ i->n, bwl_must(strndup(i->line, i->len)), x };
}

static int take(const struct bwl_audit_item *i, void *arg)
{
	struct ev_log *l = arg;

	if (i->kind == BWL_AUDIT_NODE)
		l->holes = true;
	if (i->kind == BWL_AUDIT_RECORD || i->kind == BWL_AUDIT_LEAF)
		add_leaf(l, i->n, &i->leaf);
	if (i->kind == BWL_AUDIT_RECORD)
		add_entry(l, i);
	return 0;
}

/* Hashes each whole subtree once. */
static void build(struct ev_log *l)
{
	uint64_t n = l->c.size;

	for (unsigned k = 1; n >> k; k++) {
		l->leaf[k] = bwl_must(calloc(n >> k, sizeof(*l->leaf[k])));
		for (uint64_t i = 0; i < n >> k; i++)
			bwl_hash_node(&l->leaf[k - 1][2 * i], &l->leaf[k - 1][2 * i + 1],
				      &l->leaf[k][i]);
	}
}

/* The hash of the leaves [from, to): RFC 6962, 2.1. */
static void over(const struct ev_log *l, uint64_t from, uint64_t to, struct bwl_hash *ret)
{
	uint64_t n = to - from, k = 1ULL << (63 - __builtin_clzll(n));
	struct bwl_hash right;

	if (k == n) {
		*ret = l->leaf[63 - __builtin_clzll(n)][from / n];
		return;
	}
	over(l, from, from + k, ret);
	over(l, from + k, to, &right);
	bwl_hash_node(ret, &right, ret);
}

static void path(const struct ev_log *l, uint64_t n, struct bwl_tlog_proof *p)
{
	struct {
		uint64_t from, to;
	} beside[64];
	uint64_t from = 0, to = l->c.size, k;
	unsigned depth = 0;

	while (to - from > 1) {
		k = 1ULL << (63 - __builtin_clzll(to - from - 1));
		if (n < from + k) {
			beside[depth].from = from + k;
			beside[depth++].to = to;
			to = from + k;
		} else {
			beside[depth].from = from;
			beside[depth++].to = from + k;
			from += k;
		}
	}
	while (depth--)
		over(l, beside[depth].from, beside[depth].to, &p->hash[p->count++]);
}

int ev_log_read(const char *dir, const struct bwl_note_key *k, const char *note, size_t note_len,
		struct ev_log *ret, struct bwl_err *e)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	snprintf(ret->dir, sizeof(ret->dir), "%s", dir);
	ret->key = *k;
	if (note) {
		if (note_len >= sizeof(ret->note))
			return bwl_fail(e, EFBIG, "the checkpoint is too large");
		memcpy(ret->note, note, note_len);
		r = bwl_checkpoint_open(k, note, note_len, &ret->c, e);
	} else {
		r = bwl_audit_latest(dir, k, ret->note, &ret->c, e);
		note_len = strlen(ret->note);
	}
	ret->note_len = note_len;
	if (!r)
		r = bwl_audit_scan(dir, take, ret, e);
	if (!r && !ret->holes && ret->n >= ret->c.size)
		build(ret);
	else
		ret->holes = true;
	if (r)
		ev_log_free(ret);
	return r;
}

void ev_log_free(struct ev_log *l)
{
	for (size_t i = 0; i < l->nentries; i++)
		free(l->entry[i].line);
	free(l->entry);
	for (unsigned k = 0; k < 64; k++)
		free(l->leaf[k]);
	memset(l, 0, sizeof(*l));
}

int ev_log_prove(const struct ev_log *l, uint64_t n, char **ret, struct bwl_err *e)
{
	struct bwl_tlog_proof p = { .index = n, .note = l->note, .note_len = l->note_len };
	struct bwl_audit_proven proven;
	int r;

	*ret = NULL;
	if (n >= l->c.size)
		return bwl_fail(e, ERANGE,
				"the checkpoint of %llu records does not cover record %llu",
				(unsigned long long)l->c.size, (unsigned long long)n);
	if (l->holes) {
		r = bwl_audit_prove_record(l->dir, &l->key, n, l->note, l->note_len, &proven, e);
		if (!r) {
			*ret = proven.text;
			proven.text = NULL;
			bwl_audit_proven_free(&proven);
		}
		return r;
	}
	path(l, n, &p);
	if (!bwl_inclusion_holds(n, &l->leaf[0][n], l->c.size, &l->c.root, p.hash, p.count))
		return bwl_fail(e, EBADMSG, "the log does not match the checkpoint of %llu records",
				(unsigned long long)l->c.size);
	*ret = bwl_must(bwl_tlog_proof_format(&p));
	return 0;
}
