// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The history with the test's clocks and counters. It returns the growth of the counters, whatever
 * happens to the agent, the clock, the maps and the file.
 */
#include "rig.h"

static void a_second_is_in_its_second(void **state)
{
	struct hist_values x[60];
	unsigned i;

	(void)state;
	run(10, 1000);
	run(20, 0);
	run(1, 5);
	flush();
	assert_int_equal(get("p0", T0, T0 + 60, 1, x), 0);
	for (i = 0; i < 60; i++)
		assert_int_equal(x[i].v[HIST_SENT], i < 10 ? 1000 : i == 30 ? 5 : 0);
	assert_int_equal(x[9].v[HIST_ARRIVED], 500);
	get("p0", T0, T0 + 60, 20, x);
	assert_int_equal(x[0].v[HIST_SENT], 10000);
	assert_int_equal(x[1].v[HIST_SENT], 5);
	assert_int_equal(x[2].v[HIST_SENT], 0);
}

static void what_was_not_written_is_found_after_a_restart(void **state)
{
	struct hist_values x[40];
	unsigned i;

	(void)state;
	run(10, 1000);
	flush();
	run(5, 1000); /* not written */
	die();
	pass(5);
	counter[0] += 5000; /* no agent looked */
	open_db(BIG);
	begin("era", 1000 * SECOND);
	run(10, 1000);
	flush();
	assert_int_equal(all(), counter[0]);
	get("p0", T0, T0 + 40, 1, x); /* spread evenly over the seconds */
	for (i = 0; i < 30; i++)
		assert_int_equal(x[i].v[HIST_SENT], 1000);
}

static void what_passed_during_a_long_absence_is_spread_over_it(void **state)
{
	struct hist_values x[24];
	unsigned i;

	(void)state;
	run(10, 1000);
	flush();
	die();
	pass(86400 - 10);
	counter[0] += 24 * 60 * 60000;
	open_db(BIG);
	begin("era", 1000 * SECOND);
	look();
	flush();
	assert_int_equal(all(), counter[0]);
	get("p0", T0, T0 + 86400, 3600, x);
	for (i = 0; i < 24; i++)
		assert_in_range(x[i].v[HIST_SENT], 2 * 24 * 60 * 1000, 3 * 24 * 60 * 1000);
	tend(); /* folds pieces of any length */
	assert_int_equal(all(), counter[0]);
}

static void other_maps_count_anew_and_nothing_is_negative_or_double(void **state)
{
	uint64_t before;

	(void)state;
	run(25, 1000);
	before = counter[0];
	flush();
	die();
	pass(60);
	counter[0] = 0; /* a reboot */
	now.boot_ns = 20 * SECOND;
	open_db(BIG);
	begin("era 2", 15 * SECOND);
	counter[0] = 700;
	look();
	run(15, 1000);
	flush();
	assert_int_equal(all(), before + counter[0]);
	die(); /* and then maps of which nothing is known */
	now.boot_ns = 60 * SECOND;
	open_db(BIG);
	begin("era 3", 50 * SECOND);
	counter[0] = 44;
	before = all();
	run(3, 10);
	flush();
	assert_int_equal(all(), before + 74);
}

static void counters_of_former_maps_are_no_ones_in_the_next(void **state)
{
	struct hist_values x = { { 5000 } }, got;

	(void)state;
	pass(1);
	assert_true(hist_recorder_look(rec, now));
	hist_recorder_count(rec, 8, "late", "", &x);
	flush();
	die();
	open_db(BIG);
	begin("era 2", now.boot_ns);
	run(3, 10); /* another peer counts first */
	flush();
	die();
	open_db(BIG);
	begin("era 2", now.boot_ns);
	pass(1);
	x.v[0] = 300;
	assert_true(hist_recorder_look(rec, now));
	hist_recorder_count(rec, 8, "late", "", &x);
	flush();
	get("late", T0, T0 + 60, 60, &got);
	assert_int_equal(got.v[HIST_SENT], 5300);
}

static void a_counter_that_falls_within_its_maps_adds_nothing(void **state)
{
	(void)state;
	run(5, 1000);
	counter[0] -= 300; /* two counters are read a moment apart */
	run(1, 0);
	counter[0] += 300;
	run(1, 0);
	run(1, 50);
	flush();
	assert_int_equal(all(), 5050);
}

static void a_history_begun_late_starts_from_then_on(void **state)
{
	(void)state;
	die();
	remove_files();
	counter[0] = 123456789; /* counted since long ago */
	now.boot_ns = 10 * 3600 * SECOND;
	open_db(BIG);
	begin("era", SECOND);
	run(5, 1000);
	run(20, 1000);
	flush();
	assert_int_equal(all(), 24000); /* the first look only sets the starting point */
	die();
	remove_files();
	counter[0] = 5000; /* maps made a moment ago: everything counts */
	open_db(BIG);
	begin("era", now.boot_ns - 30 * SECOND);
	run(5, 1000);
	flush();
	assert_int_equal(all(), 10000);
}

