// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The history with clocks and counters of the test: what comes out is what the counters grew by,
 * whatever happens to the agent, the clock, the maps and the file.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "history/recorder.h"

#define SECOND 1000000000ULL
#define T0 1800000000LL		/* a whole hour */
#define BIG (1ULL << 30)

static char dir[64];
static struct hist_db *db;
static struct hist_recorder *rec;
static struct hist_clocks now;
static uint64_t counter[300];	/* sent bytes, by peer */

static void remove_files(void)
{
	char cmd[100];

	snprintf(cmd, sizeof(cmd), "rm -f %s/history*", dir);
	assert_int_equal(system(cmd), 0);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "%s/bwl-history-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	remove_files();
	rmdir(dir);
	return 0;
}

static bool open_db(uint64_t max_bytes)
{
	struct bwl_err e = { 0 };
	bool aside;

	if (hist_db_open(dir, max_bytes, &db, &aside, &e))
		fail_msg("%s", e.text);
	return aside;
}

static void begin(const char *era, uint64_t made_ns)
{
	struct bwl_err e = { 0 };

	if (hist_recorder_new(db, era, made_ns, now, &rec, &e))
		fail_msg("%s", e.text);
}

static void die(void)	/* nothing is written */
{
	hist_recorder_free(rec);
	hist_db_close(db);
	rec = NULL;
	db = NULL;
}

static int begin_test(void **state)
{
	(void)state;
	remove_files();
	memset(counter, 0, sizeof(counter));
	now = (struct hist_clocks){ T0, 1000 * SECOND };
	open_db(BIG);
	begin("era", now.boot_ns);
	return 0;
}

static int end_test(void **state)
{
	(void)state;
	die();
	return 0;
}

static void flush(void)
{
	struct bwl_err e = { 0 };

	if (hist_recorder_flush(rec, false, &e))
		fail_msg("%s", e.text);
}

static void tend(void)
{
	struct bwl_err e = { 0 };
	bool renamed;

	if (hist_db_tend(db, now.wall_s, &renamed, &e) || (renamed && hist_recorder_flush(rec, true, &e)))
		fail_msg("%s", e.text);
}

static void look_many(unsigned peers)
{
	char name[16];
	unsigned i;

	if (hist_recorder_is_due(rec, now)) {
		flush();
		tend();
	}
	if (!hist_recorder_look(rec, now))
		return;
	for (i = 0; i < peers; i++) {
		struct hist_values x = { { counter[i], counter[i] / 2, 0, counter[i] / 3 } };

		snprintf(name, sizeof(name), "p%u", i);
		assert_int_equal(hist_recorder_count(rec, 2 * i, name, "", &x), 0);
	}
}

static void pass(unsigned seconds)
{
	now.wall_s += seconds;
	now.boot_ns += seconds * SECOND;
}

static void look(void)
{
	look_many(1);
}

/* A second after the other, `bytes` in each. */
static void run(unsigned seconds, uint64_t bytes)
{
	while (seconds--) {
		pass(1);
		counter[0] += bytes;
		look();
	}
}

static unsigned get(const char *peer, int64_t from, int64_t to, int64_t step, struct hist_values *x)
{
	struct hist_reader *r;
	struct bwl_err e = { 0 };
	unsigned damaged;

	memset(x, 0, (size_t)((to - from) / step) * sizeof(*x));
	if (hist_reader_open(dir, &r, &e) || hist_reader_get(r, peer, "", from, to, step, x, &damaged, &e))
		fail_msg("%s", e.text);
	hist_reader_close(r);
	return damaged;
}

static uint64_t sent(int64_t from, int64_t to)
{
	struct hist_values x;

	get("p0", from, to, to - from, &x);
	assert_int_equal(x.v[HIST_ARRIVED_DROPPED] == 0, x.v[HIST_SENT] < 3);
	return x.v[HIST_SENT];
}

