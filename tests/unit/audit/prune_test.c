// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The log is kept below its size limit: what is removed, in which order, and nothing else if it is
 * killed at any point.
 */
#include <dirent.h>
#include <sys/file.h>
#include "prune_rig.h"

static void above_its_size_a_log_loses_junk_and_nothing_else_and_still_verifies(void **state)
{
	struct bwl_audit_log *l = small_log(60000);
	static struct bwl_checkpoint old[400];
	struct bwl_prover p;
	struct found f;

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		mix(l, i, &old[i]);
	bwl_audit_close(l);
	assert_true(bytes_of(dir) < 60000 + 2 * 6000);
	f = check(dir, old, 200);
	if (f.n)
		fail_msg("%s", f.first.text);
	assert_int_equal(result.first, 0);
	assert_true(result.hashed > 50);
	assert_int_equal(result.pruned, result.hashed);
	for (unsigned i = 0; i < 200; i += 10)
		assert_true(has("operator %u", i));
	assert_false(has("junk %u", 1));
	assert_true(has("junk %u", 199));
	assert_int_equal(bwl_audit_prove(dir, &pub, old[3].size, old[199].size, &p, &e), 0);
	assert_true(bwl_proof_holds(old[3].size, &old[3].root, old[199].size, &old[199].root,
				    p.hash, p.count));
	/* a change of a kept line is found, as of any other line */
	shell("sed -i 's/operator 10\"/operator 66\"/' %s/log-*.kept", dir);
	f = check(dir, old, 200);
	assert_int_equal(f.first.fault, BWL_FAULT_CHANGED);
	/* and a removed line is missed, although its hash is still there */
	shell("sed -i '/operator 66\"/d' %s/log-*.kept", dir);
	f = check(dir, NULL, 0);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.first.fault, BWL_FAULT_CHANGED);
	shell("for f in %s/log-*.kept; do : >$f; done", dir);
	assert_true(check(dir, NULL, 0).of[BWL_FAULT_BAD]);
}

static void a_log_of_operators_alone_loses_its_oldest_and_says_so(void **state)
{
	struct bwl_audit_log *l = small_log(40000);
	static struct bwl_checkpoint old[300];
	struct found f;

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		mix(l, 10 * i, &old[i]);
	bwl_audit_close(l);
	assert_true(bytes_of(dir) < 40000 + 2 * 6000);
	f = check(dir, old + 299, 1);
	if (f.n)
		fail_msg("%s", f.first.text);
	assert_true(result.first > 0);
	assert_int_equal(result.removed, result.first);
	f = check(dir, old, 1);
	assert_int_equal(f.first.fault, BWL_FAULT_GONE);
	assert_non_null(strstr(f.first.text, "as a record states"));
}

static void operators_outlive_whatever_a_host_causes(void **state)
{
	unsigned proofs = 0, compared = 0;
	struct bwl_prover p;
	struct found f;

	(void)state;
	write_under_attack(700);
	assert_true(bytes_of(dir) < 40000 + 2 * 6000);
	for (unsigned i = 0; i < OPERATORS; i++)
		assert_true(has("operator %u", 10 * i));
	f = check(dir, since + 699, 1);
	if (f.n)
		fail_msg("%s", f.first.text);
	assert_int_equal(result.first, 0);
	assert_int_equal(result.removed, 0);
	assert_int_equal(result.hashed, result.pruned);
	/* the older records that a host caused take next to no room */
	shell("test $(ls %s | grep -c least) -le 3", dir);
	/* an old checkpoint can be compared, or it is said that it cannot; and proofs are valid */
	for (unsigned i = 0; i < 700; i += 7) {
		f = check(dir, since + i, 1);
		compared += !f.n;
		if (f.n && (f.n > 1 || f.first.fault != BWL_FAULT_GONE ||
			    !strstr(f.first.text, "one hash")))
			fail_msg("%u: %s", i, f.first.text);
		if (bwl_audit_prove(dir, &pub, since[i].size, since[699].size, &p, &e))
			continue;
		proofs++;
		assert_true(bwl_proof_holds(since[i].size, &since[i].root, since[699].size,
					    &since[699].root, p.hash, p.count));
	}
	assert_in_range(compared, 5, 80);
	assert_in_range(proofs, 5, 80);
}

/* The process ends before call number die_at. */
static unsigned die_at, calls;
static void count_down(void)
{
	if (die_at && ++calls == die_at)
		_exit(9);
}
int __real_unlinkat(int fd, const char *name, int flags);
int __wrap_unlinkat(int fd, const char *name, int flags);
int __wrap_unlinkat(int fd, const char *name, int flags)
{
	count_down();
	return __real_unlinkat(fd, name, flags);
}
int __real_renameat(int from, const char *a, int to, const char *b);
int __wrap_renameat(int from, const char *a, int to, const char *b);
int __wrap_renameat(int from, const char *a, int to, const char *b)
{
	count_down();
	return __real_renameat(from, a, to, b);
}

