// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The agent's threads: when told to stop they do so at once, and one that hangs blocks no other and
 * frees its own memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/thread.h"

#define SECOND 1000000000ULL

struct worker {
	struct agent_thread thread;
	atomic_uint steps;
	atomic_bool hangs;
	uint64_t nap_ns;
};

static atomic_uint freed, given_up;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void run(void *arg)
{
	struct worker *w = arg;

	do {
		while (atomic_load(&w->hangs))
			usleep(1000);
		atomic_fetch_add(&w->steps, 1);
	} while (agent_thread_nap(&w->thread, w->nap_ns));
}

static void give_up(void *arg)
{
	(void)arg;
	atomic_fetch_add(&given_up, 1);
}

static void free_worker(void *arg)
{
	free(arg);
	atomic_fetch_add(&freed, 1);
}

static struct worker *start(uint64_t nap_ns, bool hangs)
{
	struct worker *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->nap_ns = nap_ns;
	atomic_store(&w->hangs, hangs);
	atomic_store(&freed, 0);
	atomic_store(&given_up, 0);
	assert_int_equal(agent_thread_start(&w->thread, run, w, NULL), 0);
	return w;
}

static void await(atomic_uint *n, unsigned at_least)
{
	for (unsigned i = 0; atomic_load(n) < at_least && i < 300000; i++)
		usleep(1000);
	assert_true(atomic_load(n) >= at_least);
}

static void a_nap_is_as_long_as_it_is_to_be_and_work_goes_on_after_it(void **state)
{
	uint64_t before = now_ns();
	struct worker *w = start(SECOND / 20, false);

	(void)state;
	await(&w->steps, 4);
	assert_true(now_ns() - before >= 3 * (SECOND / 20));
	agent_thread_stop(&w->thread);
	free(w);
}

static void told_to_stop_it_ends_its_nap_at_once(void **state)
{
	struct worker *w = start(3600 * SECOND, false);

	(void)state;
	await(&w->steps, 1);
	assert_true(agent_thread_goes_on(&w->thread));
	agent_thread_stop(&w->thread); /* or ctest ends this, long before the hour has passed */
	assert_int_equal(atomic_load(&w->steps), 1);
	free(w);
}

static void one_that_ends_in_time_is_the_callers_to_free(void **state)
{
	struct worker *w = start(3600 * SECOND, false);

	(void)state;
	assert_true(agent_thread_stop_within(&w->thread, 300, give_up, free_worker));
	assert_int_equal(atomic_load(&given_up), 0);
	assert_int_equal(atomic_load(&freed), 0);
	free(w);
}

static void one_that_hangs_keeps_nobody_and_frees_its_own_when_it_ends(void **state)
{
	struct worker *w = start(3600 * SECOND, true);
	uint64_t before = now_ns();

	(void)state;
	assert_false(agent_thread_stop_within(&w->thread, 1, give_up, free_worker));
	assert_true(now_ns() - before >= SECOND);
	assert_int_equal(atomic_load(&given_up), 1);
	assert_int_equal(atomic_load(&freed), 0);
	atomic_store(&w->hangs, false);
	await(&freed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_nap_is_as_long_as_it_is_to_be_and_work_goes_on_after_it),
		cmocka_unit_test(told_to_stop_it_ends_its_nap_at_once),
		cmocka_unit_test(one_that_ends_in_time_is_the_callers_to_free),
		cmocka_unit_test(one_that_hangs_keeps_nobody_and_frees_its_own_when_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
