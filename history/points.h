/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encodes points in time: only those in which something happened, and only columns that are not 0.
 *
 * A point: a varint (7 bits a byte, the lowest first, bit 7: more follow) of units since the last
 * point (the first: since the block's start) << 4 | which columns follow; each of them a varint.
 * The encoding is unique. A second of one rate takes 4 to 5 bytes.
 */
#ifndef BWL_HISTORY_POINTS_H
#define BWL_HISTORY_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hist_col {
	HIST_SENT,         /* bytes, as charged */
	HIST_ARRIVED,      /* as charged */
	HIST_SENT_DROPPED, /* refused on the way out; as the hook saw them */
	HIST_ARRIVED_DROPPED,
	HIST_COLS
};

struct hist_values {
	uint64_t v[HIST_COLS];
};

bool hist_is_zero(const struct hist_values *x);
void hist_sum(struct hist_values *to, const struct hist_values *x);

#define HIST_MAX_UNITS (1U << 30) /* from a block's start to its last point */

/* A block that is being written. Zeroed: empty. */
struct hist_block {
	uint8_t *data;
	size_t len, room;
	uint32_t last; /* units from the start to the last point */
};
/* unit: from the start, above the last one; all zero adds nothing. -ENOMEM, -ERANGE */
int hist_block_add(struct hist_block *b, uint32_t unit, const struct hist_values *x);
void hist_block_free(struct hist_block *b);

struct hist_cursor {
	const uint8_t *at, *end;
	uint32_t unit;
	bool begun;
};
struct hist_cursor hist_cursor(const void *data, size_t len);
/* 1: a point; 0: no more; -EUCLEAN: not written by hist_block_add(). */
int hist_next(struct hist_cursor *c, uint32_t *ret_unit, struct hist_values *ret);

#endif
