/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From counters that only grow to points in time. No maps and no clocks in here: the agent brings
 * both, tests bring their own.
 *
 * Whatever a counter has grown by since it was last in the history is in it from the next look on:
 * if that is longer ago than a second (the agent was gone, the disk was full), spread evenly over
 * the time between, in at most HIST_PARTS parts. So the sum of a history is what the counters say,
 * unless the maps are gone.
 */
#ifndef BWL_HISTORY_RECORDER_H
#define BWL_HISTORY_RECORDER_H

#include "db.h"

#define HIST_PARTS 60
#define HIST_FLUSH_S 10             /* what a crash costs of the resolution */
#define HIST_PENDING_MAX (4U << 20) /* bytes of points in memory before they are written anyway */
/* maps older than this, of which nothing is known: from now on */
#define HIST_BELIEVED_NS 3600000000000ULL

struct hist_clocks {
	int64_t wall_s;
	uint64_t boot_ns;
};

struct hist_recorder;
/*
 * era: the maps that the counters are of; made_ns: when (boot time). Looks up what of them is in
 * the history already.
 */
int hist_recorder_new(struct hist_db *db, const char *era, uint64_t made_ns, struct hist_clocks now,
		      struct hist_recorder **ret, struct bwl_err *e);
void hist_recorder_free(struct hist_recorder *r); /* NULL-safe; writes nothing */
/*
 * To be written before the next look: the wall clock went back, or much is pending, or it is time.
 */
bool hist_recorder_is_due(const struct hist_recorder *r, struct hist_clocks now);
/* Also when names have changed: what is pending is of the old ones. */
int hist_recorder_flush(struct hist_recorder *r, bool renamed, struct bwl_err *e);

/* A look: begin, one count for each counter, no end. false: it is not time yet. */
bool hist_recorder_look(struct hist_recorder *r, struct hist_clocks now);
/* counter: the counter's; x: since the maps were made. -ENOMEM */
int hist_recorder_count(struct hist_recorder *r, uint32_t counter, const char *peer,
			const char *class_, const struct hist_values *x);

#endif