static void nothing_is_left_of_a_prune_that_was_killed(void **state)
{
	unsigned kills = 0;
	int status;

	(void)state;
	write_operators(0, 100);
	shell("cp -a %s %s", dir, other);
	for (unsigned k = 1; k < 100; k++) {
		shell("rm -rf %s && cp -a %s %s", dir, other, dir);
		if (!fork()) {
			die_at = k;
			write_operators(100, 15);
			_exit(0);
		}
		wait(&status);
		if (!WEXITSTATUS(status))
			break;
		kills++;
		assert_int_equal(WEXITSTATUS(status), 9);
		assert_int_equal(check(dir, NULL, 0).n, 0);
		write_operators(115, 15);
		assert_int_equal(check(dir, NULL, 0).n, 0);
		assert_int_equal(result.removed, result.first);
		shell("! ls -A %s | grep '^\\.log'", dir);
		shell("cd %s && for f in $(ls | grep kept); do test -e ${f%%kept}hashes || exit 1; done",
		      dir);
	}
	/*
	 * killed before each of: hashes, a new file; hashes, kept, lines; least, hashes, kept; all
	 */
	assert_true(kills >= 7);
	/* what was deleted by hand is missed for ever */
	shell("cd %s && rm $(ls *.least | sed -n 2p)", dir);
	assert_true(check(dir, NULL, 0).n);
	write_operators(130, 60);
	assert_true(check(dir, NULL, 0).of[BWL_FAULT_DAMAGED]);
}

static void a_changed_size_holds_for_who_has_the_log_open(void **state)
{
	struct bwl_audit_log *l = small_log(1 << 20);
	uint64_t pruned;

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		mix(l, i, NULL);
	assert_true(has("junk %u", 1));
	assert_true(bytes_of(dir) > BWL_AUDIT_SIZE_MIN + BWL_AUDIT_SIZE_MIN / 4);
	assert_int_equal(bwl_audit_put_size(dir, "64kb", &e), 0);
	mix(l, 200, NULL);
	assert_true(bytes_of(dir) < BWL_AUDIT_SIZE_MIN + BWL_AUDIT_SIZE_MIN / 4);
	assert_false(has("junk %u", 1));
	assert_true(has("operator %u", 200));
	assert_int_equal(check(dir, NULL, 0).n, 0);
	/* an incomplete size file is ignored: the limit stays */
	shell("printf 6 >%s/size", dir);
	for (unsigned i = 201; i < 220; i++)
		mix(l, i, NULL);
	assert_true(bytes_of(dir) < BWL_AUDIT_SIZE_MIN + BWL_AUDIT_SIZE_MIN / 4);
	assert_int_equal(check(dir, NULL, 0).n, 0);
	pruned = result.pruned;
	assert_int_equal(bwl_audit_put_size(dir, "1mb", &e), 0);
	for (unsigned i = 220; i < 280; i++)
		mix(l, i, NULL);
	assert_int_equal(check(dir, NULL, 0).n, 0);
	assert_int_equal(result.pruned, pruned);
	bwl_audit_close(l);
}

static bool listing; /* files must be listed only while the lock is held */
static unsigned unlocked, lists;
DIR *__real_opendir(const char *name);
DIR *__wrap_opendir(const char *name);
DIR *__wrap_opendir(const char *name)
{
	int fd = listing ? open(name, O_RDONLY | O_DIRECTORY) : -1;

	if (fd >= 0) {
		lists++;
		unlocked += !flock(fd, LOCK_EX | LOCK_NB);
		close(fd);
	}
	return __real_opendir(name);
}

static void the_files_to_prune_are_listed_with_the_lock(void **state)
{
	struct bwl_audit_log *l = small_log(SMALL);

	(void)state;
	listing = true;
	lists = unlocked = 0;
	for (unsigned i = 0; i < 100; i++)
		mix(l, i, NULL);
	listing = false;
	assert_true(has("operator %u", 90) && !has("junk %u", 1));
	assert_true(lists > 3);
	assert_int_equal(unlocked, 0);
	bwl_audit_close(l);
}

static struct {
	unsigned files, folders;
	bool die; /* before the first file is on disk */
} synced;
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	struct stat st;
	bool folder = !fstat(fd, &st) && S_ISDIR(st.st_mode);

	if (synced.die && !folder)
		_exit(9);
	*(folder ? &synced.folders : &synced.files) += 1;
	return __real_fsync(fd);
}

static void a_size_is_on_disk_and_the_old_one_stands_until_it_is(void **state)
{
	int status;

	(void)state;
	assert_int_equal(bwl_audit_put_size(dir, "1mb", &e), 0);
	memset(&synced, 0, sizeof(synced));
	assert_int_equal(bwl_audit_put_size(dir, "2mb", &e), 0);
	assert_int_equal(synced.files, 1);
	assert_int_equal(synced.folders, 1);
	if (!fork()) {
		synced.die = true;
		bwl_audit_put_size(dir, "3mb", &e);
		_exit(0);
	}
	wait(&status);
	assert_int_equal(WEXITSTATUS(status), 9);
	shell("test $(cat %s/size) = 2mb", dir);
	/* Who comes next changes it as ever. */
	assert_int_equal(bwl_audit_put_size(dir, "3mb", &e), 0);
	shell("test $(cat %s/size) = 3mb", dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(above_its_size_a_log_loses_junk_and_nothing_else_and_still_verifies),
		T(a_log_of_operators_alone_loses_its_oldest_and_says_so),
		T(operators_outlive_whatever_a_host_causes),
		T(nothing_is_left_of_a_prune_that_was_killed),
		T(the_files_to_prune_are_listed_with_the_lock),
		T(a_changed_size_holds_for_who_has_the_log_open),
		T(a_size_is_on_disk_and_the_old_one_stands_until_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