static uint64_t all(void)
{
	return sent(T0 - 40 * 86400, T0 + 80 * 86400);
}

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
	run(5, 1000);	/* not written */
	die();
	pass(5);
	counter[0] += 5000;	/* nobody looked */
	open_db(BIG);
	begin("era", 1000 * SECOND);
	run(10, 1000);
	flush();
	assert_int_equal(all(), counter[0]);
	get("p0", T0, T0 + 40, 1, x);	/* evenly: no second has more than passed in one */
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
	tend();	/* folds pieces of any length */
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
	counter[0] = 0;	/* a boot */
	now.boot_ns = 20 * SECOND;
	open_db(BIG);
	begin("era 2", 15 * SECOND);
	counter[0] = 700;
	look();
	run(15, 1000);
	flush();
	assert_int_equal(all(), before + counter[0]);
	die();	/* and back to maps of which nothing is known any more */
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
	run(3, 10);	/* others count first */
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
	counter[0] -= 300;	/* two counters read a moment apart */
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
	counter[0] = 123456789;	/* since long ago */
	now.boot_ns = 10 * 3600 * SECOND;
	open_db(BIG);
	begin("era", SECOND);
	run(5, 1000);
	run(20, 1000);
	flush();
	assert_int_equal(all(), 24000);	/* the first look only says where they are */
	die();
	remove_files();
	counter[0] = 5000;	/* maps of a moment ago: all of it */
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
	run(1799, 1000);	/* the last second of the hour */
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
	get("p0", T0 + 60, T0 + 120, 1, x);	/* spread, exactly in sum */
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

static int64_t file_bytes(void)
{
	char path[100];
	struct stat st;

	snprintf(path, sizeof(path), "%s/" HIST_FILE, dir);
	return stat(path, &st) ? -1 : st.st_size;
}

static void the_file_stays_within_its_bound_and_the_newest_stays(void **state)
{
	const int64_t bound = 512 << 10;
	struct hist_values x;
	unsigned hour, s, i;

	(void)state;
	die();
	remove_files();
	open_db((uint64_t)bound);
	begin("era", now.boot_ns);
	for (hour = 0; hour < 100; hour++) {
		for (s = 0; s < 20; s++) {
			pass(180);
			for (i = 0; i < 60; i++)
				counter[i] += 3000000 + 7919 * i * s;
			look_many(60);
		}
		assert_in_range(file_bytes(), 0, bound * 5 / 4);
	}
	flush();
	tend();
	get("p7", now.wall_s - 3600, now.wall_s, 3600, &x);
	assert_true(x.v[HIST_SENT] > 3000000);
	get("p7", T0, T0 + 3600, 3600, &x);
	assert_int_equal(x.v[HIST_SENT], 0);	/* the oldest went */
	die();
	open_db((uint64_t)bound / 2);	/* a smaller bound holds from then on */
	begin("era", 0);
	tend();
	tend();
	hist_recorder_free(rec);
	hist_db_close(db);
	rec = NULL;
	db = NULL;
	assert_in_range(file_bytes(), 0, bound * 3 / 4);
}

