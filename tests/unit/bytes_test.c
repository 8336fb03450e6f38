// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file that is replaced as a whole: the new bytes are on disk before they have the name, and the
 * name before the caller goes on. Whenever that ends, the file is the old one or the new one.
 */
#include "files.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <bwl/bytes.h>

static char dir[64];
static char calls[8]; /* f: a file's fsync, r: a rename, d: a folder's fsync */
static size_t ncalls;
static size_t kill_at = SIZE_MAX, fail_at = SIZE_MAX; /* the number of a call */

static bool fails(char what)
{
	size_t at = ncalls++;

	assert_true(ncalls < sizeof(calls));
	calls[at] = what;
	if (at == kill_at)
		_exit(9);
	errno = ENOSPC;
	return at == fail_at;
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return fails(S_ISDIR(st.st_mode) ? 'd' : 'f') ? -1 : __real_fsync(fd);
}

int __real_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return fails('r') ? -1 : __real_renameat(from_dir, from, to_dir, to);
}

static int replace(const char *text, struct bwl_err *e)
{
	const struct bwl_bytes part[] = { { text, 1 }, { text + 1, strlen(text) - 1 } };

	memset(calls, 0, sizeof(calls));
	ncalls = 0;
	return bwl_bytes_replace(dir, "file", part, 2, e);
}

static bool is_whole(const char *want)
{
	char path[96], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/file", dir);
	f = fopen(path, "r");
	assert_non_null(f);
	if (!fgets(text, sizeof(text), f))
		*text = '\0';
	fclose(f);
	return !strcmp(text, want);
}

