// SPDX-License-Identifier: GPL-2.0-or-later
/* See merkle.h. */
#include <stdlib.h>
#include <string.h>
#include <bwl/sha256.h>
#include "merkle.h"

static void sha256(const void *prefix, size_t prefix_len, const void *a, size_t a_len,
		   const void *b, size_t b_len, struct bwl_hash *ret)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	if (!ctx || !EVP_DigestInit_ex(ctx, bwl_sha256(), NULL) ||
	    !EVP_DigestUpdate(ctx, prefix, prefix_len) || !EVP_DigestUpdate(ctx, a, a_len) ||
	    !EVP_DigestUpdate(ctx, b, b_len) || !EVP_DigestFinal_ex(ctx, ret->b, NULL))
		abort(); /* no memory: a wrong hash must not be written */
	EVP_MD_CTX_free(ctx);
}

bool bwl_hash_equal(const struct bwl_hash *a, const struct bwl_hash *b)
{
	return !memcmp(a->b, b->b, sizeof(a->b));
}

void bwl_hash_plain(const void *data, size_t len, struct bwl_hash *ret)
{
	sha256("", 0, data, len, "", 0, ret);
}

void bwl_hash_leaf(const void *data, size_t len, struct bwl_hash *ret)
{
	sha256("\0", 1, data, len, "", 0, ret);
}

void bwl_hash_node(const struct bwl_hash *left, const struct bwl_hash *right, struct bwl_hash *ret)
{
	sha256("\1", 1, left->b, sizeof(left->b), right->b, sizeof(right->b), ret);
}

void bwl_frontier_add(struct bwl_frontier *f, const struct bwl_hash *leaf)
{
	bwl_frontier_add_node(f, 0, leaf);
}

bool bwl_frontier_add_node(struct bwl_frontier *f, unsigned bits, const struct bwl_hash *node)
{
	struct bwl_hash h = *node;
	unsigned i = bits;

	if (bits > 62 || f->n & ((1ULL << bits) - 1) || f->n >> 63)
		return false;
	for (; f->n >> i & 1; i++)
		bwl_hash_node(&f->node[i], &h, &h);
	f->node[i] = h;
	f->n += 1ULL << bits;
	return true;
}

void bwl_frontier_root(const struct bwl_frontier *f, struct bwl_hash *ret)
{
	bool any = false;

	if (!f->n)
		sha256("", 0, "", 0, "", 0, ret);
	for (unsigned i = 0; i < 64; i++) {
		if (!(f->n >> i & 1))
			continue;
		if (any)
			bwl_hash_node(&f->node[i], ret, ret);
		else
			*ret = f->node[i];
		any = true;
	}
}

/* The largest power of two smaller than n; n >= 2. */
static uint64_t split(uint64_t n)
{
	return 1ULL << (63 - __builtin_clzll(n - 1));
}

static void add_range(struct bwl_prover *p, uint64_t from, uint64_t to)
{
	if (p->count == BWL_PROOF_MAX)
		abort();
	p->from[p->count] = from;
	p->to[p->count++] = to;
}

/* SUBPROOF(m, D[from:to], whole) */
static void ranges(struct bwl_prover *p, uint64_t m, uint64_t from, uint64_t to, bool whole)
{
	uint64_t k;

	if (m == to - from) {
		if (!whole)
			add_range(p, from, to);
		return;
	}
	k = split(to - from);
	if (m <= k) {
		ranges(p, m, from, from + k, whole);
		add_range(p, from + k, to);
	} else {
		ranges(p, m - k, from + k, to, false);
		add_range(p, from, from + k);
	}
}

void bwl_prover_begin(struct bwl_prover *p, uint64_t m, uint64_t n)
{
	memset(p, 0, sizeof(*p));
	p->m = m;
	p->n = n;
	if (m && m < n)
		ranges(p, m, 0, n, true);
}

/* PATH(m, D[from:to]); m counts from 0 */
static void path(struct bwl_prover *p, uint64_t m, uint64_t from, uint64_t to)
{
	uint64_t k;

	if (to - from < 2)
		return;
	k = from + split(to - from);
	if (m < k) {
		path(p, m, from, k);
		add_range(p, k, to);
	} else {
		path(p, m, k, to);
		add_range(p, from, k);
	}
}

void bwl_prover_begin_inclusion(struct bwl_prover *p, uint64_t index, uint64_t n)
{
	memset(p, 0, sizeof(*p));
	p->m = index;
	p->n = n;
	if (index < n)
		path(p, index, 0, n);
}

void bwl_prover_leaf(struct bwl_prover *p, const struct bwl_hash *leaf)
{
	bwl_prover_node(p, 0, leaf);
}

bool bwl_prover_node(struct bwl_prover *p, unsigned bits, const struct bwl_hash *node)
{
	uint64_t at = p->next, end = at + (1ULL << bits);

	p->next = end;
	for (unsigned i = 0; i < p->count; i++) {
		if (end <= p->from[i] || at >= p->to[i])
			continue;
		if (at < p->from[i] || end > p->to[i] ||
		    !bwl_frontier_add_node(&p->part, bits, node))
			return false;
		if (end == p->to[i]) {
			bwl_frontier_root(&p->part, &p->hash[i]);
			p->part.n = 0;
		}
	}
	return true;
}

bool bwl_proof_holds(uint64_t m, const struct bwl_hash *root_m, uint64_t n,
		     const struct bwl_hash *root_n, const struct bwl_hash *proof, unsigned count)
{
	struct bwl_hash fr, sr;
	uint64_t fn, sn;
	unsigned i = 0;

	if (!m || m >= n)
		return !count && (!m || (m == n && bwl_hash_equal(root_m, root_n)));
	fn = m - 1;
	sn = n - 1;
	while (fn & 1) {
		fn >>= 1;
		sn >>= 1;
	}
	/* if m is a power of two the proof begins with root_m, and omits it */
	if (!(m & (m - 1)))
		fr = *root_m;
	else if (count)
		fr = proof[i++];
	else
		return false;
	sr = fr;
	for (; i < count; i++) {
		if (!sn)
			return false;
		if ((fn & 1) || fn == sn) {
			bwl_hash_node(&proof[i], &fr, &fr);
			bwl_hash_node(&proof[i], &sr, &sr);
			while (fn && !(fn & 1)) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			bwl_hash_node(&sr, &proof[i], &sr);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return !sn && bwl_hash_equal(&fr, root_m) && bwl_hash_equal(&sr, root_n);
}

bool bwl_inclusion_holds(uint64_t index, const struct bwl_hash *leaf, uint64_t n,
			 const struct bwl_hash *root, const struct bwl_hash *proof, unsigned count)
{
	uint64_t fn = index, sn = n - 1;
	struct bwl_hash r = *leaf;

	if (index >= n)
		return false;
	for (unsigned i = 0; i < count; i++) {
		if (!sn)
			return false;
		if ((fn & 1) || fn == sn) {
			bwl_hash_node(&proof[i], &r, &r);
			while (fn && !(fn & 1)) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			bwl_hash_node(&r, &proof[i], &r);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return !sn && bwl_hash_equal(&r, root);
}
