// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files for a group: who may gives them, who may not keeps them and goes on. Each case runs in a
 * child with an /etc/group of its own, mounted over this machine's, in which bwlimit-read is GID.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bwl/err.h"
#include "bwl/for_readers.h"
#include "bwl/group.h"
#include "flows/list.h"
#include "flows/store.h"
#include "history/db.h"
#include "test.h"

#define GID 64102
#define NOBODY 65534
#define WARNING                                                                                    \
	": only its owner can open it; start this program as a member (SupplementaryGroups=bwlimit-read, "

static char dir[64];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/bwl-group-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char cmd[80];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return system(cmd);
}

static const char *at(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* stderr goes to a file from here on, to be counted. */
static bool enter(bool with_group, uid_t uid, const gid_t *groups, size_t ngroups)
{
	char line[64];
	int fd = open(at("group"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int err = open(at("err"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	snprintf(line, sizeof(line), "root:x:0:\n%s", with_group ? "bwlimit-read:x:64102:\n" : "");
	return fd >= 0 && err >= 0 && dup2(err, STDERR_FILENO) >= 0 &&
	       write(fd, line, strlen(line)) == (ssize_t)strlen(line) && !fchmod(fd, 0644) &&
	       !close(fd) && !unshare(CLONE_NEWNS) &&
	       !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount(at("group"), "/etc/group", NULL, MS_BIND, NULL) &&
	       !chown(dir, uid, (gid_t)-1) && !setgroups(ngroups, groups) &&
	       !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid);
}

static bool is(const char *name, mode_t mode, gid_t gid)
{
	struct stat st;

	return !stat(at(name), &st) && (st.st_mode & 0777) == mode && st.st_gid == gid;
}

/* Everything that is written for readers, twice. */
static bool writes_all(void)
{
	static char record[] =
		"{\"version\":1,\"kind\":\"flow-interval\",\"boot\":\"b007\",\"tables\":77,\"interval\":1,\"final\":false}\n";
	struct flows_id id = { "b007", 77, 1, false };
	struct flows_store *s = NULL;
	struct hist_db *h = NULL;
	struct bwl_err e = { 0 };
	bool aside, good = !bwl_for_readers_put(at("told"), "one", &e) &&
			   !bwl_for_readers_put(at("told"), "two", &e) &&
			   !flows_store_open(dir, 1 << 20, &s, &e) &&
			   !flows_store_put(s, &id, record, sizeof(record) - 1, &e) &&
			   !hist_db_open(dir, 1 << 20, &h, &aside, &e);

	if (*e.text)
		fprintf(stderr, "%s\n", e.text);
	if (s)
		flows_store_close(s);
	if (h)
		hist_db_close(h);
	return good;
}

static bool have(mode_t file, mode_t folder, gid_t gid)
{
	char name[FLOWS_NAME], path[FLOWS_NAME + 8];
	uint64_t *all = NULL;
	struct bwl_err e;
	size_t n = 0;

	if (flows_store_list(at(FLOWS_DIR), &all, &n, &e) || n != 1)
		return false;
	snprintf(path, sizeof(path), "flows/%s", flows_store_name(all[0], name));
	free(all);
	return is("told", file, gid) && is(HIST_FILE, 0600, getegid()) &&
	       is("flows", folder, gid) && is(path, file, gid);
}

/* In a child, because it cannot become root again. */
static void run(bool with_group, uid_t uid, const gid_t *groups, size_t ngroups, mode_t file,
		mode_t folder, gid_t gid, unsigned warnings)
{
	char line[512];
	unsigned said = 0;
	int status;
	pid_t pid;
	FILE *f;

	if (geteuid())
		skip(); /* mounts */
	pid = fork();
	if (!pid) {
		if (!enter(with_group, uid, groups, ngroups))
			_exit(2);
		if (!writes_all())
			_exit(3);
		_exit(have(file, folder, gid) ? 0 : 4);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	f = fopen(at("err"), "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		print_message("# %s", line);
		said += !!strstr(line, WARNING);
	}
	fclose(f);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(said, warnings);
}

static void root_gives_it(void **state)
{
	(void)state;
	run(true, 0, NULL, 0, 0640, 0750, GID, 0);
}

static void a_member_gives_it(void **state)
{
	const gid_t of[] = { GID };

	(void)state;
	run(true, NOBODY, of, 1, 0640, 0750, GID, 0);
}

static void another_keeps_it_and_says_so_once(void **state)
{
	(void)state;
	run(true, NOBODY, NULL, 0, 0600, 0700, NOBODY, 1);
}

static void without_the_group_all_is_the_owners(void **state)
{
	(void)state;
	run(false, 0, NULL, 0, 0600, 0700, 0, 0);
}

static void another_owner_as_well(void **state)
{
	(void)state;
	run(false, NOBODY, NULL, 0, 0600, 0700, NOBODY, 0);
}

/* In a user namespace in which no group is mapped. */
static void where_it_is_not_mapped_it_is_kept_as_well(void **state)
{
	char said[512] = "";
	int status;
	pid_t pid;
	FILE *f;

	(void)state;
	if (geteuid())
		skip();
	pid = fork();
	if (!pid) {
		if (!enter(true, NOBODY, NULL, 0))
			_exit(2);
		if (unshare(CLONE_NEWUSER))
			_exit(77);
		_exit(writes_all() && have(0600, 0700, NOBODY) ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* this kernel has none for users */
	assert_int_equal(WEXITSTATUS(status), 0);
	f = fopen(at("err"), "re");
	assert_non_null(f);
	assert_non_null(fgets(said, sizeof(said), f));
	assert_non_null(strstr(said, "told.new to group bwlimit-read (Invalid argument)"));
	assert_null(fgets(said, sizeof(said), f));
	fclose(f);
}

/* As a pin, whose group is known only by its number. Group 0 is nobody's. */
static void a_path_is_not_kept(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid())
		skip();
	pid = fork();
	if (!pid) {
		if (!enter(true, NOBODY, NULL, 0) || mkdir(at("own"), 0700))
			_exit(2);
		if (bwl_group_give_path(at("own"), GID, 0710) != -EPERM || !is("own", 0700, NOBODY))
			_exit(3);
		if (bwl_group_give_path(at("own"), NOBODY, 0710) || !is("own", 0710, NOBODY))
			_exit(4);
		_exit(bwl_group_give_path(at("none"), NOBODY, 0710) == -ENOENT ? 0 : 5);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(root_gives_it),
		CASE(a_member_gives_it),
		CASE(another_keeps_it_and_says_so_once),
		CASE(without_the_group_all_is_the_owners),
		CASE(another_owner_as_well),
		CASE(where_it_is_not_mapped_it_is_kept_as_well),
		CASE(a_path_is_not_kept),
	};

	return cmocka_run_group_tests_name("files for a group", tests, NULL, NULL);
}
