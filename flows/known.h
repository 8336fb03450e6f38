/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peers' counters at the end of their last interval: the next one must continue from them. */
#ifndef BWL_FLOWS_KNOWN_H
#define BWL_FLOWS_KNOWN_H

#include <bwl/record.h>

struct flows_known {
	struct bwl_book_cpu *at; /* by peer, then by CPU */
	size_t n;
};

/*
 * Learns from an interval: the larger counter, because two sets of tables may be written at the
 * same time. If packets belonged to no named peer, or that is unknown, counters that it does not
 * mention may have moved, and are forgotten. -ENOMEM: everything is forgotten.
 */
int flows_known_learn(struct flows_known *k, const struct bwl_book *b);
/* NULL: unknown. */
const struct bwl_book_cpu *flows_known_find(const struct flows_known *k, uint32_t peer,
					    uint32_t cpu);
void flows_known_free(struct flows_known *k);

#endif