static void seconds_give_way_before_minutes_do(void **state)
{
	const int64_t bound = 2 << 20;
	struct hist_values x[60];
	unsigned s, i;

	(void)state;
	die();
	remove_files();
	open_db((uint64_t)bound);
	begin("era", now.boot_ns);
	for (s = 0; s < 1200; s++) {
		pass(1);
		for (i = 0; i < 300; i++)
			counter[i] += 1000000 + i;
		look_many(300);
	}
	flush();
	tend();
	get("p7", T0, T0 + 1200, 1200, x);
	assert_int_equal(x[0].v[HIST_SENT], counter[7]);	/* all of it is there still */
	get("p7", now.wall_s - 60, now.wall_s, 1, x);
	for (i = 0; i < 60; i++)
		assert_int_equal(x[i].v[HIST_SENT], 1000007);
	assert_in_range(file_bytes(), 0, bound);
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
	assert_int_equal(hist_reader_get(r, "nobody", "", T0, T0 + 60, 60, &x, &damaged, &e), -ENOENT);
	hist_reader_close(r);
	run(20, 1000);	/* and known again when it comes back */
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

static void a_reader_and_the_writer_do_not_wait_for_each_other(void **state)
{
	struct bwl_err e = { 0 };
	struct hist_reader *r;
	struct hist_values x;
	unsigned damaged;

	(void)state;
	run(20, 1000);
	flush();
	assert_int_equal(hist_reader_open(dir, &r, &e), 0);
	run(20, 1000);
	flush();
	memset(&x, 0, sizeof(x));
	assert_int_equal(hist_reader_get(r, "p0", "", T0, T0 + 60, 60, &x, &damaged, &e), 0);
	assert_int_equal(x.v[HIST_SENT], 20000);	/* one moment */
	hist_reader_close(r);
	assert_int_equal(all(), 40000);
}

/* Whatever is turned over in the file: set aside, or read; the next history is whole. */
static void a_damaged_file_is_set_aside(void **state)
{
	char path[100], bad[110];
	unsigned turn, asides = 0;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/" HIST_FILE, dir);
	snprintf(bad, sizeof(bad), "%s.bad", path);
	for (turn = 0; turn < 40; turn++) {
		struct bwl_err e = { 0 };
		bool aside, renamed;
		int r;

		run(3, 1000);
		flush();
		die();
		fd = open(path, O_RDWR);
		assert_true(fd >= 0);
		if (turn % 4 == 3)
			assert_int_equal(ftruncate(fd, 5000 + 977 * turn), 0);
		else
			assert_int_equal(pwrite(fd, "\377\1\376\2harmed", 10, turn * 1709 % 40000), 10);
		close(fd);
		if (hist_db_open(dir, BIG, &db, &aside, &e))
			fail_msg("%s", e.text);
		r = hist_recorder_new(db, "era", 0, now, &rec, &e);
		if (!r) {	/* damage that lies deeper is met later */
			pass(1);
			counter[0] += 1000;
			if (hist_recorder_look(rec, now))
				r = hist_recorder_count(rec, 0, "p0", "", &(struct hist_values){ { counter[0] } });
			if (!r)
				r = hist_recorder_flush(rec, false, &e);
			if (!r)
				r = hist_db_tend(db, now.wall_s + 7200, &renamed, &e);
		}
		assert_true(!r || r == -EUCLEAN);
		asides += aside || r;
		die();
		unlink(bad);
		remove_files();
		open_db(BIG);
		begin("era", now.boot_ns);
		counter[0] = 0;
	}
	assert_true(asides > 5);
}

static void garbage_is_set_aside_and_said(void **state)
{
	char path[100];
	FILE *f;

	(void)state;
	die();
	remove_files();
	snprintf(path, sizeof(path), "%s/" HIST_FILE, dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("this is no database, and long enough not to look like an empty one", f);
	fclose(f);
	assert_true(open_db(BIG));
	snprintf(path, sizeof(path), "%s/" HIST_FILE ".bad", dir);
	assert_int_equal(access(path, F_OK), 0);
	begin("era", now.boot_ns);
	run(3, 10);
	flush();
	assert_int_equal(all(), 30);
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
		T(the_file_stays_within_its_bound_and_the_newest_stays),
		T(seconds_give_way_before_minutes_do),
		T(a_name_that_is_gone_a_month_is_forgotten),
		T(a_name_that_changes_has_what_passed_under_it),
		T(a_reader_and_the_writer_do_not_wait_for_each_other),
		T(a_damaged_file_is_set_aside),
		T(garbage_is_set_aside_and_said),
	};

	return cmocka_run_group_tests_name("history", tests, set_up, tear_down);
}
