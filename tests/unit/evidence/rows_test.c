// SPDX-License-Identifier: GPL-2.0-or-later
/* The root over one hour of the history changes with every row. */
#include "../test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "evidence/interval.h"
#include "evidence/rows.h"
#include "history/db.h"

#define HOUR 500000 /* hours since 1970 */

static char dir[100];
static struct hist_db *db;
static int64_t series;

static int begin(void **state)
{
	bool aside;
	struct bwl_err e = { 0 };

	(void)state;
	strcpy(dir, "/tmp/evidence-rows-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(hist_db_open(dir, 64 << 20, &db, &aside, &e), 0);
	return 0;
}

static int end(void **state)
{
	char command[200];

	(void)state;
	hist_db_close(db);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

/* Writes a block of seconds that begins at start_s. */
static void put(const char *peer, int64_t start_s, const char *points)
{
	const struct hist_state now = { .era = "x", .wall_s = start_s };
	struct bwl_err e = { 0 };

	assert_int_equal(hist_db_begin(db, &e), 0);
	assert_int_equal(hist_db_series(db, peer, "", &series, &e), 0);
	assert_int_equal(hist_db_add(db, series, start_s, points, strlen(points), &e), 0);
	assert_int_equal(hist_db_commit(db, &now, &e), 0);
}

static void add_row(const struct hist_row *row, void *arg)
{
	ev_rows_add(arg, &(struct ev_row){ row->peer, row->class_, (uint64_t)row->start_s,
					   (uint64_t)row->part, row->points, row->len });
}

static uint32_t root(struct bwl_hash *ret, uint8_t key)
{
	struct ev_rows rows = { .key = { key }, .seconds = true, .hour = HOUR };
	struct bwl_err e = { 0 };
	uint32_t slots;

	assert_int_equal(hist_db_rows(db, true, HOUR, add_row, &rows, &e), 0);
	assert_true(ev_rows_root(&rows, ret, &slots));
	return slots;
}

static void an_hour_has_one_root(void **state)
{
	struct bwl_hash idle, first, again, more;

	(void)state;
	assert_int_equal(root(&idle, 1), EV_SLOTS_MIN); /* also without traffic */
	put("a", HOUR * 3600LL + 5, "xyz");
	put("b", HOUR * 3600LL + 7, "uvw");
	assert_int_equal(root(&first, 1), EV_SLOTS_MIN);
	assert_false(bwl_hash_equal(&idle, &first));
	root(&again, 1);
	assert_true(bwl_hash_equal(&again, &first));
	root(&again, 2); /* another key gives another root */
	assert_false(bwl_hash_equal(&again, &first));
	put("a", (HOUR + 1) * 3600LL, "of the next hour");
	put("a", HOUR * 3600LL - 1, "of the one before");
	root(&again, 1);
	assert_true(bwl_hash_equal(&again, &first));
	for (int i = 0; i < 20; i++)
		put("c", HOUR * 3600LL + 20 * i, "p");
	assert_int_equal(root(&more, 1), 32);
	assert_false(bwl_hash_equal(&more, &first));
}

static struct bwl_hash root_of(const char *peer, const char *class_, uint64_t start, uint64_t part,
			       const char *points)
{
	struct ev_rows rows = { .key = { 1 } };
	struct bwl_hash ret;
	uint32_t slots;

	ev_rows_add(&rows, &(struct ev_row){ peer, class_, start, part, points, strlen(points) });
	assert_true(ev_rows_root(&rows, &ret, &slots));
	return ret;
}

static void every_field_of_a_row_is_in_it(void **state)
{
	const struct bwl_hash all[] = {
		root_of("ab", "c", 1, 0, "x"), root_of("a", "bc", 1, 0, "x"),
		root_of("ab", "c", 2, 0, "x"), root_of("ab", "c", 1, 1, "x"),
		root_of("ab", "c", 1, 0, "y"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (size_t k = 0; k < i; k++)
			assert_false(bwl_hash_equal(&all[i], &all[k]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_hour_has_one_root, begin, end),
		cmocka_unit_test(every_field_of_a_row_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
