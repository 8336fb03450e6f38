/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pinned threads, and clocks that count what this bench used and nobody else. */
#ifndef BWL_BENCH_CPU_H
#define BWL_BENCH_CPU_H

#include <bpf/bpf.h>
#include <stdbool.h>

#define BENCH_MAX_CPUS 256

/* CPUs that this process may use: one thread of every core first, then their siblings. */
unsigned bench_cpus(int cpu[BENCH_MAX_CPUS]);
/* Pins the calling thread, and asks for all of that CPU's time (nice -20). 0 or negative errno. */
int bench_pin(int cpu);
/*
 * Before all ordinary threads of its CPU (SCHED_FIFO), or as they are: for stretches of some
 * milliseconds in which two CPUs must run at once. nice alone does nothing across sessions where
 * the scheduler groups by them (autogroup). Where it may not: as before.
 */
void bench_urgent(bool urgent);
/* Pins as --cpu says, or to the last CPU: the first one gets most interrupts. */
int bench_pin_one(const char *prog, bool chosen, unsigned cpu, int *ret_cpu);

/* Time of CLOCK_MONOTONIC, and CPU time of the calling thread: ns. */
double bench_wall_ns(void);
double bench_thread_ns(void);

/*
 * CPU time of the kernel's thread that receives on this CPU when others want it too, which is
 * no time of the sender's; 0 where the kernel does not say.
 */
struct bench_softirqd {
	char path[32];
};

void bench_softirqd_find(struct bench_softirqd *s, int cpu);
double bench_softirqd_ns(const struct bench_softirqd *s);

/*
 * BPF_PROG_TEST_RUN of o->repeat packets; ns a packet. The kernel says whole nanoseconds only,
 * of which an empty program has ten: from BENCH_FINE packets on it is the thread's CPU time, of
 * which the call itself is then less than one in a thousand.
 */
#define BENCH_FINE 10000
int bench_test_run(int prog, struct bpf_test_run_opts *o, double *ret_ns);
double bench_resolution_ns(unsigned packets);

#endif
