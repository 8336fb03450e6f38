/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pinned threads, and clocks that count only what this bench used. */
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
 * Before all ordinary threads of its CPU (SCHED_FIFO), or back to normal: for a few milliseconds in
 * which two CPUs must run at the same time. nice alone has no effect across sessions if the
 * scheduler groups by them (autogroup). Without permission: no change.
 */
void bench_urgent(bool urgent);
/* Pins to --cpu, or to the last CPU: the first one gets most interrupts. */
int bench_pin_one(const char *prog, bool chosen, unsigned cpu, int *ret_cpu);

/* Time of CLOCK_MONOTONIC, and CPU time of the calling thread: ns. */
double bench_wall_ns(void);
double bench_thread_ns(void);

/*
 * CPU time of the kernel thread that receives on this CPU if others want the CPU, too; it is not in
 * the sender's time. 0 if the kernel does not report it.
 */
struct bench_softirqd {
	char path[32];
};

void bench_softirqd_find(struct bench_softirqd *s, int cpu);
double bench_softirqd_ns(const struct bench_softirqd *s);

/*
 * Runs BPF_PROG_TEST_RUN with o->repeat packets; ns per packet. The kernel reports whole
 * nanoseconds only, and an empty program takes ten. So from BENCH_FINE packets on the thread's CPU
 * time is used, of which the call itself is then less than a thousandth.
 */
#define BENCH_FINE 10000
int bench_test_run(int prog, struct bpf_test_run_opts *o, double *ret_ns);
double bench_resolution_ns(unsigned packets);

#endif
