// SPDX-License-Identifier: GPL-2.0-or-later
/* The journal's bytes: what truncation, a changed byte or a kill leaves, and how a file begins. */
#include <errno.h>
#include "rig.h"

#define STEPS 60

static void random_step(uint64_t *seed)
{
	static const char *const names[] = { "a", "b", "w" }, *const at[] = { "10.1.0.0/16",
									      "10.2.0.0/16",
									      "10.0.0.0/8" };
	unsigned i = test_random(seed) % 3;
	unsigned what = test_random(seed) % 8;

	if (what < 4)
		assert_int_equal(write_rec(BWL_J_CLOSE, names[i], at[i], NULL), 0);
	else if (what < 6)
		assert_int_equal(write_rec(BWL_J_OPEN, names[i], at[i], NULL), 0);
	else
		assert_int_equal(write_rec(what == 6 ? BWL_J_STOP : BWL_J_START, "", NULL, NULL),
				 0);
}

/* Returns bits: 0 to 2 for a, b and w; 3 for stopped. */
static unsigned closures(const uint8_t *log, size_t n, const uint8_t *end, size_t nend,
			 enum bwl_journal_state *st)
{
	struct bwl_journal j;
	unsigned bits = 0;

	bwl_journal_parse(log, n, end, nend, &j);
	*st = j.state;
	if (j.state == BWL_JOURNAL_OK) {
		const char *s = closed_by(&j.closed);

		bits = (strchr(s, 'a') != NULL) | (strchr(s, 'b') != NULL) << 1 |
		       (strchr(s, 'w') != NULL) << 2 | (unsigned)j.closed.stop << 3;
	}
	bwl_journal_free(&j);
	return bits;
}

/*
 * A log of any length with the `end` of any step: either what a tool relied on is there, or the
 * journal is cut. Further records never open more than the step that `end` names.
 */
static void no_prefix_of_the_log_is_more_open_than_what_was_acknowledged(void **state)
{
	static uint8_t log[ROOM], end[STEPS + 1][2048];
	size_t nend[STEPS + 1], len[STEPS + 1], n = 0;
	unsigned want[STEPS + 1];
	enum bwl_journal_state st;
	uint64_t seed = 4711;

	(void)state;
	for (unsigned i = 0; i <= STEPS; i++) {
		if (i)
			random_step(&seed);
		n = slurp("log", log, ROOM);
		nend[i] = slurp("end", end[i], 2048);
		len[i] = n;
		want[i] = closures(log, n, end[i], nend[i], &st);
		assert_int_equal(st, BWL_JOURNAL_OK);
	}
	for (unsigned i = 0; i <= STEPS; i++) {
		for (size_t cut = 0; cut <= n; cut += 1 + test_random(&seed) % 23) {
			unsigned got = closures(log, cut, end[i], nend[i], &st);

			if (cut < len[i]) {
				assert_int_equal(st, BWL_JOURNAL_CUT);
				continue;
			}
			assert_int_equal(st, BWL_JOURNAL_OK);
			assert_int_equal(got & want[i], want[i]);
		}
	}
}

static void a_byte_changed_before_the_end_is_found(void **state)
{
	static uint8_t log[ROOM], end[2048];
	enum bwl_journal_state st;
	uint64_t seed = 1;
	size_t n, nend;

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		random_step(&seed);
	n = slurp("log", log, ROOM);
	nend = slurp("end", end, sizeof(end));
	for (size_t i = 0; i < n; i++) {
		log[i] ^= 0x10;
		closures(log, n, end, nend, &st);
		assert_int_equal(st, BWL_JOURNAL_CUT);
		log[i] ^= 0x10;
	}
	memset(end, 0, sizeof(end));
	closures(log, n, end, nend, &st);
	assert_int_equal(st, BWL_JOURNAL_CUT);
}

