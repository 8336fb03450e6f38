// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ledger's files: what is committed survives a crash, and whatever is cut off or changed in
 * them, no row ever contains less than was committed.
 */
#include "../files.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sqlite3.h>
#include "agent/ledger/ledger.h"

static const char *const files[] = { "ledger.db", "ledger.db-wal", "ledger.seq" };
#define FILES 3
#define ROWS 5

static char dir[64], good[64];
static uint64_t seed = 7;

static uint64_t rnd(void)
{
	return test_random(&seed);
}

static void clear(const char *d)
{
	test_remove(d, "ledger");
}

static int setup(void **state)
{
	const char *base = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

	(void)state;
	snprintf(dir, sizeof(dir), "%s/bwl-ledger-XXXXXX", base);
	snprintf(good, sizeof(good), "%s/bwl-ledger-XXXXXX", base);
	return mkdtemp(dir) && mkdtemp(good) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	clear(dir);
	clear(good);
	rmdir(dir);
	rmdir(good);
	return 0;
}

static struct ledger_row row(int i, uint64_t spent)
{
	struct ledger_row r = { .era = "era",
				.spent = spent,
				.slice_ns = i % 2 ? 1000 : 0,
				.at_ns = 5,
				.slice = { spent / 2, 1 } };

	snprintf(r.key, sizeof(r.key), "peer p%d", i);
	return r;
}

static struct ledger *open_it(const char *d, enum ledger_how want)
{
	struct bwl_err e = { 0 };
	enum ledger_how how;
	struct ledger *l;

	if (ledger_open(d, &l, &how, &e))
		fail_msg("%s", e.text);
	assert_int_equal(how, want);
	return l;
}

static void put(struct ledger *l, int i, uint64_t spent)
{
	struct ledger_row r = row(i, spent);

	assert_int_equal(ledger_put(l, &r), 0);
}

static void commit(struct ledger *l)
{
	struct bwl_err e = { 0 };

	if (ledger_commit(l, &e))
		fail_msg("%s", e.text);
}

static void what_is_committed_reads_back(void **state)
{
	struct ledger *l;
	struct ledger_row want;
	int i;

	(void)state;
	clear(dir);
	l = open_it(dir, LEDGER_BEGUN);
	for (i = 0; i < 300; i++)
		put(l, i, (uint64_t)i << 40);
	put(l, 3, 42); /* the last row of a key counts */
	commit(l);
	put(l, 4, 99); /* not committed */
	ledger_close(l);
	l = open_it(dir, LEDGER_FOUND);
	assert_int_equal(ledger_count(l), 300);
	assert_int_equal(ledger_find(l, "peer p300"), -1);
	for (i = 0; i < 300; i++) {
		want = row(i, i == 3 ? 42 : (uint64_t)i << 40);
		assert_memory_equal(ledger_at(l, ledger_find(l, want.key)), &want, sizeof(want));
	}
	ledger_close(l);
}

/* Half of many, and nothing of them is left: not in memory, nor on disk, nor in the sums. */
static void a_row_that_could_not_be_read_is_not_written(void **state)
{
	struct ledger_row r = row(1, 7);
	struct bwl_err e = { 0 };
	struct ledger *l;

	(void)state;
	clear(dir);
	l = open_it(dir, LEDGER_BEGUN);
	put(l, 0, 5);
	commit(l);
	*r.era = '\0';
	assert_int_equal(ledger_put(l, &r), 0);
	assert_int_equal(ledger_commit(l, &e), -EBADMSG);
	put(l, 2, 9);
	commit(l);
	ledger_close(l);
	l = open_it(dir, LEDGER_FOUND);
	assert_int_equal(ledger_count(l), 2);
	ledger_close(l);
}

static void what_is_dropped_stays_dropped(void **state)
{
	struct ledger *l;
	char key[32];
	int i;

	(void)state;
	clear(dir);
	l = open_it(dir, LEDGER_BEGUN);
	for (i = 0; i < 1000; i++)
		put(l, i, (uint64_t)i);
	commit(l);
	for (i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "peer p%d", i);
		ledger_see(l, ledger_find(l, key), (uint64_t)(i + 1));
		if (i % 4)
			assert_int_equal(ledger_drop(l, key), 0);
	}
	assert_int_equal(ledger_drop(l, "peer p1"), 0); /* twice */
	assert_int_equal(ledger_drop(l, "peer unknown"), 0);
	put(l, 2, 77); /* dropped and put: it is there */
	put(l, 2000, 5);
	assert_int_equal(ledger_count(l), 1000); /* not before the commit */
	commit(l);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(ledger_count(l), 252);
		for (i = 0; i <= 2000; i++) {
			snprintf(key, sizeof(key), "peer p%d", i);
			if ((i < 1000 && i % 4 == 0) || i == 2 || i == 2000)
				assert_int_equal(ledger_at(l, ledger_find(l, key))->spent,
						 i == 2      ? 77
						 : i == 2000 ? 5
							     : i);
			else
				assert_int_equal(ledger_find(l, key), -1);
		}
		if (!again)
			assert_int_equal(ledger_seen(l, ledger_find(l, "peer p996")), 997);
		ledger_close(l);
		l = open_it(dir, LEDGER_FOUND);
	}
	ledger_close(l);
}

