// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ledger and the counter of a TPM 2.0 (swtpm): whatever is killed at any time, the current
 * ledger is accepted, and an old copy is not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/ledger/anchor.h"
#include "bwl/pins.h"
#include "tpm/tpm.h"

#define HOUR 3600000000000ULL
#define PATIENCE_NS 300000000000ULL

static char base[64], dir[80], tcti[160];
static pid_t swtpm;
static struct ledger *ledger;
static struct anchor *anchor;

/*
 * Counts all writes: ours, SQLite's and tpm2-tss's. The process dies before write number kill_at.
 */
static atomic_int writes;
static int kill_at;

static void count_write(void)
{
	if (kill_at && atomic_fetch_add(&writes, 1) + 1 == kill_at)
		raise(SIGKILL);
}

ssize_t write(int fd, const void *buf, size_t n)
{
	count_write();
	return syscall(SYS_write, fd, buf, n);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	count_write();
	return syscall(SYS_pwrite64, fd, buf, n, at);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
	count_write();
	return syscall(SYS_pwrite64, fd, buf, n, at);
}

int fdatasync(int fd)
{
	count_write();
	return (int)syscall(SYS_fdatasync, fd);
}

static void sh(const char *fmt, ...)
{
	char cmd[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	assert_int_equal(system(cmd), 0);
}

static bool answers(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	bool yes;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	yes = !connect(fd, (struct sockaddr *)&at, sizeof(at));
	close(fd);
	return yes;
}

/* state: a folder. The same folder is the same TPM. */
static void tpm_up(const char *state)
{
	char dirarg[200], server[200], ctrl[200], sock[100], data[100];
	uint64_t end = bwl_now_ns() + PATIENCE_NS;

	sh("mkdir -p %s/%s", base, state);
	snprintf(dirarg, sizeof(dirarg), "dir=%s/%s", base, state);
	snprintf(sock, sizeof(sock), "%s/sock.ctrl", base);
	snprintf(data, sizeof(data), "%s/sock", base);
	snprintf(server, sizeof(server), "type=unixio,path=%s/sock", base);
	snprintf(ctrl, sizeof(ctrl), "type=unixio,path=%s", sock);
	swtpm = fork();
	if (!swtpm) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* It writes lines in pieces: one of ours would become a part of one of them. */
		if (!freopen("/dev/null", "w", stderr))
			_exit(127);
		execlp("swtpm", "swtpm", "socket", "--tpm2", "--tpmstate", dirarg, "--server",
		       server, "--ctrl", ctrl, "--flags", "not-need-init,startup-clear", NULL);
		_exit(127);
	}
	while (!answers(sock) || !answers(data)) { /* swtpm makes one after the other */
		assert_true(bwl_now_ns() < end);
		assert_int_equal(waitpid(swtpm, NULL, WNOHANG), 0);
		usleep(2000);
	}
}

static void tpm_down(void)
{
	if (!swtpm)
		return;
	kill(swtpm, SIGKILL);
	waitpid(swtpm, NULL, 0);
	swtpm = 0;
	sh("rm -f %s/sock %s/sock.ctrl", base, base);
}

static void stop(void)
{
	anchor_free(anchor);
	ledger_close(ledger);
	anchor = NULL;
	ledger = NULL;
}

static void start_every(enum anchor_mode mode, uint64_t every_ns)
{
	struct bwl_err e = { 0 };
	enum ledger_how how;

	if (ledger_open(dir, &ledger, &how, &e))
		fail_msg("%s", e.text);
	assert_int_not_equal(how, LEDGER_SET_ASIDE);
	assert_int_equal(anchor_new(mode, tcti, every_ns, &anchor, &e), 0);
	anchor_forget(anchor, how != LEDGER_FOUND);
}

/* Runs until the TPM is no longer busy. */
static int run(const char *era, struct bwl_err *e)
{
	uint64_t end = bwl_now_ns() + PATIENCE_NS;
	int r;

	while ((r = anchor_run(anchor, ledger, era, false, e)) == -EINPROGRESS &&
	       bwl_now_ns() < end)
		usleep(1000);
	return r;
}