static int set_up(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/bwl-bytes-XXXXXX");
	assert_non_null(mkdtemp(dir));
	kill_at = fail_at = SIZE_MAX;
	assert_int_equal(replace("the old one", &e), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_remove(dir, "file");
	return rmdir(dir);
}

static void the_bytes_are_on_disk_before_they_have_the_name(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	assert_int_equal(replace("the new one", &e), 0);
	assert_string_equal(calls, "frd");
	assert_true(is_whole("the new one"));
	assert_int_equal(test_remove(dir, ".file.new"), 0);
}

static void killed_before_any_of_it_the_file_is_the_old_or_the_new_one(void **state)
{
	struct bwl_err e = { 0 };
	int status;

	(void)state;
	for (kill_at = 0; kill_at < 3; kill_at++) {
		pid_t pid = fork();

		if (!pid)
			_exit(!!replace("the new one", &e));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(WEXITSTATUS(status), 9);
		assert_true(is_whole(kill_at < 2 ? "the old one" : "the new one"));
	}
	kill_at = SIZE_MAX;
	assert_int_equal(replace("the third", &e), 0); /* whatever was left lies in nobody's way */
	assert_true(is_whole("the third"));
}

static void what_cannot_be_written_is_said_and_leaves_the_old_one(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	for (fail_at = 0; fail_at < 2; fail_at++) {
		assert_int_equal(replace("the new one", &e), -ENOSPC);
		assert_int_equal(e.code, ENOSPC);
		assert_true(is_whole("the old one"));
	}
	/* It has the name, and might lose it: the caller must not rely on it. */
	assert_int_equal(replace("the new one", &e), -ENOSPC);
	/* With room again it is written as ever. */
	fail_at = SIZE_MAX;
	assert_int_equal(replace("the next one", &e), 0);
	assert_true(is_whole("the next one"));
}

static void what_was_not_synced_does_not_fill_up_the_disk(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	fail_at = 0;
	assert_int_equal(replace("the new one", &e), -ENOSPC);
	assert_int_equal(test_remove(dir, ".file.new"), 0);
}

/* Whatever the umask is. */
static void it_has_the_mode_that_was_asked_for(void **state)
{
	static const struct bwl_replace how[] = { { 0 }, { .mode = 0644 }, { .mode = 0600 } };
	struct bwl_err e = { 0 };
	mode_t was = umask(0077);
	char path[96];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/file", dir);
	for (size_t i = 0; i < sizeof(how) / sizeof(*how); i++) {
		ncalls = 0;
		assert_int_equal(bwl_bytes_replace_path(path, &how[i], "text", 4, &e), 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, how[i].mode ? how[i].mode : 0600);
		assert_true(is_whole("text"));
	}
	umask(was);
}

static void what_is_of_no_worth_after_a_power_cut_is_not_synced(void **state)
{
	const struct bwl_replace how = { .unsynced = true };
	struct bwl_err e = { 0 };
	char path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/file", dir);
	ncalls = 0;
	memset(calls, 0, sizeof(calls));
	assert_int_equal(bwl_bytes_replace_path(path, &how, "text", 4, &e), 0);
	assert_string_equal(calls, "r");
	assert_true(is_whole("text"));
}

static void room_behind_its_end_is_not_of_its_length(void **state)
{
	const struct bwl_replace how = { .reserve = 1 << 16 };
	struct bwl_err e = { 0 };
	char path[96];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "%s/file", dir);
	assert_int_equal(bwl_bytes_replace_path(path, &how, "text", 4, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_true(st.st_blocks * 512 >= 1 << 16);
}

/* Another's file, or one that is linked elsewhere, is not written to. */
static void what_was_left_under_the_other_name_is_not_written_to(void **state)
{
	struct bwl_err e = { 0 };
	char left[96], elsewhere[96];
	struct stat st;

	(void)state;
	snprintf(left, sizeof(left), "%s/.file.new", dir);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", dir);
	for (int by_name = 0; by_name < 2; by_name++) {
		close(open(elsewhere, O_WRONLY | O_CREAT | O_TRUNC, 0600));
		assert_int_equal(by_name ? symlink(elsewhere, left) : link(elsewhere, left), 0);
		assert_int_equal(replace("the new one", &e), 0);
		assert_true(is_whole("the new one"));
		assert_int_equal(stat(elsewhere, &st), 0);
		assert_int_equal(st.st_size, 0);
		assert_int_equal(st.st_nlink, 1);
	}
	unlink(elsewhere);
}

static void a_path_names_its_folder_and_an_error_the_file(void **state)
{
	struct bwl_err e = { 0 };
	char name[300], path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/none/file", dir);
	assert_int_equal(bwl_bytes_replace_path(path, NULL, "x", 1, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/none: No such file"));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(bwl_bytes_replace(dir, name, NULL, 0, &e), -ENAMETOOLONG);
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(bwl_bytes_replace_path("file", NULL, "here", 4, &e), 0);
	assert_int_equal(chdir("/"), 0);
	assert_true(is_whole("here"));
}

static void what_was_written_reads_back_and_more_than_is_allowed_does_not(void **state)
{
	struct bwl_err e = { 0 };
	char path[96], *bytes;
	size_t len;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDONLY);
	assert_int_equal(bwl_bytes_read(fd, 11, &bytes, &len, &e), 0);
	assert_int_equal(len, 11);
	assert_string_equal(bytes, "the old one");
	free(bytes);
	assert_int_equal(bwl_bytes_read(fd, 10, &bytes, &len, &e), -EFBIG);
	close(fd);
}

#define T(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_bytes_are_on_disk_before_they_have_the_name),
		T(killed_before_any_of_it_the_file_is_the_old_or_the_new_one),
		T(what_cannot_be_written_is_said_and_leaves_the_old_one),
		T(what_was_not_synced_does_not_fill_up_the_disk),
		T(it_has_the_mode_that_was_asked_for),
		T(what_is_of_no_worth_after_a_power_cut_is_not_synced),
		T(room_behind_its_end_is_not_of_its_length),
		T(what_was_left_under_the_other_name_is_not_written_to),
		T(a_path_names_its_folder_and_an_error_the_file),
		T(what_was_written_reads_back_and_more_than_is_allowed_does_not),
	};

	return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
