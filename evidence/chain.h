/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks consecutive intervals: none missing, none twice, and each counter continues from its last
 * value. Needs only the entries and the peers under their pseudonyms.
 */
#ifndef EV_CHAIN_H
#define EV_CHAIN_H

#include "entry.h"

struct ev_known {
	struct bwl_hash pseudonym;
	uint32_t cpu;
	struct ev_sum after;
};
struct ev_chain { /* zeroed: empty */
	bool begun;
	struct ev_entry first, last;
	struct ev_known *known; /* by pseudonym and CPU */
	size_t n;
	uint64_t intervals, gaps, unbalanced, thinned, other_unknown, epochs;
	uint64_t unbalanced_peers; /* one per peer and interval; reported with its reason */
	/*
	 * In mid-boot: counters first seen above zero, and counters no longer followed, because the
	 * day's pseudonyms ended or there was traffic of no peer.
	 */
	uint64_t appeared, forgotten;
	uint64_t boots, other_seen; /* other_seen: intervals in which it is not zero */
	struct ev_sum other;        /* the sum of those */
	uint64_t counters;          /* followed from one interval to the next */
	uint64_t clock_steps;       /* clock changes seen between two intervals */
	void (*fn)(bool bad, const char *text, void *arg);
	void *arg;
};
void ev_chain_next(struct ev_chain *c, const struct ev_entry *x, const struct ev_peer *peer,
		   uint32_t n);
void ev_chain_free(struct ev_chain *c);

#endif
