/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads, each pinned to a CPU of its own, that begin their work at the same moment. */
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
	bool urgent; /* before all other threads of the CPU; not where ksoftirqd has a part in it */
	/* what it took */
	double cpu_ns, begin_ns, end_ns;
	uint64_t cycles, transfers; /* 0 where not counted */
	int err;
};

/* NULL: errno says why. */
struct crew *crew_up(const int *cpu, unsigned n);
void crew_down(struct crew *c);
/* Task i is done by worker who[i]; all start together. The first error of them. */
int crew_run(struct crew *c, const unsigned *who, struct crew_task *task, unsigned n);
/*
 * Something else had a worker's CPU, or they did not run at the same time: the tasks' figures
 * are of fewer CPUs than they say.
 */
bool crew_disturbed(const struct crew_task *task, unsigned n);
/* What is counted as cycles and as transfers; or NULL, and why not. */
const char *crew_counts_cycles(const struct crew *c);
const char *crew_counts_transfers(const struct crew *c);
const char *crew_counts_not(const struct crew *c);

#endif
