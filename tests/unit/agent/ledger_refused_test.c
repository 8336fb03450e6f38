// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each call of the ledger to the disk, to SQLite or for memory is refused once, one in each run.
 * What was acknowledged is there afterwards, and a ledger that cannot be read now is not taken for
 * a damaged one.
 */
#include "../files.h"
#include "../refuse.h"
#include <stdio.h>
#include <stdlib.h>
#include <sqlite3.h>
#include "agent/ledger/ledger.h"
#include "agent/ledger/seq.h"

#define ROWS 200
#define STAYS 40 /* so few that the ledger gives memory back */

/* clang-format off */
WRAPPED(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size), NULL)
WRAPPED(void *, calloc, (size_t n, size_t size), (n, size), NULL)
WRAPPED(ssize_t, pread, (int fd, void *buf, size_t n, off_t at), (fd, buf, n, at), -1)
WRAPPED(int, rename, (const char *from, const char *to), (from, to), -1)
WRAPPED(int, sqlite3_prepare_v2,
	(sqlite3 *db, const char *sql, int n, sqlite3_stmt **s, const char **tail),
	(db, sql, n, s, tail), SQLITE_NOMEM)
WRAPPED(int, sqlite3_step, (sqlite3_stmt *s), (s), SQLITE_IOERR)
WRAPPED(int, sqlite3_exec,
	(sqlite3 *db, const char *sql, sqlite3_callback fn, void *arg, char **e),
	(db, sql, fn, arg, e), SQLITE_IOERR)
/* clang-format on */

int __real_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs)
{
	if (!refuses("sqlite3_open_v2"))
		return __real_sqlite3_open_v2(path, db, flags, vfs);
	*db = NULL; /* as without memory */
	return SQLITE_NOMEM;
}

static char dir[] = "/tmp/bwl-refused-XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	test_remove(dir, "ledger");
	return rmdir(dir);
}

static void put_all(struct ledger *l, uint64_t spent)
{
	for (int i = 0; i < ROWS; i++) {
		struct ledger_row r = { .era = "era", .spent = spent };

		snprintf(r.key, sizeof(r.key), "p%d", i);
		if (ledger_put(l, &r)) {
			assert_non_null(refused);
			assert_int_equal(ledger_put(l, &r), 0);
		}
	}
}

static void drop_most(struct ledger *l)
{
	char key[16];

	for (int i = STAYS; i < ROWS; i++) {
		snprintf(key, sizeof(key), "p%d", i);
		if (ledger_drop(l, key)) {
			assert_non_null(refused);
			assert_int_equal(ledger_drop(l, key), 0);
		}
	}
}

/* A commit that fails says so, and the next one writes what it did not. */
static void commit(struct ledger *l)
{
	struct bwl_err e = { 0 };

	if (!ledger_commit(l, &e))
		return;
	assert_non_null(refused);
	assert_true(e.text[0]);
	assert_int_equal(ledger_commit(l, &e), 0);
}

static struct ledger *open_it(enum ledger_how want)
{
	struct bwl_err e = { 0 };
	struct ledger *l = NULL;
	enum ledger_how how;

	if (ledger_open(dir, &l, &how, &e))
		fail_msg("after %s: %s", refused ? refused : "nothing", e.text);
	if (how != want)
		fail_msg("after %s: %d, not %d", refused ? refused : "nothing", (int)how,
			 (int)want);
	return l;
}

static void has(const struct ledger *l, int rows, uint64_t spent)
{
	char key[16];
	int at;

	assert_int_equal(ledger_count(l), rows);
	for (int i = 0; i < rows; i++) {
		snprintf(key, sizeof(key), "p%d", i);
		at = ledger_find(l, key);
		assert_true(at >= 0);
		assert_int_equal(ledger_at(l, at)->spent, spent);
	}
}

/* What the calls do, with the nth refused: false if there are not so many. */
static bool writes(unsigned nth)
{
	struct ledger *l;
	bool done;

	test_remove(dir, "ledger");
	l = open_it(LEDGER_BEGUN);
	refuse(nth);
	put_all(l, 5);
	commit(l);
	has(l, ROWS, 5);
	drop_most(l);
	commit(l);
	has(l, STAYS, 5);
	ledger_close(l);
	done = all_were_refused();
	l = open_it(LEDGER_FOUND);
	has(l, STAYS, 5);
	ledger_close(l);
	return !done;
}

static void what_cannot_be_written_is_said_and_written_again(void **state)
{
	unsigned n = 0;

	(void)state;
	syncs = 0;
	while (writes(n + 1))
		n++;
	assert_true(n > ROWS);
	assert_int_equal(syncs, 2); /* one for each commit, of its number */
}

static bool reads(unsigned nth)
{
	struct bwl_err e = { 0 };
	struct ledger *l;
	enum ledger_how how;
	bool done;

	refuse(nth);
	if (ledger_open(dir, &l, &how, &e))
		assert_true(refused && e.text[0]);
	else if (how == LEDGER_FOUND)
		ledger_close(l);
	else
		fail_msg("after %s: set aside: %s", refused, e.text);
	done = all_were_refused();
	l = open_it(LEDGER_FOUND);
	has(l, ROWS, 5);
	ledger_close(l);
	return !done;
}

static void what_cannot_be_read_now_is_not_taken_for_damaged(void **state)
{
	unsigned n = 0;
	struct ledger *l;

	(void)state;
	test_remove(dir, "ledger");
	l = open_it(LEDGER_BEGUN);
	put_all(l, 5);
	commit(l);
	ledger_close(l);
	while (reads(n + 1))
		n++;
	assert_true(n > ROWS);
	refuse(1);
	assert_int_equal(ledger_seq_read(dir), 0); /* unknown */
	refuse(2);
	assert_int_equal(ledger_seq_read(dir), 0);
	assert_int_equal(ledger_seq_read(dir), 2);
}

/* From nothing, or from half of a ledger, which is set aside. */
static bool begins(unsigned nth, bool half)
{
	struct bwl_err e = { 0 };
	struct ledger *l;
	enum ledger_how how;
	char path[64];
	bool done;

	test_remove(dir, "ledger");
	if (half) {
		ledger_close(open_it(LEDGER_BEGUN));
		snprintf(path, sizeof(path), "%s/ledger.seq", dir);
		assert_int_equal(unlink(path), 0);
	}
	refuse(nth);
	if (!ledger_open(dir, &l, &how, &e))
		ledger_close(l);
	else
		assert_true(refused && e.text[0]);
	done = all_were_refused();
	/* The half that it may have made before is no ledger: that is said, and not taken for one
	 * that was always empty. */
	if (ledger_open(dir, &l, &how, &e))
		fail_msg("%s", e.text);
	assert_int_equal(ledger_count(l), 0);
	ledger_close(l);
	return !done;
}

static void what_cannot_begin_begins_later(void **state)
{
	(void)state;
	for (int half = 0; half < 2; half++) {
		unsigned n = 0;

		syncs = 0;
		while (begins(n + 1, half))
			n++;
		assert_int_equal(syncs, 3); /* of the number's file, its folder, and the commit */
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_written_is_said_and_written_again),
		cmocka_unit_test(what_cannot_be_read_now_is_not_taken_for_damaged),
		cmocka_unit_test(what_cannot_begin_begins_later),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
