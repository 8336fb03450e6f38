/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What passed, and when, compared with one rate and burst in every window (promise 2). */
#ifndef BWL_TEST_HISTORY_H
#define BWL_TEST_HISTORY_H

#include "dests.h"

static struct passed {
	uint64_t at, bytes;
} history[400];
static unsigned nhistory;

static inline void drain_and_note(const char *spec)
{
	assert_true(nhistory < 400);
	history[nhistory].bytes = 64 * (uint64_t)drain(spec);
	history[nhistory++].at = rig_now();
}

static inline void check_history(uint64_t rate_bps, uint64_t burst)
{
	unsigned i, j;

	for (i = 0; i < nhistory; i++) {
		uint64_t sum = 0;

		for (j = i; j < nhistory; j++) {
			sum += history[j].bytes;
			assert_true((double)sum <=
				    (double)rate_bps * (double)(history[j].at - history[i].at) /
						    8e9 +
					    (double)burst);
		}
	}
}

#endif
