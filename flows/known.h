/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where peers' counters stood when their last interval ended: the next one must go on from there.
 */
#ifndef BWL_FLOWS_KNOWN_H
#define BWL_FLOWS_KNOWN_H

#include <bwl/record.h>

struct flows_known {
	struct bwl_book_cpu *at; /* by peer, then by CPU */
	size_t n;
};

/*
 * From the interval: the greater counter, as two sets of tables may be written to at a time. Where
 * packets were of no peer by name, or nobody knows, counters may have moved that it does not tell
 * of: these are forgotten. -ENOMEM: nothing is known any more.
 */
int flows_known_learn(struct flows_known *k, const struct bwl_book *b);
/* NULL: not known. */
const struct bwl_book_cpu *flows_known_find(const struct flows_known *k, uint32_t peer,
					    uint32_t cpu);
void flows_known_free(struct flows_known *k);

#endif
