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

/* Starts threads on different CPUs, the i-th with the i-th spec. */
static inline void hammers_start(const char *const *spec, int n)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), i;

	stop_hammers = false;
	rig_others_send = true;
	nhammers = n;
	for (i = 0; i < n; i++) {
		hammers[i] = (struct hammer){ .k.spec = spec[i], .cpu = i % cpus };
		assert_int_equal(pthread_create(&hammers[i].thread, NULL, hammer, &hammers[i]), 0);
	}
}

static inline void hammers_stop(void)
{
	int i;

	__atomic_store_n(&stop_hammers, true, __ATOMIC_SEQ_CST);
	for (i = 0; i < nhammers; i++) {
		pthread_join(hammers[i].thread, NULL);
		runs += hammers[i].sent;
	}
	rig_others_send = false;
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
 * Time moves in steps; before each step every limit must have refused something since the last one,
 * and every thread must have fired: on a busy machine one may not run for many steps, and its share
 * of the limit would stay unused. Every window of steps is checked; a frame in progress on each CPU
 * may be counted one step late.
 */
static inline void saturate(unsigned refusal, uint64_t rate_bps, uint64_t burst, uint64_t step_ns,
			    unsigned steps)
{
	uint64_t begin = rig_now(), first = passed_bytes(), last, slack = (uint64_t)nhammers * 1000;
	int64_t lowest = INT64_MAX;
	unsigned i;

	for (i = 0; i < steps; i++) {
		uint64_t refused = rig_frames(rig, RIG_H0, refusal), may, passed,
			 fired[MAX_THREADS];
		int64_t under;

		for (int h = 0; h < nhammers; h++)
			fired[h] = __atomic_load_n(&hammers[h].sent, __ATOMIC_SEQ_CST);
		while (rig_frames(rig, RIG_H0, refusal) <
			       refused + 2 * REPEAT * (unsigned)nhammers ||
		       !all_fired(fired))
			sched_yield();
		passed = passed_bytes() - first;
		may = (uint64_t)((double)rate_bps * (double)(rig_now() - begin) / 8e9);
		under = (int64_t)(passed - may);
		if (under < lowest)
			lowest = under;
		assert_true(under - lowest <= (int64_t)(burst + slack));
		rig_advance(step_ns);
	}
	last = passed_bytes() - first;
	/* The last step has not been used up. */
	assert_true((double)last * 8e9 >=
		    0.995 * (double)rate_bps * (double)(steps - 1) * (double)step_ns);
	assert_true((double)last * 8e9 <= (double)rate_bps * (double)steps * (double)step_ns +
						  8e9 * (double)(burst + slack));
}

#endif
