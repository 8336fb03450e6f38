// SPDX-License-Identifier: GPL-2.0-or-later
/* See tree.h. */
#include <bwl/err.h>
#include <stdlib.h>
#include <string.h>
#include "tree.h"

uint32_t ev_slots(uint64_t n, uint32_t least)
{
	uint32_t slots = least ? least : 1;

	while (slots < n && slots < EV_SLOTS_MAX)
		slots *= 2;
	return slots < n ? 0 : slots;
}

bool ev_is_slots(uint64_t n)
{
	return n && n <= EV_SLOTS_MAX && !(n & (n - 1));
}

void ev_record_commit(const uint8_t salt[static EV_SALT], const void *bytes, size_t len,
		      struct bwl_hash *ret)
{
	struct ev_hasher *h = ev_hash_begin(EV_RECORD);

	ev_hash_bytes(h, salt, EV_SALT);
	ev_hash_text(h, bytes, len);
	ev_hash_end(h, ret);
}

void ev_pad_commit(const uint8_t key[static EV_SALT], uint64_t index, struct bwl_hash *ret)
{
	struct ev_hasher *h = ev_hash_begin(EV_PAD);

	ev_hash_bytes(h, key, EV_SALT);
	ev_hash_number(h, index);
	ev_hash_end(h, ret);
}

void ev_record_leaf(uint64_t index, const struct ev_sum *sum, const struct bwl_hash *commitment,
		    struct ev_node *ret)
{
	struct ev_hasher *h = ev_hash_begin(EV_LEAF);

	ev_hash_number(h, index);
	ev_hash_sum(h, sum);
	ev_hash_bytes(h, commitment->b, sizeof(commitment->b));
	ret->sum = *sum;
	ev_hash_end(h, &ret->hash);
}

static bool join(const struct ev_node *l, const struct ev_node *r, struct ev_node *ret)
{
	struct ev_sum sum = l->sum;
	struct ev_hasher *h;

	if (!ev_sum_add(&sum, &r->sum))
		return false;
	h = ev_hash_begin(EV_SUM);
	ev_hash_bytes(h, l->hash.b, sizeof(l->hash.b));
	ev_hash_sum(h, &l->sum);
	ev_hash_bytes(h, r->hash.b, sizeof(r->hash.b));
	ev_hash_sum(h, &r->sum);
	ev_hash_end(h, &ret->hash);
	ret->sum = sum;
	return true;
}

bool ev_sum_root(struct ev_node *node, uint32_t n)
{
	for (; n > 1; n /= 2)
		for (uint32_t i = 0; i < n / 2; i++)
			if (!join(&node[2 * i], &node[2 * i + 1], &node[i]))
				return false;
	return true;
}

bool ev_sum_path(const struct ev_node *leaf, uint32_t n, uint32_t at,
		 struct ev_node ret[static EV_DEPTH], unsigned *ret_n)
{
	struct ev_node *node = bwl_must(malloc(n * sizeof(*node)));
	bool good = true;

	memcpy(node, leaf, n * sizeof(*node));
	*ret_n = 0;
	for (; good && n > 1; n /= 2, at /= 2) {
		ret[(*ret_n)++] = node[at ^ 1];
		for (uint32_t i = 0; good && i < n / 2; i++)
			good = join(&node[2 * i], &node[2 * i + 1], &node[i]);
	}
	free(node);
	return good;
}

bool ev_sum_climb(const struct ev_node *leaf, uint64_t at, const struct ev_node *path, unsigned n,
		  struct ev_node *ret, struct ev_sum *ret_before)
{
	struct ev_sum before = { { 0 } };

	if (n > EV_DEPTH || at >> n)
		return false;
	*ret = *leaf;
	for (unsigned i = 0; i < n; i++, at /= 2) {
		struct ev_node was = *ret;
		bool right = at & 1;

		if ((right && !ev_sum_add(&before, &path[i].sum)) ||
		    !join(right ? &path[i] : &was, right ? &was : &path[i], ret))
			return false;
	}
	if (ret_before)
		*ret_before = before;
	return true;
}

static void join_hashes(enum ev_prefix p, const struct bwl_hash *l, const struct bwl_hash *r,
			struct bwl_hash *ret)
{
	struct ev_hasher *h = ev_hash_begin(p);

	ev_hash_bytes(h, l->b, sizeof(l->b));
	ev_hash_bytes(h, r->b, sizeof(r->b));
	ev_hash_end(h, ret);
}

void ev_root(enum ev_prefix p, struct bwl_hash *node, uint32_t n)
{
	for (; n > 1; n /= 2)
		for (uint32_t i = 0; i < n / 2; i++)
			join_hashes(p, &node[2 * i], &node[2 * i + 1], &node[i]);
}

void ev_path(enum ev_prefix p, const struct bwl_hash *leaf, uint32_t n, uint32_t at,
	     struct bwl_hash ret[static EV_DEPTH], unsigned *ret_n)
{
	struct bwl_hash *node = bwl_must(malloc(n * sizeof(*node)));

	memcpy(node, leaf, n * sizeof(*node));
	*ret_n = 0;
	for (; n > 1; n /= 2, at /= 2) {
		ret[(*ret_n)++] = node[at ^ 1];
		for (uint32_t i = 0; i < n / 2; i++)
			join_hashes(p, &node[2 * i], &node[2 * i + 1], &node[i]);
	}
	free(node);
}

bool ev_climb(enum ev_prefix p, const struct bwl_hash *leaf, uint64_t at,
	      const struct bwl_hash *path, unsigned n, struct bwl_hash *ret)
{
	if (n > EV_DEPTH || at >> n)
		return false;
	*ret = *leaf;
	for (unsigned i = 0; i < n; i++, at /= 2) {
		struct bwl_hash was = *ret;

		join_hashes(p, at & 1 ? &path[i] : &was, at & 1 ? &was : &path[i], ret);
	}
	return true;
}
