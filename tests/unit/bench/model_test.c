// SPDX-License-Identifier: GPL-2.0-or-later
/* The model of contention: properties that hold on every machine. */
#include <stdatomic.h>
#include "bench/scale/workers.h"
#include "bench/scale/model.h"
#include "tests/unit/test.h"

#define ALONE 200.0
#define TRANSFER 50.0

static void without_shared_lines_a_cpu_is_as_fast_as_alone(void **state)
{
	unsigned n;

	(void)state;
	for (n = 1; n <= 64; n++)
		assert_float_equal(model_ns(ALONE, TRANSFER, 0, n), ALONE, 1e-9);
	assert_float_equal(model_ns(ALONE, TRANSFER, 5, 1), ALONE, 1e-9);
}

static void more_cpus_are_never_faster_each(void **state)
{
	double was = ALONE, now;
	unsigned n;

	(void)state;
	for (n = 2; n <= 64; n++, was = now) {
		now = model_ns(ALONE, TRANSFER, 3, n);
		assert_true(now > was);
	}
}

/* One server: everyone waits for everyone's transfer. */
static void many_cpus_at_one_line_take_a_transfer_each_in_turn(void **state)
{
	(void)state;
	assert_float_equal(model_ns(ALONE, TRANSFER, 1, 1000) / (1000 * TRANSFER), 1, 0.01);
	assert_float_equal(model_ns(ALONE, TRANSFER, 0.5, 1000) / (1000 * TRANSFER / 2), 1, 0.01);
}

static void a_deal_of_work_of_ones_own_hides_few_transfers(void **state)
{
	(void)state;
	/* 16 CPUs keep a line busy for 16 x 1 ns of 10 us: hardly anyone waits. */
	assert_float_equal(model_ns(10000, 1, 1, 16), 10001, 0.1);
}

static void the_lines_of_two_cpus_are_found_again(void **state)
{
	double l, two;

	(void)state;
	for (l = 0.1; l < 20; l *= 1.3) {
		two = model_ns(ALONE, TRANSFER, l, 2);
		assert_float_equal(model_lines(ALONE, two, TRANSFER), l, 1e-6);
	}
	assert_float_equal(model_lines(ALONE, ALONE - 1, TRANSFER), 0, 0);
	assert_float_equal(model_lines(ALONE, ALONE + 10, 0), 0, 0);
}

static int noted(void *arg)
{
	atomic_fetch_add((atomic_uint *)arg, 1);
	return 0;
}

static int failed(void *arg)
{
	(void)arg;
	return -7;
}

static void a_crew_does_each_task_once_and_tells_the_first_error(void **state)
{
	int cpu[BENCH_MAX_CPUS];
	unsigned n = bench_cpus(cpu), who[2] = { 0, 1 }, i;
	atomic_uint times = 0;
	struct crew_task task[2] = { { .work = noted, .arg = &times },
				     { .work = noted, .arg = &times } };
	struct crew *c;

	(void)state;
	assert_true(n > 0);
	n = n > 2 ? 2 : n;
	c = crew_up(cpu, n);
	assert_non_null(c);
	for (i = 0; i < 100; i++)
		assert_int_equal(crew_run(c, who, task, n), 0);
	assert_int_equal(times, 100 * n);
	task[n - 1].work = failed;
	assert_int_equal(crew_run(c, who, task, n), -7);
	crew_down(c);
}

static void a_task_that_was_off_its_cpu_or_alone_is_disturbed(void **state)
{
	struct crew_task t[2] = {
		{ .cpu_ns = 1e6, .begin_ns = 0, .end_ns = 1e6 },
		{ .cpu_ns = 1e6, .begin_ns = 1e4, .end_ns = 1.01e6 },
	};

	(void)state;
	assert_false(crew_disturbed(t, 2));
	t[1].cpu_ns = 0.8e6;
	assert_true(crew_disturbed(t, 2));
	assert_false(crew_disturbed(t, 1));
	t[1] = (struct crew_task){ .cpu_ns = 1e6, .begin_ns = 0.5e6, .end_ns = 1.5e6 };
	assert_true(crew_disturbed(t, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_shared_lines_a_cpu_is_as_fast_as_alone),
		cmocka_unit_test(more_cpus_are_never_faster_each),
		cmocka_unit_test(many_cpus_at_one_line_take_a_transfer_each_in_turn),
		cmocka_unit_test(a_deal_of_work_of_ones_own_hides_few_transfers),
		cmocka_unit_test(the_lines_of_two_cpus_are_found_again),
		cmocka_unit_test(a_crew_does_each_task_once_and_tells_the_first_error),
		cmocka_unit_test(a_task_that_was_off_its_cpu_or_alone_is_disturbed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
