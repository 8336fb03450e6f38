/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cycles of a thread and the cache lines it fetched from other CPUs, by perf_event_open(). */
#ifndef BWL_BENCH_COUNTERS_H
#define BWL_BENCH_COUNTERS_H

#include <stdint.h>

struct counters {
	int cycles, transfers; /* -1: not counted */
	const char *transfers_name;
	int err; /* of the first one that failed, positive errno */
};

/* Opens them for the calling thread. */
void counters_open(struct counters *c);
void counters_close(struct counters *c);
void counters_start(const struct counters *c);
void counters_stop(const struct counters *c, uint64_t *ret_cycles, uint64_t *ret_transfers);

#endif
