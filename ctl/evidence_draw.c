// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the place of a drawn byte: intervals in their order, then peers and records by their
 * places.
 */
#include <stdlib.h>
#include "evidence.h"

bool evidence_bytes_add(struct evidence_bytes *b, uint64_t record, const struct ev_entry *x,
			const struct ev_peer *peer, uint32_t n)
{
	struct interval_bytes *to;
	struct ev_sum sum;

	if (b->n == b->room)
		b->interval = bwl_must(reallocarray(b->interval, b->room = 2 * b->room + 64,
						    sizeof(*b->interval)));
	to = &b->interval[b->n++];
	*to = (struct interval_bytes){ .root = x->root,
				       .n = record,
				       .sequence = x->id.sequence,
				       .slot = bwl_must(calloc(n + 1, sizeof(*to->slot))),
				       .nslots = n };
	for (uint32_t i = 0; i < n; i++) {
		if (!ev_peer_records(&peer[i], &sum) ||
		    __builtin_add_overflow(to->total, sum.v[EV_BYTES], &to->total))
			return false;
		to->slot[i] = sum.v[EV_BYTES];
	}
	return !__builtin_add_overflow(b->total, to->total, &b->total);
}

struct evidence_place evidence_place_of(const struct evidence_bytes *b, uint64_t byte)
{
	struct evidence_place p = { .at = byte };

	for (; p.at >= b->interval[p.interval].total; p.interval++)
		p.at -= b->interval[p.interval].total;
	for (; p.at >= b->interval[p.interval].slot[p.slot]; p.slot++)
		p.at -= b->interval[p.interval].slot[p.slot];
	return p;
}

void evidence_bytes_free(struct evidence_bytes *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->interval[i].slot);
	free(b->interval);
	*b = (struct evidence_bytes){ 0 };
}
