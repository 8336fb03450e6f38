// SPDX-License-Identifier: GPL-2.0-or-later
/* Tools that answer, fail, are missing, hang or never stop. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../test.h"
#include "loader/tool.h"

#define SOON_NS 300000000ULL

static struct tool_answer said;

static enum tool_end sh(const char *script, uint64_t patience_ns)
{
	const char *argv[] = { "sh", "-c", script, NULL };

	tool_ask(argv, patience_ns, &said);
	return said.end;
}

static void what_it_prints_is_kept_and_what_it_complains_is_not(void **state)
{
	(void)state;
	assert_int_equal(sh("echo one; echo two >&2", TOOL_PATIENCE_NS), TOOL_SAID);
	assert_string_equal(said.text, "one\n");
	assert_false(said.cut);
}

static void it_has_no_input(void **state)
{
	(void)state;
	assert_int_equal(sh("cat; echo end", TOOL_PATIENCE_NS), TOOL_SAID);
	assert_string_equal(said.text, "end\n");
}

static void an_exit_status_is_a_failure_with_its_words(void **state)
{
	(void)state;
	assert_int_equal(sh("echo '-E- no'; exit 1", TOOL_PATIENCE_NS), TOOL_FAILED);
	assert_string_equal(said.text, "-E- no\n");
	assert_int_equal(sh("kill -9 $$", TOOL_PATIENCE_NS), TOOL_FAILED);
}

static void what_is_not_installed_is_absent(void **state)
{
	const char *argv[] = { "bwl-no-such-tool", "query", NULL };

	(void)state;
	tool_ask(argv, TOOL_PATIENCE_NS, &said);
	assert_int_equal(said.end, TOOL_ABSENT);
	assert_string_equal(said.text, "");
}

static void one_that_hangs_is_killed_with_what_it_started(void **state)
{
	uint64_t ns = SOON_NS;
	pid_t child;

	(void)state;
	do { /* a busy machine may not even start it in that time */
		assert_true(ns < 1000 * SOON_NS);
		assert_int_equal(sh("sleep 3600 & echo $!; wait", ns), TOOL_LATE);
		child = (pid_t)strtol(said.text, NULL, 10);
		ns *= 2;
	} while (child <= 1);
	for (unsigned i = 0; i < 30000 && !kill(child, 0); i++)
		usleep(10000); /* until its new parent has reaped it */
	assert_int_not_equal(kill(child, 0), 0);
}

static void one_that_closes_its_end_and_lives_on_is_late(void **state)
{
	(void)state;
	assert_int_equal(sh("exec >&-; sleep 600", SOON_NS), TOOL_LATE);
}

static void one_that_never_stops_is_cut(void **state)
{
	(void)state;
	assert_int_equal(sh("yes actions:drop", TOOL_PATIENCE_NS), TOOL_SAID);
	assert_true(said.cut);
	assert_int_equal(strlen(said.text), TOOL_BYTES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_prints_is_kept_and_what_it_complains_is_not),
		cmocka_unit_test(it_has_no_input),
		cmocka_unit_test(an_exit_status_is_a_failure_with_its_words),
		cmocka_unit_test(what_is_not_installed_is_absent),
		cmocka_unit_test(one_that_hangs_is_killed_with_what_it_started),
		cmocka_unit_test(one_that_closes_its_end_and_lives_on_is_late),
		cmocka_unit_test(one_that_never_stops_is_cut),
	};

	return cmocka_run_group_tests_name("tool", tests, NULL, NULL);
}
