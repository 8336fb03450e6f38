// SPDX-License-Identifier: GPL-2.0-or-later
/* See cpu.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "bench/cpu.h"

/* The lowest CPU number among the threads of this CPU's core. */
static int core_of(int cpu)
{
	char path[96], line[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
		 cpu);
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	return isdigit((unsigned char)line[0]) ? atoi(line) : cpu;
}

unsigned bench_cpus(int cpu[BENCH_MAX_CPUS])
{
	bool taken[CPU_SETSIZE] = { false };
	unsigned n = 0, first;
	cpu_set_t set;
	int i, core;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	for (i = 0; i < CPU_SETSIZE && n < BENCH_MAX_CPUS; i++) {
		core = CPU_ISSET(i, &set) ? core_of(i) : -1;
		if (core < 0 || core >= CPU_SETSIZE || taken[core])
			continue;
		taken[core] = true;
		cpu[n++] = i;
	}
	for (i = 0, first = n; i < CPU_SETSIZE && n < BENCH_MAX_CPUS; i++) {
		unsigned k = 0;

		while (k < first && cpu[k] != i)
			k++;
		if (CPU_ISSET(i, &set) && k == first)
			cpu[n++] = i;
	}
	return n;
}

int bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return -errno;
	/* Per thread in Linux. Without permission the bench runs nevertheless. */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), -20);
	return 0;
}

void bench_urgent(bool urgent)
{
	struct sched_param p = { .sched_priority = urgent };

	sched_setscheduler(0, urgent ? SCHED_FIFO : SCHED_OTHER, &p);
}

int bench_pin_one(const char *prog, bool chosen, unsigned cpu, int *ret_cpu)
{
	int list[BENCH_MAX_CPUS], r;
	unsigned n = bench_cpus(list), i;

	if (!n)
		return -ENODEV;
	*ret_cpu = chosen ? (int)cpu : list[0];
	for (i = 0; i < n && !chosen; i++)
		*ret_cpu = list[i] > *ret_cpu ? list[i] : *ret_cpu;
	r = bench_pin(*ret_cpu);
	if (r)
		fprintf(stderr,
			"%s: cannot pin to CPU %d: %s; /sys/devices/system/cpu/online and taskset -p $$ say which there are\n",
			prog, *ret_cpu, strerror(-r));
	return r;
}

static double clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double bench_wall_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

double bench_thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static bool is_named(const char *pid, const char *want)
{
	char path[300], name[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(name, sizeof(name), f))
		name[0] = 0;
	name[strcspn(name, "\n")] = 0;
	fclose(f);
	return !strcmp(name, want);
}

void bench_softirqd_find(struct bench_softirqd *s, int cpu)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	char want[32];

	s->path[0] = 0;
	snprintf(want, sizeof(want), "ksoftirqd/%d", cpu);
	while (d && !s->path[0] && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]) && is_named(e->d_name, want))
			snprintf(s->path, sizeof(s->path), "/proc/%.10s/schedstat", e->d_name);
	if (d)
		closedir(d);
}

double bench_softirqd_ns(const struct bench_softirqd *s)
{
	FILE *f = s->path[0] ? fopen(s->path, "re") : NULL;
	double ns = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%lf", &ns) != 1) /* the first number: ns on the CPU */
		ns = 0;
	fclose(f);
	return ns;
}

double bench_resolution_ns(unsigned packets)
{
	return packets < BENCH_FINE ? 1 : 0;
}

int bench_test_run(int prog, struct bpf_test_run_opts *o, double *ret_ns)
{
	double begin = bench_thread_ns();

	if (bpf_prog_test_run_opts(prog, o))
		return -errno;
	*ret_ns = o->repeat < BENCH_FINE ? o->duration : (bench_thread_ns() - begin) / o->repeat;
	return 0;
}