static void spend(uint64_t bytes)
{
	struct ledger_row r = { .key = "peer x", .era = "era", .spent = bytes };
	struct bwl_err e = { 0 };

	ledger_put(ledger, &r);
	if (ledger_commit(ledger, &e))
		fail_msg("%s", e.text);
}

/* The life of an agent with these maps. true: it accepted its ledger. */
static bool lives(const char *era, uint64_t spent)
{
	struct bwl_err e = { 0 };
	int r;

	start_every(ANCHOR_AUTO, HOUR);
	r = run(era, &e);
	if (!r) {
		assert_true(anchor_holds(anchor));
		spend(spent);
	} else if (r != -EUCLEAN) {
		fail_msg("%d %s", r, e.text);
	} else {
		print_message("# %s\n", e.text);
	}
	stop();
	return !r;
}

static void copy_ledger(void)
{
	sh("rm -rf %s/copy && cp -a %s %s/copy", base, dir, base);
}

static void put_back(void)
{
	sh("rm -rf %s && cp -a %s/copy %s", dir, base, dir);
}

static int setup(void **state)
{
	(void)state;
	snprintf(base, sizeof(base), "%s/bwl-anchor-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(base))
		return -1;
	snprintf(dir, sizeof(dir), "%s/ledger", base);
	snprintf(tcti, sizeof(tcti), "swtpm:path=%s/sock", base);
	sh("mkdir %s", dir);
	tpm_up("one");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	stop();
	tpm_down();
	sh("rm -rf %s", base);
	return 0;
}

static void a_ledger_that_was_not_put_back_is_believed(void **state)
{
	(void)state;
	assert_true(lives("boot 1", 1000));
	assert_true(lives("boot 1", 2000)); /* a restart of the agent */
	assert_true(lives("boot 2", 3000));
	tpm_down(); /* the TPM loses power, too */
	tpm_up("one");
	assert_true(lives("boot 3", 4000));
}

static void a_restart_in_the_same_maps_does_not_wear_the_tpm(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	assert_true(lives("boot 1", 1000));
	start_every(ANCHOR_AUTO, HOUR);
	assert_int_equal(run("boot 1", &e), 0);
	assert_int_equal(anchor_raises(anchor), 0);
	stop();
	start_every(ANCHOR_AUTO, HOUR);
	assert_int_equal(run("boot 2", &e), 0);
	assert_int_equal(anchor_raises(anchor), 1);
}

static void a_peek_changes_nothing(void **state)
{
	struct bwl_err e = { 0 };
	struct tpm_state first, s;

	(void)state;
	assert_int_equal(tpm_peek_within(tcti, PATIENCE_NS, &s, &e), 0);
	assert_false(s.has_index);
	assert_true(lives("boot 1", 1000));
	assert_int_equal(tpm_peek_within(tcti, PATIENCE_NS, &first, &e), 0);
	assert_true(first.has_index);
	assert_int_equal(tpm_peek_within(tcti, PATIENCE_NS, &s, &e), 0);
	assert_int_equal(s.count, first.count);
	assert_memory_equal(s.tag, first.tag, TPM_TAG);
	tpm_down();
	assert_int_not_equal(tpm_peek_within(tcti, PATIENCE_NS, &s, &e), 0);
	tpm_up("two"); /* a TPM without any peek counts equally far */
	sh("rm -rf %s/*", dir);
	assert_true(lives("boot 1", 1000));
	assert_int_equal(tpm_peek_within(tcti, PATIENCE_NS, &s, &e), 0);
	assert_int_equal(s.count, first.count);
}

static void an_old_copy_is_not_believed_after_the_next_boot(void **state)
{
	(void)state;
	assert_true(lives("boot 1", 1000));
	copy_ledger();
	assert_true(lives("boot 2", 900000));
	put_back();
	assert_false(lives("boot 3", 1000));
	/* Nor is a ledger from before it was bound. */
	sh("rm -rf %s/*", dir);
	assert_true(lives("boot 4", 1000));
	sh("rm -rf %s/*", dir);
	start_every(ANCHOR_NONE, HOUR);
	assert_int_equal(anchor_run(anchor, ledger, "boot 5", false, NULL), 0);
	spend(500);
	stop();
	assert_false(lives("boot 6", 1000));
}

static void what_is_set_aside_is_begun_anew_and_bound_again(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	assert_true(lives("boot 1", 1000));
	copy_ledger();
	assert_true(lives("boot 2", 2000));
	put_back();
	assert_false(lives("boot 3", 3000));
	assert_int_equal(ledger_set_aside(dir, &e), 0);
	assert_true(lives("boot 3", 3000));
	assert_true(lives("boot 4", 4000));
	sh("rm -rf %s/*.bad", dir);
	put_back();
	assert_false(lives("boot 5", 5000));
}

/* Returns 0 if it was not killed. */
static int life_with_a_kill(const char *era, uint64_t spent, int at)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct bwl_err e = { 0 };
		int r;

		start_every(ANCHOR_AUTO, HOUR);
		kill_at = at;
		r = run(era, &e);
		spend(spent);
		kill_at = 0;
		_exit(r || !anchor_holds(anchor) ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return 1;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	return 0;
}

static void a_kill_before_any_write_of_a_raise_locks_nobody_out(void **state)
{
	char era[40];
	int at;

	(void)state;
	assert_true(lives("boot 0", 1000));
	for (at = 1; at < 500; at++) {
		copy_ledger();
		snprintf(era, sizeof(era), "boot %d", at);
		if (!life_with_a_kill(era, (uint64_t)at * 1000, at))
			break;
		if (at % 2) /* the next agent runs in the same boot, or in the next one */
			snprintf(era, sizeof(era), "boot %d again", at);
		assert_true(lives(era, (uint64_t)at * 1000));
	}
	print_message("# %d kills\n", at - 1);
	assert_in_range(at, 10, 400);
	put_back();
	assert_false(lives("boot after", 1000));
}

static void a_kill_before_any_write_of_the_first_binding_locks_nobody_out(void **state)
{
	int at, left;

	(void)state;
	for (at = 1, left = 1; left && at < 500; at++) {
		tpm_down();
		sh("rm -rf %s/* %s/one", dir, base);
		tpm_up("one");
		start_every(ANCHOR_NONE, HOUR); /* volumes from the time before there was a TPM */
		spend(1000);
		stop();
		left = life_with_a_kill("boot 1", 2000, at);
		assert_true(lives(at % 2 ? "boot 1" : "boot 2", 3000));
		assert_true(lives("boot 3", 4000));
	}
	print_message("# %d kills\n", at - 2);
	assert_in_range(at, 10, 400);
}

/* The TPM does not answer: nothing is released until it does. */
static void only_with_the_tpm(void)
{
	struct bwl_err e = { 0 };

	for (int i = 0; i < 100; i++) {
		assert_int_equal(anchor_run(anchor, ledger, "boot 2", false, &e), -EINPROGRESS);
		usleep(2000);
	}
	tpm_up("one");
	assert_int_equal(run("boot 2", &e), 0);
	assert_true(anchor_holds(anchor));
}

static void without_its_tpm_a_bound_ledger_releases_nothing(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	assert_true(lives("boot 1", 1000));
	tpm_down();
	start_every(ANCHOR_AUTO, HOUR);
	only_with_the_tpm();
	stop();
	/*
	 * With an explicit "none" it runs without the TPM, and the ledger is then an ordinary one.
	 */
	tpm_down();
	start_every(ANCHOR_NONE, HOUR);
	assert_int_equal(run("boot 3", &e), 0);
	assert_false(anchor_holds(anchor));
	stop();
	start_every(ANCHOR_AUTO, HOUR);
	assert_int_equal(run("boot 3", &e), 0);
	assert_false(anchor_holds(anchor));
}

static void a_ledger_that_never_had_a_tpm_goes_on_without_unless_it_is_required(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	tpm_down();
	start_every(ANCHOR_AUTO, HOUR);
	assert_int_equal(run("boot 1", &e), 0);
	assert_false(anchor_holds(anchor));
	spend(1000);
	stop();
	start_every(ANCHOR_REQUIRED, HOUR);
	only_with_the_tpm();
}

static void a_tpm_that_was_cleared_or_is_another_is_found_out(void **state)
{
	(void)state;
	assert_true(lives("boot 1", 1000));
	tpm_down();
	tpm_up("cleared");
	assert_false(lives("boot 2", 2000));
	/* Another TPM that has a ledger of its own bound to it. */
	copy_ledger();
	sh("rm -rf %s/*", dir);
	assert_true(lives("boot 2", 2000));
	put_back();
	assert_false(lives("boot 3", 3000));
	/* With its own TPM the ledger is accepted. */
	tpm_down();
	tpm_up("one");
	assert_true(lives("boot 3", 3000));
}

static void a_tpm_that_hangs_holds_nothing_up_once_it_has_answered(void **state)
{
	uint64_t end = bwl_now_ns() + PATIENCE_NS;
	struct bwl_err e = { 0 };
	int i;

	(void)state;
	kill(swtpm, SIGSTOP);
	start_every(ANCHOR_REQUIRED, 1000000);
	for (i = 0; i < 100; i++) {
		assert_int_equal(anchor_run(anchor, ledger, "boot 1", false, &e), -EINPROGRESS);
		usleep(1000);
	}
	kill(swtpm, SIGCONT);
	assert_int_equal(run("boot 1", &e), 0);
	stop();
	start_every(ANCHOR_REQUIRED, HOUR / 1000);
	assert_int_equal(run("boot 2", &e), 0);
	stop();
	/* The counter is raised by the clock once something was written. */
	start_every(ANCHOR_REQUIRED, 200000000);
	assert_int_equal(run("boot 2", &e), 0);
	spend(1000);
	while (!anchor_raises(anchor) && bwl_now_ns() < end)
		assert_int_equal(anchor_run(anchor, ledger, "boot 2", false, &e), 0);
	assert_int_equal(anchor_raises(anchor), 1);
	stop();
	/* A raise is due, and the TPM does not answer: the agent goes on for a time. */
	kill(swtpm, SIGSTOP);
	start_every(ANCHOR_REQUIRED, HOUR);
	kill(swtpm, SIGCONT);
	assert_int_equal(run("boot 3", &e), 0);
	kill(swtpm, SIGSTOP);
	for (i = 0; i < 100; i++) {
		spend(2000 + (uint64_t)i);
		assert_int_equal(anchor_run(anchor, ledger, "boot 3", true, &e), 0);
	}
	kill(swtpm, SIGCONT);
}

static void a_counter_that_cannot_be_raised_for_long_ends_the_releasing(void **state)
{
	uint64_t end = bwl_now_ns() + PATIENCE_NS;
	struct bwl_err e = { 0 };
	int r = 0;

	(void)state;
	start_every(ANCHOR_AUTO, 100000000);
	assert_int_equal(run("boot 1", &e), 0);
	tpm_down();
	spend(1000);
	while (!(r = anchor_run(anchor, ledger, "boot 1", false, &e)) && bwl_now_ns() < end)
		usleep(1000);
	assert_int_equal(r, -EINPROGRESS);
	tpm_up("one");
	assert_int_equal(run("boot 1", &e), 0);
	stop();
	assert_true(lives("boot 2", 2000));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_ledger_that_was_not_put_back_is_believed),
		T(a_restart_in_the_same_maps_does_not_wear_the_tpm),
		T(a_peek_changes_nothing),
		T(an_old_copy_is_not_believed_after_the_next_boot),
		T(what_is_set_aside_is_begun_anew_and_bound_again),
		T(a_kill_before_any_write_of_a_raise_locks_nobody_out),
		T(a_kill_before_any_write_of_the_first_binding_locks_nobody_out),
		T(without_its_tpm_a_bound_ledger_releases_nothing),
		T(a_ledger_that_never_had_a_tpm_goes_on_without_unless_it_is_required),
		T(a_tpm_that_was_cleared_or_is_another_is_found_out),
		T(a_tpm_that_hangs_holds_nothing_up_once_it_has_answered),
		T(a_counter_that_cannot_be_raised_for_long_ends_the_releasing),
	};
	if (!tpm_is_built()) {
		puts("built without tpm2-tss");
		return 77;
	}
	tpm_quiet();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
