/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets from all CPUs at once, and the bound for what passes in every window. */
#ifndef BWL_TEST_HAMMER_H
#define BWL_TEST_HAMMER_H

#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include "dests.h"

#define MAX_THREADS 4
#define REPEAT 32

struct hammer {
	pthread_t thread;
	struct rig_packet k;
	int cpu;
	uint64_t sent;
};

static bool stop_hammers;
static struct hammer hammers[MAX_THREADS];
static int nhammers;

static inline void *hammer(void *arg)
{
	struct hammer *h = arg;

	stay_on_cpu(h->cpu);
	while (!__atomic_load_n(&stop_hammers, __ATOMIC_SEQ_CST)) {
		rig_fire(rig, &h->k, REPEAT);
		__atomic_add_fetch(&h->sent, REPEAT, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static inline void hammers_stop(void)
{
	int i;

	__atomic_store_n(&stop_hammers, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < nhammers; i++) {
		pthread_join(hammers[i].thread, NULL);
		runs += hammers[i].sent;
	}
	nhammers = 0;
	rig_others_send = false;
}

/* Starts threads on different CPUs, the i-th with the i-th spec. */
static inline void hammers_start(const char *const *spec, int n)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), i;

	stop_hammers = false;
	rig_others_send = true;
	rig_before_close = hammers_stop;
	for (i = 0; i < n; i++) {
		hammers[i] = (struct hammer){ .k.spec = spec[i], .cpu = i % cpus };
		assert_int_equal(pthread_create(&hammers[i].thread, NULL, hammer, &hammers[i]), 0);
		nhammers = i + 1;
	}
}

static inline uint64_t passed_bytes(void)
{
	return rig_charged(rig, RIG_H0, BWL_R_PASS);
}

/* Has every thread begun and ended a run of REPEAT frames since then? */
static inline bool all_fired(const uint64_t *since)
{
	for (int i = 0; i < nhammers; i++)
		if (__atomic_load_n(&hammers[i].sent, __ATOMIC_SEQ_CST) < since[i] + 2 * REPEAT)
			return false;
	return true;
}

/*
 * Threads send as by the specs. Time moves in steps; before each step the limit must have refused
 * something since the last one, and every thread must have fired: on a busy machine one may not run
 * for many steps, and its share of the limit would stay unused. Every window of steps is checked; a
 * frame in progress on each CPU may be counted one step late.
 *
 * The limit must be idle when this begins, and is judged from before the first frame. Where it
 * refuses, more than a quarter of its burst is owed: an eighth may be held by CPUs, and half of the
 * rest be a zone's reserve. So at the end that quarter has passed beside the rate.
 */
static inline void saturate(const char *const *spec, int n, unsigned refusal, uint64_t rate_bps,
			    uint64_t burst, uint64_t step_ns, unsigned steps)
{
	uint64_t begin = rig_now(), first = passed_bytes(), slack = (uint64_t)n * 1000, last;
	int64_t lowest = 0, most = 0; /* above what drained, at any step, and between any two */
	double drained;
	unsigned i;

	hammers_start(spec, n);
	for (i = 0; i < steps; i++) {
		uint64_t refused = rig_frames(rig, RIG_H0, refusal), fired[MAX_THREADS];
		int64_t above;

		for (int h = 0; h < n; h++)
			fired[h] = __atomic_load_n(&hammers[h].sent, __ATOMIC_SEQ_CST);
		while (rig_frames(rig, RIG_H0, refusal) < refused + 2 * REPEAT * (unsigned)n ||
		       !all_fired(fired))
			sched_yield();
		drained = (double)rate_bps * (double)(rig_now() - begin) / 8e9;
		above = (int64_t)(passed_bytes() - first) - (int64_t)drained;
		if (above < lowest)
			lowest = above;
		if (above - lowest > most)
			most = above - lowest;
		if (i + 1 < steps)
			rig_advance(step_ns);
	}
	hammers_stop();
	last = passed_bytes() - first;
	drained = (double)rate_bps * (double)(steps - 1) * (double)step_ns / 8e9;
	assert_true(most <= (int64_t)(burst + slack));
	assert_true((double)last <= drained + (double)(burst + slack));
	assert_true((double)last >= drained + (double)burst / 4);
}

#endif
