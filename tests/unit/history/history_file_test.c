// SPDX-License-Identifier: GPL-2.0-or-later
/* The history's file: its size limit, its readers, and damage. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "rig.h"

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
	assert_int_equal(x.v[HIST_SENT], 0); /* the oldest was deleted */
	die();
	open_db((uint64_t)bound / 2); /* a smaller limit applies from now on */
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
	assert_int_equal(x[0].v[HIST_SENT], counter[7]); /* all of it is still there */
	get("p7", now.wall_s - 60, now.wall_s, 1, x);
	for (i = 0; i < 60; i++)
		assert_int_equal(x[i].v[HIST_SENT], 1000007);
	assert_in_range(file_bytes(), 0, bound);
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
	assert_int_equal(x.v[HIST_SENT], 20000); /* one consistent moment */
	hist_reader_close(r);
	assert_int_equal(all(), 40000);
}

/* A file with any damage is set aside or read, and the next history is complete. */
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
			assert_int_equal(pwrite(fd, "\377\1\376\2harmed", 10, turn * 1709 % 40000),
					 10);
		close(fd);
		if (hist_db_open(dir, BIG, &db, &aside, &e))
			fail_msg("%s", e.text);
		r = hist_recorder_new(db, "era", 0, now, &rec, &e);
		if (!r) { /* deeper damage is found later */
			pass(1);
			counter[0] += 1000;
			if (hist_recorder_look(rec, now))
				r = hist_recorder_count(rec, 0, "p0", "",
							&(struct hist_values){ { counter[0] } });
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

/* As many locks as SQLite's, of a process that only reads. It keeps them while it lives. */
static pid_t locked_by_a_reader(const char *path)
{
	struct flock all = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int ready[2], fd = open(path, O_RDONLY | O_CLOEXEC);
	char c = 0;
	pid_t pid;

	assert_true(fd >= 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!fcntl(fd, F_SETLK, &all) && write(ready[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(fd);
	return pid;
}

/* The file, its log and its index, as 0.3.0 leaves them when it is killed. */
static void a_history_that_readers_may_have_open_is_copied(void **state)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char path[3][100], copy[3][120];
	pid_t reader[3];
	struct stat st;
	ino_t was;

	(void)state;
	run(20, 1000);
	flush();
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/" HIST_FILE "%s", dir, ends[i]);
		snprintf(copy[i], sizeof(copy[i]), "%s/" HIST_FILE "%s.old", dir, ends[i]);
		assert_int_equal(stat(path[i], &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		assert_int_equal(link(path[i], copy[i]), 0);
	}
	die(); /* SQLite empties and removes the log; the links keep it as it was */
	for (unsigned i = 0; i < 3; i++) {
		unlink(path[i]);
		assert_int_equal(rename(copy[i], path[i]), 0);
		assert_int_equal(chmod(path[i], 0640), 0);
		reader[i] = locked_by_a_reader(path[i]);
	}
	assert_int_equal(stat(path[0], &st), 0);
	was = st.st_ino;
	assert_false(open_db(BIG));
	begin("era", now.boot_ns);
	run(20, 1000);
	flush();
	assert_int_equal(all(), 40000);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(stat(path[i], &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		assert_int_not_equal(st.st_ino, was);
		kill(reader[i], SIGKILL);
		assert_int_equal(waitpid(reader[i], NULL, 0), reader[i]);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin_test, end_test)
	const struct CMUnitTest tests[] = {
		T(the_file_stays_within_its_bound_and_the_newest_stays),
		T(seconds_give_way_before_minutes_do),
		T(a_reader_and_the_writer_do_not_wait_for_each_other),
		T(a_damaged_file_is_set_aside),
		T(garbage_is_set_aside_and_said),
		T(a_history_that_readers_may_have_open_is_copied),
	};

	return cmocka_run_group_tests_name("history file", tests, set_up, tear_down);
}