static void a_torn_record_is_taken_away_by_the_next(void **state)
{
	static uint8_t log[ROOM];
	size_t n;

	(void)state;
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	n = slurp("log", log, ROOM);
	memcpy(log + n, log + 100, 77);
	spill("log", log, n + 77);
	assert_string_equal(closed_now(), "a");
	assert_int_equal(write_rec(BWL_J_CLOSE, "b", "10.2.0.0/16", NULL), 0);
	assert_string_equal(closed_now(), "ab");
}

static void a_revocation_whose_end_is_torn_away_closes_the_name(void **state)
{
	static uint8_t log[ROOM], end[2048];
	size_t before, n, nend;

	(void)state;
	before = slurp("log", log, ROOM);
	nend = slurp("end", end, sizeof(end));
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.9.0.0/16", NULL), 0);
	n = slurp("log", log, ROOM);
	spill("end", end, nend);
	spill("log", log, n - 3);
	assert_string_equal(closed_now(), "a");
	spill("log", log, before + 20);
	assert_string_equal(closed_now(), "");
	/* a grant that was not acknowledged opens nothing */
	spill("log", log, before);
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.9.0.0/16", NULL), 0);
	nend = slurp("end", end, sizeof(end));
	assert_int_equal(write_rec(BWL_J_OPEN, "a", "10.9.0.0/16", NULL), 0);
	spill("end", end, nend);
	assert_string_equal(closed_now(), "aw");
}

static void compaction_loses_nothing_and_ends(void **state)
{
	static uint8_t log[ROOM], old[ROOM], end[2048];
	uint64_t seed = 9, plain_seed = 9;
	char want[8] = "";
	enum bwl_journal_state st, was;
	size_t n, nend;
	unsigned bits;

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		random_step(&plain_seed);
	strcpy(want, closed_now());
	n = slurp("log", old, ROOM);
	nend = slurp("end", end, sizeof(end));
	bits = closures(old, n, end, nend, &st);
	teardown(NULL);
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	bwl_journal_set_limit(4000);
	for (unsigned i = 0; i < 300; i++)
		random_step(&seed);
	assert_string_equal(closed_now(), want);
	assert_true(slurp("log", log, ROOM) < 10000);
	n = slurp("log", log, ROOM);
	nend = slurp("end", end, sizeof(end));
	assert_int_equal(closures(log, n, end, nend, &st), bits);
}

/* Killed after the new file and before `end`, which still names the last record of the old file. */
static void a_compacted_file_goes_on_from_where_end_is(void **state)
{
	static uint8_t log[ROOM], end[2048];
	size_t n, nend;
	uint64_t seed = 3;

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		random_step(&seed);
	nend = slurp("end", end, sizeof(end));
	n = slurp("log", log, ROOM);
	bwl_journal_set_limit(n);
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	assert_true(slurp("log", log, ROOM) < n);
	/* the new file does not continue from an older `end` */
	spill("end", end, nend);
	assert_int_equal(write_rec(BWL_J_STOP, "", NULL, NULL), -EUCLEAN);
}

/*
 * Every state of the disk in between counts as cut: the old files, none, `end` alone, the new
 * files.
 */
static void a_journal_is_begun_with_its_first_closures_or_is_cut(void **state)
{
	static const struct bwl_pfx any[] = { { .family = 4 }, { .family = 6 } };
	static const struct bwl_journal_rec all[] = {
		{ .kind = BWL_J_STOP }, { .kind = BWL_J_CLOSE, .pfx = any, .npfx = 2 }
	};
	static uint8_t log[ROOM], end[2048];
	enum bwl_journal_state was;
	struct bwl_journal j;
	size_t n, nend, i;
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/log", dir);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(bwl_journal_make(dir, all, 2, &was, NULL), 0);
	n = slurp("log", log, ROOM);
	nend = slurp("end", end, sizeof(end));
	for (i = 0; i < n; i++) {
		bwl_journal_parse(log, i, end, nend, &j);
		assert_int_equal(j.state, BWL_JOURNAL_CUT);
		bwl_journal_free(&j);
	}
	bwl_journal_parse(log, n, end, nend, &j);
	assert_int_equal(j.state, BWL_JOURNAL_OK);
	assert_true(j.closed.stop && bwl_closed_pfx_is(&j.closed, &any[0]) &&
		    bwl_closed_pfx_is(&j.closed, &any[1]));
	bwl_journal_free(&j);
}

