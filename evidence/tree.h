/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two trees of 2^k leaves: a peer's records, in which each node has the sums below it and is hashed
 * over both children's sums (not over their total, which would allow one to pass for both), and
 * peers, which has only hashes.
 */
#ifndef EV_TREE_H
#define EV_TREE_H

#include "hash.h"

#define EV_SLOTS_MAX (1U << 20)
#define EV_DEPTH 20
/* The smallest power of two that has room for n and is at least least; 0: too many. */
uint32_t ev_slots(uint64_t n, uint32_t least);
bool ev_is_slots(uint64_t n);

struct ev_node {
	struct bwl_hash hash;
	struct ev_sum sum;
};
void ev_record_commit(const uint8_t salt[static EV_SALT], const void *bytes, size_t len,
		      struct bwl_hash *ret);
void ev_pad_commit(const uint8_t key[static EV_SALT], uint64_t index, struct bwl_hash *ret);
/* The leaf of a place: from its commitment and its numbers. */
void ev_record_leaf(uint64_t index, const struct ev_sum *sum, const struct bwl_hash *commitment,
		    struct ev_node *ret);
/* In place, result in node[0]; n is a power of two. false: a sum is too large. */
bool ev_sum_root(struct ev_node *node, uint32_t n);
/* Siblings from the leaf up: *ret_n of them. */
bool ev_sum_path(const struct ev_node *leaf, uint32_t n, uint32_t at,
		 struct ev_node ret[static EV_DEPTH], unsigned *ret_n);
/*
 * The root that the path leads to. ret_before (may be NULL): sum of the leaves before it. false: a
 * sum is too large, or the place is out of range.
 */
bool ev_sum_climb(const struct ev_node *leaf, uint64_t at, const struct ev_node *path, unsigned n,
		  struct ev_node *ret, struct ev_sum *ret_before);

void ev_root(enum ev_prefix p, struct bwl_hash *node, uint32_t n); /* in place, result in node[0] */
void ev_path(enum ev_prefix p, const struct bwl_hash *leaf, uint32_t n, uint32_t at,
	     struct bwl_hash ret[static EV_DEPTH], unsigned *ret_n);
bool ev_climb(enum ev_prefix p, const struct bwl_hash *leaf, uint64_t at,
	      const struct bwl_hash *path, unsigned n, struct bwl_hash *ret);

#endif
