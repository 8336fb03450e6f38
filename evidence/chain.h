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
	uint64_t tables, epoch;
	/*
	 * Numbers of intervals: when it was last seen, and since when its values continue without a
	 * break, over all its pseudonyms.
	 */
	uint64_t seen, start;
	bool moved;    /* it goes on under another pseudonym */
	bool in_gap;   /* a gap since: it may have grown by any amount */
	bool in_other; /* absent while there was traffic of no peer: it may have grown by that */
};
struct ev_chain { /* zeroed: empty */
	bool begun;
	bool cut; /* the last entry could not be judged: the next one is not compared with it */
	struct ev_entry first, last;
	struct ev_known *known; /* of this boot, by pseudonym and CPU */
	size_t n;
	struct ev_known **by_value; /* the same, by CPU and value; NULL: not made yet */
	char (*boot)[EV_BOOT];      /* all that were seen */
	size_t nboots;
	int64_t end_s;         /* the last end that is known, if any was */
	bool has_end, is_end;  /* is_end: it is the last interval's */
	uint64_t day;          /* epoch of that interval */
	uint64_t epoch_before; /* the one before the last */
	uint64_t intervals, gaps, unbalanced, thinned, other_unknown, epochs;
	uint64_t unbalanced_peers; /* one per peer and interval; reported with its reason */
	/*
	 * In mid-boot: counters first seen above zero (and their sum then: of that nothing says
	 * when it passed), and counters no longer followed, because the tables were replaced.
	 */
	uint64_t appeared, forgotten;
	struct ev_sum appeared_at;
	uint64_t jumps; /* counters that grew in a gap, or by traffic of no peer, and by how much */
	struct ev_sum grown;
	/* times a peer that does not balance has no record of what its counter counted */
	uint64_t open;
	uint64_t boots, other_seen; /* other_seen: intervals in which it is not zero */
	struct ev_sum other;        /* the sum of those */
	struct ev_sum room;         /* the part of it that no absent peer's counter grew by yet */
	uint64_t counters;          /* followed from one interval to the next */
	uint64_t clock_steps;       /* clock changes seen between two intervals */
	void (*fn)(bool bad, const char *text, void *arg);
	void *arg;
};
void ev_chain_next(struct ev_chain *c, const struct ev_entry *x, const struct ev_peer *peer,
		   uint32_t n);
/* An entry that cannot be judged is between the last one and the next. */
void ev_chain_cut(struct ev_chain *c);
/*
 * Nothing is wrong; but the entries themselves say that something is missing, or of some bytes they
 * do not say when they passed.
 */
bool ev_chain_has_gap(const struct ev_chain *c);
void ev_chain_free(struct ev_chain *c);

#endif
