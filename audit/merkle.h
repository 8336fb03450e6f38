/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Merkle tree of RFC 6962 section 2.1: SHA-256, 0x00 before a leaf, 0x01 before two nodes. */
#ifndef BWL_AUDIT_MERKLE_H
#define BWL_AUDIT_MERKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bwl_hash {
	uint8_t b[32];
};
bool bwl_hash_equal(const struct bwl_hash *a, const struct bwl_hash *b);
void bwl_hash_plain(const void *data, size_t len, struct bwl_hash *ret); /* SHA-256 alone */
void bwl_hash_leaf(const void *data, size_t len, struct bwl_hash *ret);
void bwl_hash_node(const struct bwl_hash *left, const struct bwl_hash *right, struct bwl_hash *ret);

/*
 * What is needed of n leaves to add more and to compute the root: node[i] is the subtree of 2^i
 * leaves if bit i of n is set, the largest leftmost.
 */
struct bwl_frontier {
	uint64_t n;
	struct bwl_hash node[64];
};
void bwl_frontier_add(struct bwl_frontier *f, const struct bwl_hash *leaf);
/* Adds 2^bits leaves at once; false: there is no such subtree at this place. */
bool bwl_frontier_add_node(struct bwl_frontier *f, unsigned bits, const struct bwl_hash *node);
void bwl_frontier_root(const struct bwl_frontier *f, struct bwl_hash *ret);

/*
 * The proof that the tree of n leaves extends the tree of m (section 2.1.2), made in one pass over
 * the leaves: begin, every leaf in order, then hash[0 .. count) is the proof. m <= n.
 */
#define BWL_PROOF_MAX 66 /* one per level of 64, and the ends */
struct bwl_prover {
	uint64_t m, n; /* m: the old size, or the index */
	unsigned count;
	struct bwl_hash hash[BWL_PROOF_MAX];
	uint64_t from[BWL_PROOF_MAX], to[BWL_PROOF_MAX]; /* hash[i] is over these leaves */
	struct bwl_frontier part;                        /* of the range that the next leaf is in */
	uint64_t next;
};
void bwl_prover_begin(struct bwl_prover *p, uint64_t m, uint64_t n);
void bwl_prover_leaf(struct bwl_prover *p, const struct bwl_hash *leaf);
/* Adds 2^bits leaves at once; false: the proof needs them one by one. */
bool bwl_prover_node(struct bwl_prover *p, unsigned bits, const struct bwl_hash *node);
/*
 * The other proof, that leaf number `index` is in the tree of n (section 2.1.1), by the same pass;
 * from the leaf's sibling to the root's child. index < n. The leaf itself is not needed.
 */
void bwl_prover_begin_inclusion(struct bwl_prover *p, uint64_t index, uint64_t n);
/* As in RFC 9162 section 2.1.3.2. */
bool bwl_inclusion_holds(uint64_t index, const struct bwl_hash *leaf, uint64_t n,
			 const struct bwl_hash *root, const struct bwl_hash *proof, unsigned count);
/* As in RFC 9162 section 2.1.4.2. */
bool bwl_proof_holds(uint64_t m, const struct bwl_hash *root_m, uint64_t n,
		     const struct bwl_hash *root_n, const struct bwl_hash *proof, unsigned count);

#endif
