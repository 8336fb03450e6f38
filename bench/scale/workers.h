/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads, each pinned to its own CPU, that start their work at the same moment. */
#ifndef BWL_BENCH_WORKERS_H
#define BWL_BENCH_WORKERS_H

#include <stdbool.h>
#include <stdint.h>
#include "bench/cpu.h"

struct crew;
typedef int (*crew_work)(void *arg); /* 0 or negative errno */

struct crew_task {
	crew_work work;
	void *arg;
	bool urgent; /* before all other threads of the CPU; not if ksoftirqd takes part */
	/* results */
	double cpu_ns, begin_ns, end_ns;
	uint64_t cycles, transfers; /* 0: not counted */
	int err;
};

/* NULL: see errno. */
struct crew *crew_up(const int *cpu, unsigned n);
void crew_down(struct crew *c);
/* Worker who[i] does task i; all start together. Returns their first error. */
int crew_run(struct crew *c, const unsigned *who, struct crew_task *task, unsigned n);
/*
 * Something else used a worker's CPU, or the tasks did not overlap: their figures are of fewer CPUs
 * than stated.
 */
bool crew_disturbed(const struct crew_task *task, unsigned n);
/* What is counted as cycles and as transfers; otherwise NULL, and why not. */
const char *crew_counts_cycles(const struct crew *c);
const char *crew_counts_transfers(const struct crew *c);
const char *crew_counts_not(const struct crew *c);

#endif