static void the_wall_clock_may_step(void **state)
{
	(void)state;
	run(30, 1000);
	now.wall_s -= 20;
	run(30, 1000);
	now.wall_s += 7200;
	run(30, 1000);
	now.wall_s -= 7200 + 3;
	run(30, 1000);
	flush();
	assert_int_equal(all(), counter[0]);
	tend();
	assert_int_equal(all(), counter[0]);
}

static void seconds_become_minutes_after_an_hour(void **state)
{
	struct hist_values x[60], m;
	unsigned i;

	(void)state;
	run(1800, 1000);
	flush();
	tend();
	get("p0", T0, T0 + 60, 1, x);
	assert_int_equal(x[7].v[HIST_SENT], 1000);
	run(1799, 1000); /* the last second of the hour */
	pass(3600 + 1);
	counter[0] += 7;
	look();
	flush();
	tend();
	assert_int_equal(all(), counter[0]);
	get("p0", T0 + 60, T0 + 120, 60, &m);
	assert_int_equal(m.v[HIST_SENT], 60000);
	assert_int_equal(m.v[HIST_ARRIVED], 30000);
	get("p0", T0, T0 + 3600, 60, x);
	for (i = 0; i < 59; i++)
		assert_int_equal(x[i].v[HIST_SENT], 60000);
	get("p0", T0 + 60, T0 + 120, 1, x); /* spread, with an exact sum */
	for (i = 0, m.v[0] = 0; i < 60; i++) {
		assert_int_equal(x[i].v[HIST_SENT], 1000);
		m.v[0] += x[i].v[HIST_SENT];
	}
	assert_int_equal(m.v[0], 60000);
}

static void a_month_and_no_longer(void **state)
{
	unsigned day;

	(void)state;
	for (day = 0; day < 40; day++) {
		run(1, 1000);
		pass(86400 - 1);
		look();
	}
	run(20, 0);
	flush();
	tend();
	assert_int_equal(sent(T0, T0 + 8 * 86400), 0);
	assert_int_equal(sent(T0 + 10 * 86400, T0 + 40 * 86400), 30000);
}

static void a_name_that_is_gone_a_month_is_forgotten(void **state)
{
	struct hist_reader *r;
	struct hist_values x;
	struct bwl_err e = { 0 };
	unsigned damaged;

	(void)state;
	run(20, 1000);
	pass(32 * 86400);
	look();
	flush();
	tend();
	pass(7200);
	look();
	tend();
	assert_int_equal(hist_reader_open(dir, &r, &e), 0);
	assert_int_equal(hist_reader_get(r, "p0", "", T0, T0 + 60, 60, &x, &damaged, &e), -ENOENT);
	assert_int_equal(hist_reader_get(r, "nobody", "", T0, T0 + 60, 60, &x, &damaged, &e),
			 -ENOENT);
	hist_reader_close(r);
	run(20, 1000); /* the peer is known again when it comes back */
	flush();
	assert_int_equal(sent(now.wall_s - 20, now.wall_s), 20000);
}

static void a_name_that_changes_has_what_passed_under_it(void **state)
{
	struct hist_values x = { { 1000 } }, got;
	struct bwl_err e = { 0 };

	(void)state;
	pass(1);
	assert_true(hist_recorder_look(rec, now));
	hist_recorder_count(rec, 2, "old", "", &x);
	hist_recorder_count(rec, 9, "old", "ssh", &x);
	assert_int_equal(hist_recorder_flush(rec, true, &e), 0);
	pass(1);
	x.v[0] = 1500;
	assert_true(hist_recorder_look(rec, now));
	hist_recorder_count(rec, 2, "new", "", &x);
	flush();
	get("old", T0, T0 + 60, 60, &got);
	assert_int_equal(got.v[HIST_SENT], 1000);
	get("new", T0, T0 + 60, 60, &got);
	assert_int_equal(got.v[HIST_SENT], 500);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin_test, end_test)
	const struct CMUnitTest tests[] = {
		T(a_second_is_in_its_second),
		T(what_was_not_written_is_found_after_a_restart),
		T(what_passed_during_a_long_absence_is_spread_over_it),
		T(other_maps_count_anew_and_nothing_is_negative_or_double),
		T(counters_of_former_maps_are_no_ones_in_the_next),
		T(a_counter_that_falls_within_its_maps_adds_nothing),
		T(a_history_begun_late_starts_from_then_on),
		T(the_wall_clock_may_step),
		T(seconds_become_minutes_after_an_hour),
		T(a_month_and_no_longer),
		T(a_name_that_is_gone_a_month_is_forgotten),
		T(a_name_that_changes_has_what_passed_under_it),
	};

	return cmocka_run_group_tests_name("history", tests, set_up, tear_down);
}
