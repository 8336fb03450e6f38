/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intervals one after the other: none left out, none twice, and each counter goes on from where it
 * was. By the entries and the peers under their pseudonyms alone.
 */
#ifndef EV_CHAIN_H
#define EV_CHAIN_H

#include "entry.h"

struct ev_known {
	struct bwl_hash pseudonym;
	uint32_t cpu;
	struct ev_sum after;
};
struct ev_chain { /* zeroed: nothing yet */
	bool begun;
	struct ev_entry first, last;
	struct ev_known *known; /* by pseudonym and CPU */
	size_t n;
	uint64_t intervals, gaps, unbalanced, thinned, other_unknown, epochs;
	uint64_t unbalanced_peers; /* each of an interval; said with its reason */
	/*
	 * In mid-boot: counters that were first seen above zero, and that were followed no more as
	 * the day's pseudonyms went, or there was traffic of no peer.
	 */
	uint64_t appeared, forgotten;
	uint64_t boots, other_seen; /* other_seen: intervals in which it is not zero */
	struct ev_sum other;        /* of them */
	uint64_t counters;          /* that were followed from one interval to another */
	void (*fn)(bool bad, const char *text, void *arg);
	void *arg;
};
void ev_chain_next(struct ev_chain *c, const struct ev_entry *x, const struct ev_peer *peer,
		   uint32_t n);
void ev_chain_free(struct ev_chain *c);

#endif
