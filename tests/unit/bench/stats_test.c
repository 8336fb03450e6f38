// SPDX-License-Identifier: GPL-2.0-or-later
/* Medians, quartiles, and which run is refused. */
#include "bench/opt.h"
#include "bench/stats.h"
#include "tests/unit/test.h"

#define N 40

static void a_spread_is_of_sorted_values(void **state)
{
	const double v[] = { 5, 1, 4, 2, 3 };
	struct bench_spread s = bench_spread_of(v, 5);

	(void)state;
	assert_float_equal(s.min, 1, 0);
	assert_float_equal(s.q1, 2, 0);
	assert_float_equal(s.median, 3, 0);
	assert_float_equal(s.q3, 4, 0);
	assert_float_equal(s.max, 5, 0);
	assert_float_equal(v[0], 5, 0);
}

static void between_two_values_is_their_middle(void **state)
{
	const double v[] = { 10, 20 };
	struct bench_spread s = bench_spread_of(v, 2);

	(void)state;
	assert_float_equal(s.q1, 12.5, 1e-9);
	assert_float_equal(s.median, 15, 1e-9);
	assert_float_equal(s.q3, 17.5, 1e-9);
	s = bench_spread_of(v, 1);
	assert_float_equal(s.median, 10, 0);
	assert_float_equal(s.max, 10, 0);
	s = bench_spread_of(v, 0);
	assert_float_equal(s.median, 0, 0);
}

static void fill(double *v, double from, double to)
{
	unsigned i;

	for (i = 0; i < N; i++)
		v[i] = i < N / 2 ? from : to;
}

static void a_run_that_moved_by_more_than_a_tenth_is_refused(void **state)
{
	double v[N];

	(void)state;
	fill(v, 100, 109);
	assert_true(bench_is_steady("test", "bare", v, N, 0, false));
	fill(v, 100, 111);
	assert_false(bench_is_steady("test", "bare", v, N, 0, false));
	assert_true(bench_is_steady("test", "bare", v, N, 0, true));
	fill(v, 111, 100); /* faster is no better */
	assert_false(bench_is_steady("test", "bare", v, N, 0, false));
}

static void single_disturbed_rounds_do_not_refuse_a_run(void **state)
{
	double v[N];
	unsigned i;

	(void)state;
	fill(v, 100, 100);
	for (i = 0; i < N; i += 3)
		v[i] = 1000;
	assert_true(bench_is_steady("test", "bare", v, N, 0, false));
}

static void the_resolution_of_the_clock_is_no_drift(void **state)
{
	double v[N];

	(void)state;
	fill(v, 7, 8);
	assert_true(bench_is_steady("test", "bare", v, N, 1, false));
	assert_false(bench_is_steady("test", "bare", v, N, 0, false));
}

static void too_few_rounds_are_not_judged(void **state)
{
	const double v[2 * BENCH_PART - 1] = { 1, 100 };
	struct bench_drift d = bench_drift_of(v, 2 * BENCH_PART - 1);

	(void)state;
	assert_int_equal(d.parts, 1);
	assert_false(bench_drifted(&d, 0));
}

static void a_number_is_a_number_within_its_limits(void **state)
{
	static const char *const bad[] = {
		"", "x", "1x", " 1", "-1", "+1", "0", "11", "4294967297", "99999999999999999999999"
	};
	unsigned v = 7, i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(bench_number("test", "--n", bad[i], 1, 10, &v));
	assert_int_equal(v, 7);
	assert_true(bench_number("test", "--n", "10", 1, 10, &v));
	assert_int_equal(v, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spread_is_of_sorted_values),
		cmocka_unit_test(between_two_values_is_their_middle),
		cmocka_unit_test(a_run_that_moved_by_more_than_a_tenth_is_refused),
		cmocka_unit_test(single_disturbed_rounds_do_not_refuse_a_run),
		cmocka_unit_test(the_resolution_of_the_clock_is_no_drift),
		cmocka_unit_test(too_few_rounds_are_not_judged),
		cmocka_unit_test(a_number_is_a_number_within_its_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
