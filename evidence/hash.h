/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hashes of evidence: SHA-256, with a separate prefix for each kind, lengths before variable-length
 * data, and numbers as 8 bytes, big-endian. 0x00 and 0x01 are the log's (audit/merkle.h).
 * docs/evidence.md has the formats.
 */
#ifndef EV_HASH_H
#define EV_HASH_H

#include "audit/merkle.h"

enum ev_prefix {
	EV_RECORD = 0x10,    /* a record, after its salt */
	EV_SUM = 0x11,       /* two subtrees of a peer's records */
	EV_PEER = 0x12,      /* the statement about a peer */
	EV_NODE = 0x13,      /* two subtrees of peers */
	EV_LEAF = 0x14,      /* a record's place and numbers */
	EV_PAD = 0x15,       /* a place without a record */
	EV_PSEUDONYM = 0x16, /* a peer's name, after its salt */
	EV_SEED = 0x17,      /* a checkpoint, the seed of draws */
	EV_DRAW = 0x18,
	EV_ROW = 0x19,      /* a row of the history, after its salt */
	EV_ROW_NODE = 0x1a, /* two subtrees of rows */
	EV_INTERVAL = 0x1b, /* an interval's identity and its peers */
};

#define EV_SALT 32

/* Incremental hash. */
struct ev_hasher;
struct ev_hasher *ev_hash_begin(enum ev_prefix p);
void ev_hash_bytes(struct ev_hasher *h, const void *data, size_t len);
void ev_hash_number(struct ev_hasher *h, uint64_t n);
void ev_hash_text(struct ev_hasher *h, const void *text, size_t len); /* with its length in front */
/* Frees h. */
void ev_hash_end(struct ev_hasher *h, struct bwl_hash *ret);

/* A value that stays secret until it is shown: HMAC-SHA-256 over a byte for its kind, then data. */
enum ev_of {
	EV_OF_INTERVAL = 1,
	EV_OF_NAME,
	EV_OF_SALT,
	EV_OF_PAD,
	EV_OF_DECOY,
	EV_OF_DECOY_ROOT,
	EV_OF_ROW,
};
void ev_secret(const uint8_t key[32], enum ev_of of, const void *data, size_t len,
	       uint8_t ret[static 32]);

/* Four numbers that are summed: frames and bytes that passed, frames and bytes refused. */
enum ev_number { EV_FRAMES, EV_BYTES, EV_DROPPED_FRAMES, EV_DROPPED_BYTES, EV_NUMBERS };
struct ev_sum {
	uint64_t v[EV_NUMBERS];
};
/* false: a number would exceed 2^64 - 1; *to is unchanged. */
bool ev_sum_add(struct ev_sum *to, const struct ev_sum *x);
/* Subtracts x from *to. false: a number would be below 0. */
bool ev_sum_less(struct ev_sum *to, const struct ev_sum *x);
bool ev_sum_same(const struct ev_sum *a, const struct ev_sum *b);
bool ev_sum_is_zero(const struct ev_sum *x);
void ev_hash_sum(struct ev_hasher *h, const struct ev_sum *x);

#endif