static void a_missing_or_cut_journal_takes_no_record_until_it_is_begun_anew(void **state)
{
	enum bwl_journal_state was;
	struct bwl_journal j;
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/log", dir);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(write_rec(BWL_J_OPEN, "a", NULL, NULL), -EUCLEAN);
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	assert_int_equal(was, BWL_JOURNAL_CUT);
	assert_int_equal(write_rec(BWL_J_STOP, "", NULL, NULL), 0);
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	assert_int_equal(was, BWL_JOURNAL_OK);
	unlink(path);
	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	snprintf(path, sizeof(path), "%s/end", dir);
	unlink(path);
	/* set aside, then killed: this must not pass for a first installation */
	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	snprintf(path, sizeof(path), "%s/log.bad", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/end.bad", dir);
	unlink(path);
	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_MISSING);
	assert_int_equal(write_rec(BWL_J_OPEN, "a", NULL, NULL), -EUCLEAN);
}

static void who_looked_before_another_wrote_writes_nothing(void **state)
{
	struct bwl_journal_rec r = { .kind = BWL_J_STOP };
	struct bwl_journal j;

	(void)state;
	bwl_journal_look(dir, &j);
	assert_int_equal(write_rec(BWL_J_CLAMP, "", NULL, NULL), 0);
	assert_int_equal(bwl_journal_append(dir, &r, 1, j.seq, NULL), -EAGAIN);
	bwl_journal_free(&j);
	bwl_journal_look(dir, &j);
	assert_false(j.closed.stop);
	assert_int_equal(bwl_journal_append(dir, &r, 1, j.seq, NULL), 0);
	bwl_journal_free(&j);
}

static void a_record_that_could_not_be_read_is_not_written(void **state)
{
	static uint8_t log[ROOM], is[ROOM];
	struct bwl_pfx p = pfx("10.1.0.0/16");
	struct bwl_journal_rec r = { .kind = BWL_J_CLOSE, .pfx = &p, .npfx = 1 }, both[2] = { 0 };
	struct bwl_err e = { 0 };
	size_t n;

	(void)state;
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	n = slurp("log", log, ROOM);
	for (unsigned i = 0; i < 3; i++) {
		p.len = i == 0 ? 33 : 16;
		p.family = i == 1 ? 5 : 4;
		r.kind = i == 2 ? _BWL_J_MAX : BWL_J_CLOSE;
		assert_int_equal(bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, &e), -EBADMSG);
		assert_non_null(strstr(e.text, "stays as it was"));
		assert_int_equal(slurp("log", is, ROOM), n);
		assert_memory_equal(log, is, n);
	}
	both[0].kind = both[1].kind = BWL_J_CLOSE; /* what else the same call closes is written */
	both[0].pfx = &p;
	both[0].npfx = 1;
	p.family = 5;
	strcpy(both[1].name, "b");
	assert_int_equal(bwl_journal_append(dir, both, 2, BWL_JOURNAL_ANY, &e), -EBADMSG);
	assert_string_equal(closed_now(), "ab");
	assert_int_equal(write_rec(BWL_J_STOP, "", NULL, NULL), 0);
	assert_string_equal(closed_now(), "ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(no_prefix_of_the_log_is_more_open_than_what_was_acknowledged),
		T(a_byte_changed_before_the_end_is_found),
		T(a_torn_record_is_taken_away_by_the_next),
		T(a_revocation_whose_end_is_torn_away_closes_the_name),
		T(compaction_loses_nothing_and_ends),
		T(a_compacted_file_goes_on_from_where_end_is),
		T(a_journal_is_begun_with_its_first_closures_or_is_cut),
		T(a_missing_or_cut_journal_takes_no_record_until_it_is_begun_anew),
		T(who_looked_before_another_wrote_writes_nothing),
		T(a_record_that_could_not_be_read_is_not_written),
	};

	return cmocka_run_group_tests_name("journal file", tests, NULL, NULL);
}
