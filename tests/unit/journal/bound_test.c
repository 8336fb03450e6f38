// SPDX-License-Identifier: GPL-2.0-or-later
/* A journal is bound to a counter that only rises: an old copy does not fit it. */
#include <errno.h>
#include "rig.h"

static struct bwl_journal_bound bound_now(uint64_t epoch)
{
	struct bwl_journal_bound b = { .tag = "a counter", .epoch = epoch };
	struct bwl_journal j;

	bwl_journal_look(dir, &j);
	b.seq = j.seq;
	memcpy(b.digest, j.digest, sizeof(b.digest));
	bwl_journal_free(&j);
	assert_int_equal(bwl_journal_bind(dir, &b), 0);
	return b;
}

static bool fits_at(uint64_t count)
{
	struct bwl_journal_bound b;
	char why[BWL_JOURNAL_WHY];

	assert_int_equal(bwl_journal_bound_read(dir, &b), 0);
	return bwl_journal_fits(dir, &b, (const uint8_t[BWL_JOURNAL_TAG]){ "a counter" }, count,
				why);
}

static void a_journal_fits_the_counter_that_it_is_bound_to(void **state)
{
	struct bwl_journal_bound b;
	char why[BWL_JOURNAL_WHY];
	uint8_t bytes[300];
	size_t n;

	(void)state;
	assert_int_equal(bwl_journal_bound_read(dir, &b), -ENOENT);
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	b = bound_now(5);
	assert_true(fits_at(5));
	assert_true(fits_at(4)); /* the bound is written before the counter is raised */
	assert_false(fits_at(6));
	assert_false(fits_at(3));
	assert_false(
		bwl_journal_fits(dir, &b, (const uint8_t[BWL_JOURNAL_TAG]){ "another" }, 5, why));
	assert_int_equal(write_rec(BWL_J_OPEN, "a", "10.1.0.0/16", NULL), 0);
	assert_true(fits_at(5));
	n = slurp("bound", bytes, sizeof(bytes));
	bytes[n / 2] ^= 1;
	spill("bound", bytes, n);
	assert_int_equal(bwl_journal_bound_read(dir, &b), -EUCLEAN);
	assert_int_equal(bwl_journal_unbind(dir), 0);
	assert_int_equal(bwl_journal_bound_read(dir, &b), -ENOENT);
	assert_int_equal(bwl_journal_unbind(dir), 0);
}

/* Nor if it has grown since: the counter vouches for another record of that number. */
static void an_old_copy_under_the_present_bound_does_not_fit(void **state)
{
	static uint8_t log[ROOM], end[2048];
	size_t n, nend;

	(void)state;
	n = slurp("log", log, ROOM);
	nend = slurp("end", end, sizeof(end));
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	bound_now(5);
	assert_true(fits_at(5));
	spill("log", log, n);
	spill("end", end, nend);
	assert_false(fits_at(5));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(write_rec(BWL_J_CLOSE, "b", "10.2.0.0/16", NULL), 0);
		assert_false(fits_at(5));
	}
}

static void a_compacted_journal_goes_on_fitting(void **state)
{
	(void)state;
	bwl_journal_set_limit(2000);
	bound_now(5);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(
			write_rec(i % 2 ? BWL_J_OPEN : BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
		assert_true(fits_at(5));
	}
}

static void what_follows_one_that_was_set_aside_is_no_old_copy(void **state)
{
	enum bwl_journal_state was;
	struct bwl_journal_bound b;
	struct bwl_journal j;

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	b = bound_now(5);
	b.seq += 7; /* the bound of a journal that is gone */
	assert_int_equal(bwl_journal_bind(dir, &b), 0);
	assert_int_equal(bwl_journal_set_aside(dir, NULL), 0);
	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	bwl_journal_free(&j);
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	assert_int_equal(was, BWL_JOURNAL_CUT);
	assert_true(fits_at(5));
	assert_int_equal(write_rec(BWL_J_STOP, "", NULL, NULL), 0);
	assert_true(fits_at(5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_journal_fits_the_counter_that_it_is_bound_to),
		T(an_old_copy_under_the_present_bound_does_not_fit),
		T(a_compacted_journal_goes_on_fitting),
		T(what_follows_one_that_was_set_aside_is_no_old_copy),
	};

	return cmocka_run_group_tests_name("journal bound", tests, NULL, NULL);
}
