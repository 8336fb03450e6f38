// SPDX-License-Identifier: GPL-2.0-or-later
/* Medians, quartiles, and which runs are refused. */
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

static enum bench_steady judged(const double *v, double resolution, bool anyway)
{
	return bench_steadiness("test", "bare", v, N, resolution, anyway);
}

static void a_run_that_moved_by_more_than_a_tenth_is_refused(void **state)
{
	double v[N];

	(void)state;
	fill(v, 100, 109);
	assert_int_equal(judged(v, 0, false), BENCH_STEADY);
	fill(v, 100, 111);
	assert_int_equal(judged(v, 0, false), BENCH_REFUSED);
	assert_int_equal(judged(v, 0, true), BENCH_UNSURE);
	fill(v, 111, 100); /* a run that gets faster is refused, too */
	assert_int_equal(judged(v, 0, false), BENCH_REFUSED);
}

static void single_disturbed_rounds_do_not_refuse_a_run(void **state)
{
	double v[N];
	unsigned i;

	(void)state;
	fill(v, 100, 100);
	for (i = 0; i < N; i += 3)
		v[i] = 1000;
	assert_int_equal(judged(v, 0, false), BENCH_STEADY);
}

static void the_resolution_of_the_clock_is_no_drift(void **state)
{
	double v[N];

	(void)state;
	fill(v, 7, 8);
	assert_int_equal(judged(v, 1, false), BENCH_STEADY);
	assert_int_equal(judged(v, 0, false), BENCH_REFUSED);
}

static void too_few_rounds_are_not_judged(void **state)
{
	const double v[2 * BENCH_PART - 1] = { 1, 100 };
	struct bench_drift d = bench_drift_of(v, 2 * BENCH_PART - 1);

	(void)state;
	assert_int_equal(d.parts, 1);
	assert_false(bench_drifted(&d, 0));
	assert_int_equal(bench_steadiness("test", "bare", v, 2 * BENCH_PART - 1, 0, false),
			 BENCH_UNSURE);
}

static void says(const char *want, struct bench_goal g, double median, enum bench_steady s,
		 void (*put)(FILE *f, struct bench_goal g, double median, enum bench_steady s))
{
	char got[80] = "";
	FILE *f = fmemopen(got, sizeof(got), "w");

	assert_non_null(f);
	put(f, g, median, s);
	fclose(f);
	assert_string_equal(got, want);
}

static void a_goal_is_met_or_missed_by_a_steady_run_only(void **state)
{
	const struct bench_goal none = { 0 }, most = { .value = 1.2 },
				least = { .value = 0.95, .least = true };

	(void)state;
	says("\"goal\": null, \"met\": null", none, 1, BENCH_STEADY, bench_goal_json);
	says("\"goal\": 1.20, \"met\": true", most, 1.2, BENCH_STEADY, bench_goal_json);
	says("\"goal\": 1.20, \"met\": false", most, 1.21, BENCH_STEADY, bench_goal_json);
	says("\"goal\": 1.20, \"met\": null", most, 1, BENCH_UNSURE, bench_goal_json);
	says("\"goal\": 0.95, \"met\": true", least, 1, BENCH_STEADY, bench_goal_json);
	says("\"goal\": 0.95, \"met\": false", least, 0.9, BENCH_STEADY, bench_goal_json);
	says("", none, 1, BENCH_STEADY, bench_goal_text);
	says("  <= 1.20 missed", most, 2, BENCH_STEADY, bench_goal_text);
	says("  >= 0.95 met", least, 2, BENCH_STEADY, bench_goal_text);
	says("  >= 0.95 ?", least, 2, BENCH_UNSURE, bench_goal_text);
}

static const char *row_name(unsigned i)
{
	static const char *const names[] = { "pipe", "pipe-turn", "pipe-turn-six", "refused-peer" };

	return names[i];
}

static void rows_are_chosen_by_name_or_by_its_beginning(void **state)
{
	static const struct {
		const char *words;
		bool good, chosen[4];
	} list[] = {
		{ "pipe", true, { true } },
		{ "pipe-turn", true, { [1] = true } },
		{ "refused", true, { [3] = true } },
		{ "refused,pipe", true, { true, [3] = true } },
		{ "pipe-turn,pipe-turn-six", true, { [1] = true, true } },
		{ "pip", false, { false } },
		{ "refused-", false, { false } },
		{ "", false, { false } },
		{ "pipe,", false, { true } },
		{ "pipe,nothing", false, { true } },
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		bool chosen[4] = { false };

		assert_int_equal(bench_choose("test", list[i].words, row_name, 4, chosen),
				 list[i].good);
		assert_memory_equal(chosen, list[i].chosen, sizeof(chosen));
	}
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
		cmocka_unit_test(a_goal_is_met_or_missed_by_a_steady_run_only),
		cmocka_unit_test(rows_are_chosen_by_name_or_by_its_beginning),
		cmocka_unit_test(a_number_is_a_number_within_its_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
