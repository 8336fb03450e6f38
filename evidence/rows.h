/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A root over rows of the history: salted leaves, padded to a power of two. */
#ifndef EV_ROWS_H
#define EV_ROWS_H

#include "tree.h"

struct ev_row {
	const char *peer, *class_;
	uint64_t start_s, part; /* seconds of UTC since 1970; number among those that begin then */
	const void *points;
	size_t len;
};
struct ev_rows {
	uint8_t key[32]; /* of the day on which it is entered */
	bool seconds;    /* otherwise minutes */
	uint64_t hour;
	struct bwl_hash *leaf;
	size_t n, room;
};
void ev_rows_add(struct ev_rows *v, const struct ev_row *row);
/* Frees its leaves. false: too many. */
bool ev_rows_root(struct ev_rows *v, struct bwl_hash *ret, uint32_t *ret_slots);

#endif
