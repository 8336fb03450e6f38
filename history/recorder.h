/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts growing counters to points in time. Maps and clocks are arguments: from the agent, or
 * from tests.
 *
 * A counter's growth since it was last in the history is added with the next reading: if that was
 * longer than a second ago (the agent was gone, the disk was full), spread evenly over the time
 * between, in at most HIST_PARTS parts. So the sum of a history is what the counters say, unless
 * the maps are gone.
 */
#ifndef BWL_HISTORY_RECORDER_H
#define BWL_HISTORY_RECORDER_H

#include "db.h"

#define HIST_PARTS 60
#define HIST_FLUSH_S 10             /* resolution that a crash may cost */
#define HIST_PENDING_MAX (4U << 20) /* bytes of points in memory that force a write */
/* for older maps without a known past, the history begins now */
#define HIST_BELIEVED_NS 3600000000000ULL

struct hist_clocks {
	int64_t wall_s;
	uint64_t boot_ns;
};

struct hist_recorder;
/*
 * era: the maps of the counters; made_ns: when they were made (boot time). Looks up what of them is
 * in the history already.
 */
int hist_recorder_new(struct hist_db *db, const char *era, uint64_t made_ns, struct hist_clocks now,
		      struct hist_recorder **ret, struct bwl_err *e);
void hist_recorder_free(struct hist_recorder *r); /* NULL-safe; writes nothing */
/*
 * Must it be written before the next reading: the wall clock went back, much is pending, or it is
 * time?
 */
bool hist_recorder_is_due(const struct hist_recorder *r, struct hist_clocks now);
/* Also call it when names have changed: pending data belongs to the old ones. */
int hist_recorder_flush(struct hist_recorder *r, bool renamed, struct bwl_err *e);

/* A reading: begin, one count for each counter, no end. false: it is not time yet. */
bool hist_recorder_look(struct hist_recorder *r, struct hist_clocks now);
/* counter: its number; x: its values since the maps were made. -ENOMEM */
int hist_recorder_count(struct hist_recorder *r, uint32_t counter, const char *peer,
			const char *class_, const struct hist_values *x);

#endif
