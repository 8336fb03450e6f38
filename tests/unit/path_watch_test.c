// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A watched file's changes are noticed whatever its name leads over: links, folders that are made
 * anew, names that are not there yet. What happens beside it is none of its changes.
 */
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bwl/path_watch.h>

static char top[64];
static struct bwl_path_watch *w;

/* In the folder of the test. */
static void sh(const char *command)
{
	char all[600];

	snprintf(all, sizeof(all), "cd %s && { %s; }", top, command);
	assert_int_equal(system(all), 0);
}

static void watch(const char *name)
{
	struct bwl_err e = { 0 };
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	bwl_path_watch_free(w);
	w = NULL;
	if (bwl_path_watch_new(path, &w, &e))
		fail_msg("%s", e.text);
	assert_false(bwl_path_watch_drain(w));
}

/* Events are there when the call that caused them returns. */
static bool noticed(void)
{
	struct pollfd p = { .fd = bwl_path_watch_fd(w), .events = POLLIN };
	bool any = false;

	while (poll(&p, 1, 0) == 1)
		any = bwl_path_watch_drain(w) || any;
	return any;
}

static void expect(const char *command, bool is)
{
	sh(command);
	if (noticed() != is)
		fail_msg("%s: %s", command, is ? "not noticed" : "noticed");
}

static int begin(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/bwl-watch-XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int end(void **state)
{
	char all[100];

	(void)state;
	bwl_path_watch_free(w);
	w = NULL;
	snprintf(all, sizeof(all), "rm -rf %s", top);
	return system(all);
}

/* What an editor does, and what a shell does, twice: it is followed on. */
static void writes(const char *file)
{
	char c[200];

	for (int i = 0; i < 2; i++) {
		snprintf(c, sizeof(c), "echo %d > %s", i, file);
		expect(c, true);
		snprintf(c, sizeof(c), "echo new > %s.new && mv %s.new %s", file, file, file);
		expect(c, true);
	}
}

static void a_file_is_noticed_and_what_is_beside_it_is_not(void **state)
{
	(void)state;
	sh("mkdir d && echo > d/policy");
	watch("d/policy");
	writes("d/policy");
	expect("echo > d/other && rm d/other && echo > beside && mkdir e", false);
	expect("cat d/policy >/dev/null && ls -l d >/dev/null", false);
	expect("rm d/policy", true);
	expect("echo > d/policy", true);
	expect("ln d/policy d/hard", true); /* its links are counted in it */
	expect("echo > d/hard", true);
}

static void a_link_and_what_it_leads_to_are_followed(void **state)
{
	(void)state;
	sh("mkdir d t && echo > t/one && echo > t/two && ln -s ../t/one d/policy");
	watch("d/policy");
	writes("t/one");
	expect("echo > t/two", false);
	expect("ln -sfn ../t/two d/policy", true);
	writes("t/two");
	expect("echo > t/one", false);
	expect("ln -sfn $PWD/t/not-yet d/policy", true);
	expect("echo > t/not-yet", true);
	writes("t/not-yet");
	expect("ln -sfn policy d/policy", true); /* it leads to itself */
	expect("ln -sfn ../t/one d/policy", true);
	writes("t/one");
}

/* As a kubelet puts a ConfigMap into a volume: policy -> ..data/policy, ..data -> ..2026_1 */
static void a_folder_that_a_link_swaps_is_followed(void **state)
{
	(void)state;
	sh("mkdir v v/..2026_1 && echo 1 > v/..2026_1/policy && ln -s ..2026_1 v/..data && ln -s ..data/policy v/policy");
	watch("v/policy");
	for (int i = 2; i < 5; i++) {
		char c[300];

		snprintf(c, sizeof(c), "mkdir v/..2026_%d && echo %d > v/..2026_%d/policy", i, i,
			 i);
		expect(c, false);
		snprintf(c, sizeof(c), "ln -s ..2026_%d v/..tmp && mv -T v/..tmp v/..data", i);
		expect(c, true);
		snprintf(c, sizeof(c), "rm -r v/..2026_%d", i - 1);
		expect(c, false);
		snprintf(c, sizeof(c), "echo again > v/..2026_%d/policy", i);
		expect(c, true);
	}
}

static void a_folder_that_is_made_anew_is_followed(void **state)
{
	(void)state;
	sh("mkdir -p a/b/c && echo > a/b/c/policy");
	watch("a/b/../b/./c/policy");
	writes("a/b/c/policy");
	expect("mv a/b/c a/b/old && mkdir a/b/c", true);
	expect("echo > a/b/old/policy", false);
	expect("echo > a/b/c/policy", true);
	writes("a/b/c/policy");
	expect("rm -r a", true);
	expect("mkdir -p other/b", false);
	expect("mkdir a", true);
	expect("mkdir -p a/b/c", true);
	expect("echo > a/b/c/policy", true);
	writes("a/b/c/policy");
	expect("mv a away && cp -r away a", true);
	writes("a/b/c/policy");
	expect("echo > away/b/c/policy", false);
	expect("mv a/b/c/policy . && rmdir a/b/c && ln -s ../.. a/b/c", true);
	writes("policy");
}

static void a_name_that_is_not_there_yet_is_awaited(void **state)
{
	(void)state;
	watch("not/yet/policy");
	expect("echo > beside", false);
	expect("mkdir not", true);
	expect("mkdir not/yet", true);
	expect("echo > not/yet/policy", true);
	writes("not/yet/policy");
}

/* More events than the kernel keeps: something may have been among them. */
static void what_was_lost_counts_as_a_change(void **state)
{
	(void)state;
	sh("mkdir d && echo > d/policy");
	watch("d/policy");
	expect("i=0; while [ $i -lt 20000 ]; do : > d/a; : > d/b; i=$((i + 1)); done", true);
	writes("d/policy");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		T(a_file_is_noticed_and_what_is_beside_it_is_not),
		T(a_link_and_what_it_leads_to_are_followed),
		T(a_folder_that_a_link_swaps_is_followed),
		T(a_folder_that_is_made_anew_is_followed),
		T(a_name_that_is_not_there_yet_is_awaited),
		T(what_was_lost_counts_as_a_change),
	};

	return cmocka_run_group_tests_name("path_watch", tests, NULL, NULL);
}
