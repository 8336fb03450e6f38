// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each call of the journal to the disk is refused once, one in each run. What was acknowledged is
 * there afterwards, nothing opens that was not asked for, and the next writer repairs what the
 * refused one left.
 */
#include "../refuse.h"
#include "rig.h"
#include <sys/file.h>
#include <sys/stat.h>

/* clang-format off */
WRAPPED(int, flock, (int fd, int how), (fd, how), -1)
WRAPPED(int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n), -1)
WRAPPED(int, ftruncate, (int fd, off_t n), (fd, n), -1)
WRAPPED(int, renameat, (int d, const char *from, int d2, const char *to), (d, from, d2, to), -1)
WRAPPED(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
WRAPPED(int, fstat, (int fd, struct stat *st), (fd, st), -1)
WRAPPED(ssize_t, read, (int fd, void *buf, size_t n), (fd, buf, n), -1)
WRAPPED(ssize_t, write, (int fd, const void *buf, size_t n), (fd, buf, n), -1)
WRAPPED(void *, malloc, (size_t n), (n), NULL)
/* clang-format on */

int __real_openat(int at, const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return refuses("openat") ? -1 : __real_openat(at, path, flags, mode);
}

#define CLOSES 40 /* more than fit: it is shortened */

/* A journal in which "a" is closed, and "b" was and is open again. */
static void fresh(void)
{
	enum bwl_journal_state was;

	teardown(NULL);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	assert_int_equal(write_rec(BWL_J_CLOSE, "a", "10.1.0.0/16", NULL), 0);
	assert_int_equal(write_rec(BWL_J_CLOSE, "b", "10.2.0.0/16", NULL), 0);
	assert_int_equal(write_rec(BWL_J_OPEN, "b", "10.2.0.0/16", NULL), 0);
}

/* What a refused writer left: "a" is closed, and the next record is written. */
static void judge(bool acknowledged)
{
	struct bwl_journal j;
	const char *now;

	bwl_journal_look(dir, &j);
	if (j.state != BWL_JOURNAL_OK)
		fail_msg("after %s was refused: %s", refused, j.why);
	bwl_journal_free(&j);
	now = closed_now();
	if (!strchr(now, 'a') || (acknowledged && !strchr(now, 'b')))
		fail_msg("after %s was refused %s is closed", refused, now);
	assert_int_equal(write_rec(BWL_J_CLOSE, "b", "10.2.0.0/16", NULL), 0);
	assert_string_equal(closed_now(), "ab");
}

static void what_is_acknowledged_is_there(void **state)
{
	unsigned n = 0;
	bool done = false;
	int r;

	(void)state;
	syncs = 0;
	while (!done) {
		fresh();
		refuse(++n);
		r = write_rec(BWL_J_CLOSE, "b", "10.2.0.0/16", NULL);
		done = all_were_refused();
		assert_true(r || !refused || !strcmp(refused, "fallocate"));
		if (refused && !strcmp(refused, "fdatasync"))
			assert_string_equal(closed_now(), "a"); /* taken back */
		judge(!r);
	}
	assert_int_equal(syncs, 2); /* of the log, and of its end */
}

/* An opening that fails may have opened, as it was asked to, but nothing else. */
static void a_refused_opening_opens_nothing_else(void **state)
{
	unsigned n = 0;
	bool done = false;
	int r;

	(void)state;
	while (!done) {
		fresh();
		assert_int_equal(write_rec(BWL_J_CLOSE, "b", "10.2.0.0/16", NULL), 0);
		refuse(++n);
		r = write_rec(BWL_J_OPEN, "b", "10.2.0.0/16", NULL);
		done = all_were_refused();
		assert_true(r || refused || !strchr(closed_now(), 'b'));
		judge(false);
	}
	assert_true(n > 9);
}

static void a_journal_that_cannot_be_shortened_stays_whole(void **state)
{
	unsigned n = 0;
	bool done = false;
	int r;

	(void)state;
	syncs = 0;
	while (!done) {
		fresh();
		for (int i = 0; i < CLOSES; i++)
			assert_int_equal(write_rec(i % 2 ? BWL_J_OPEN : BWL_J_CLOSE, "b",
						   "10.2.0.0/16", NULL),
					 0);
		bwl_journal_set_limit(2000);
		refuse(++n);
		r = write_rec(BWL_J_CLOSE, "b", "10.2.0.0/16", NULL);
		done = all_were_refused();
		bwl_journal_set_limit(1 << 20);
		judge(!r);
	}
	assert_int_equal(syncs, 5); /* of the new file and its folder, and of the end again */
}

/* Set aside, it counts as cut for everybody; what a new one is made with is in it. */
static void a_new_one_is_whole_or_none(void **state)
{
	const struct bwl_journal_rec stop = { .kind = BWL_J_STOP };
	enum bwl_journal_state was;
	unsigned n = 0;
	bool done = false;
	int r;

	(void)state;
	while (!done) {
		struct bwl_journal j;
		struct bwl_journal_bound b = { .tag = "a counter", .epoch = 5, .seq = 700 };

		fresh();
		refuse(++n);
		r = bwl_journal_bind(dir, &b) | bwl_journal_set_aside(dir, NULL);
		r |= bwl_journal_make(dir, &stop, 1, &was, NULL);
		done = all_were_refused();
		bwl_journal_look(dir, &j);
		if (!r && !refused)
			assert_true(j.state == BWL_JOURNAL_OK && j.closed.stop && j.seq > 700);
		if (j.state == BWL_JOURNAL_OK && !j.closed.stop)
			assert_true(r); /* the one from before */
		bwl_journal_free(&j);
	}
	assert_true(n > 20);
	teardown(NULL);
	refuse(1);
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), -EIO);
	assert_string_equal(refused, "mkdir");
	assert_int_equal(bwl_journal_make("/nowhere/at/all", NULL, 0, &was, NULL), -ENOENT);
	assert_int_equal(setup(NULL), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_acknowledged_is_there),
		cmocka_unit_test(a_refused_opening_opens_nothing_else),
		cmocka_unit_test(a_journal_that_cannot_be_shortened_stays_whole),
		cmocka_unit_test(a_new_one_is_whole_or_none),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