static void two_cannot_have_it(void **state)
{
	struct ledger *l, *other;
	struct bwl_err e = { 0 };
	enum ledger_how how;

	(void)state;
	clear(dir);
	l = open_it(dir, LEDGER_BEGUN);
	assert_true(ledger_open(dir, &other, &how, &e) < 0);
	assert_int_equal(e.code, EBUSY);
	ledger_close(l);
}

static size_t slurp(const char *d, const char *name, char **ret)
{
	char path[200];
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", d, name);
	f = fopen(path, "rb");
	if (!f) {
		*ret = NULL;
		return 0;
	}
	assert_int_equal(fstat(fileno(f), &st), 0);
	*ret = malloc((size_t)st.st_size + 1);
	assert_int_equal(fread(*ret, 1, (size_t)st.st_size, f), st.st_size);
	fclose(f);
	return (size_t)st.st_size;
}

static void spill(const char *d, const char *name, const char *data, size_t len)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", d, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

/* A ledger after a crash: the process did not close it, so the write-ahead log is still there. */
static void crashed_ledger(void)
{
	int status, i, n;
	pid_t pid;

	clear(good);
	pid = fork();
	if (!pid) {
		struct ledger *l = open_it(good, LEDGER_BEGUN);

		for (n = 1; n <= 3; n++) {
			for (i = 0; i < ROWS; i++)
				put(l, i, (uint64_t)(1000 * n + i));
			if (ledger_commit(l, NULL))
				_exit(1);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

struct damage {
	char *data[FILES];
	size_t len[FILES];
	int found, set_aside;
};

static void load(struct damage *x)
{
	int i;

	memset(x, 0, sizeof(*x));
	crashed_ledger();
	for (i = 0; i < FILES; i++)
		x->len[i] = slurp(good, files[i], &x->data[i]);
	assert_true(x->len[1]); /* there is a log to truncate */
}

/*
 * Opens the files in dir: all rows must be as committed, or there is none and the ledger says so.
 */
static void judge(struct damage *x, const char *what, unsigned long long at)
{
	struct bwl_err e = { 0 };
	enum ledger_how how;
	struct ledger *l;
	int i, k;

	if (ledger_open(dir, &l, &how, &e))
		fail_msg("%s at %llu: %s", what, at, e.text);
	assert_int_not_equal(how, LEDGER_BEGUN);
	if (how == LEDGER_SET_ASIDE) {
		assert_true(*e.text);
		assert_int_equal(ledger_count(l), 0);
		x->set_aside++;
	} else {
		x->found++;
		for (i = 0; i < ROWS; i++) {
			char key[32];

			snprintf(key, sizeof(key), "peer p%d", i);
			k = ledger_find(l, key);
			if (k < 0 || ledger_at(l, k)->spent < (uint64_t)(3000 + i))
				fail_msg("%s at %llu: %s is %s", what, at, key,
					 k < 0 ? "gone" : "too little");
		}
	}
	ledger_close(l);
}

static void lay_out(const struct damage *x, int file, size_t len)
{
	int i;

	clear(dir);
	for (i = 0; i < FILES; i++)
		spill(dir, files[i], x->data[i], i == file ? len : x->len[i]);
}

static void done(struct damage *x)
{
	int i;

	for (i = 0; i < FILES; i++)
		free(x->data[i]);
	print_message("# %d read back whole, %d set aside\n", x->found, x->set_aside);
}

static void cut_at_every_length_it_never_says_less(void **state)
{
	struct damage x;
	size_t len;
	int f;

	(void)state;
	load(&x);
	for (f = 0; f < FILES; f++)
		for (len = 0; len < x.len[f]; len++) {
			lay_out(&x, f, len);
			judge(&x, files[f], len);
		}
	assert_true(x.set_aside > 1000);
	done(&x);
}

static void a_file_that_is_gone_is_noticed(void **state)
{
	struct damage x;
	char path[200];
	int f;

	(void)state;
	load(&x);
	for (f = 0; f < FILES; f++) {
		lay_out(&x, -1, 0);
		snprintf(path, sizeof(path), "%s/%s", dir, files[f]);
		unlink(path);
		judge(&x, files[f], 0);
	}
	assert_int_equal(x.set_aside, 3);
	done(&x);
}

static void an_old_copy_beside_a_newer_number_is_noticed(void **state)
{
	struct damage x;
	struct ledger *l;
	char *newer;
	size_t len;

	(void)state;
	load(&x);
	lay_out(&x, -1, 0);
	l = open_it(dir, LEDGER_FOUND);
	put(l, 0, 70000);
	commit(l);
	ledger_close(l);
	len = slurp(dir, "ledger.seq", &newer);
	lay_out(&x, -1, 0);
	spill(dir, "ledger.seq", newer, len);
	free(newer);
	judge(&x, "old copy", 0);
	assert_int_equal(x.set_aside, 1);
	done(&x);
}

/* By somebody with sqlite3, whom the database itself believes. */
static void what_is_changed_by_hand_is_noticed(void **state)
{
	static const char *const sql[] = {
		"UPDATE spent SET spent = 0 WHERE key = 'peer p1'",
		"UPDATE spent SET key = '' WHERE key = 'peer p1'",
		"UPDATE spent SET key = 'a' || char(0) || 'b' WHERE key = 'peer p1'",
		"UPDATE spent SET era = printf('%200s', 'x')",
		"UPDATE spent SET slots = x'00'",
		"UPDATE spent SET sum = x'00'",
		"DELETE FROM spent WHERE key = 'peer p1'",
		"DELETE FROM meta",
		"UPDATE meta SET sum = x'00'",
		"UPDATE meta SET version = 2",
	};
	struct ledger *l;
	struct bwl_err e;
	enum ledger_how how;
	char path[100];
	sqlite3 *db;

	(void)state;
	snprintf(path, sizeof(path), "%s/ledger.db", dir);
	for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++) {
		clear(dir);
		l = open_it(dir, LEDGER_BEGUN);
		put(l, 1, 100);
		put(l, 2, 200);
		commit(l);
		ledger_close(l);
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		assert_int_equal(sqlite3_exec(db, sql[i], NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_changes(db) > 0, 1);
		sqlite3_close(db);
		e = (struct bwl_err){ 0 };
		assert_int_equal(ledger_open(dir, &l, &how, &e), 0);
		if (how != LEDGER_SET_ASIDE || !*e.text)
			fail_msg("%s: %d %s", sql[i], (int)how, e.text);
		ledger_close(l);
	}
	clear(dir);
}

static void with_bits_turned_over_it_never_says_less(void **state)
{
	struct damage x;
	int n, f, flips;

	(void)state;
	load(&x);
	for (n = 0; n < 1500; n++) {
		f = (int)(rnd() % FILES);
		lay_out(&x, -1, 0);
		for (flips = 1 + (int)(rnd() % 4); flips; flips--) {
			size_t at = rnd() % x.len[f];

			x.data[f][at] ^= (char)(1 << rnd() % 8);
			spill(dir, files[f], x.data[f], x.len[f]);
			if (flips == 1)
				judge(&x, files[f], at);
		}
		for (f = 0; f < FILES; f++)
			free(x.data[f]);
		for (f = 0; f < FILES; f++)
			x.len[f] = slurp(good, files[f], &x.data[f]);
	}
	assert_true(x.set_aside > 100 && x.found > 100);
	done(&x);
}

/* To a reader, a kill between two system calls looks like a power cut after an fsync. */
static void killed_at_random_it_has_all_that_was_acknowledged(void **state)
{
	uint64_t acked, got;
	int fd[2], round, status;
	pid_t pid;

	(void)state;
	clear(dir);
	for (round = 0; round < 40; round++) {
		assert_int_equal(pipe(fd), 0);
		pid = fork();
		if (!pid) {
			struct ledger *l = NULL;
			enum ledger_how how;
			uint64_t v;

			if (ledger_open(dir, &l, &how, NULL) || how == LEDGER_SET_ASIDE)
				_exit(1);
			v = ledger_find(l, "peer p0") < 0
				    ? 0
				    : ledger_at(l, ledger_find(l, "peer p0"))->spent;
			for (;;) {
				put(l, 0, ++v);
				if (ledger_commit(l, NULL) ||
				    write(fd[1], &v, sizeof(v)) != sizeof(v))
					_exit(2);
			}
		}
		close(fd[1]);
		acked = 0;
		for (uint64_t left = 1 + rnd() % 20; left; left--)
			if (read(fd[0], &got, sizeof(got)) == sizeof(got))
				acked = got;
		kill(pid, SIGKILL);
		while (read(fd[0], &got, sizeof(got)) == sizeof(got))
			acked = got;
		close(fd[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		{
			struct ledger *l = open_it(dir, LEDGER_FOUND);

			assert_true(acked);
			assert_true(ledger_at(l, ledger_find(l, "peer p0"))->spent >= acked);
			ledger_close(l);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_committed_reads_back),
		cmocka_unit_test(a_row_that_could_not_be_read_is_not_written),
		cmocka_unit_test(what_is_dropped_stays_dropped),
		cmocka_unit_test(two_cannot_have_it),
		cmocka_unit_test(a_file_that_is_gone_is_noticed),
		cmocka_unit_test(an_old_copy_beside_a_newer_number_is_noticed),
		cmocka_unit_test(cut_at_every_length_it_never_says_less),
		cmocka_unit_test(what_is_changed_by_hand_is_noticed),
		cmocka_unit_test(with_bits_turned_over_it_never_says_less),
		cmocka_unit_test(killed_at_random_it_has_all_that_was_acknowledged),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
