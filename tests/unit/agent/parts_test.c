// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parts of the agent, with the test's own list: the order of starting and stopping, and a part that
 * is no longer wanted. A part that cannot be started is reported once and does not keep others from
 * starting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/parts.h"

static char did[200];
static bool wanted, broken;

static void note(const char *what, const void *part)
{
	size_t n = strlen(did);

	snprintf(did + n, sizeof(did) - n, "%s%s:%s", n ? " " : "", what,
		 part ? (const char *)part : "-");
}

static int start_a(struct agent *a, void **ret_part, struct bwl_err *e)
{
	(void)a, (void)e;
	*ret_part = "a";
	note("start", *ret_part);
	return 0;
}

static int start_b(struct agent *a, void **ret_part, struct bwl_err *e)
{
	(void)a;
	if (broken)
		return bwl_fail(e, EIO, "b is broken");
	*ret_part = "b";
	note("start", *ret_part);
	return 0;
}

static bool b_is_wanted(struct agent *a)
{
	(void)a;
	return wanted;
}

static void tick(struct agent *a, void *part)
{
	(void)a;
	note("tick", part);
}

static void stop(struct agent *a, void *part)
{
	(void)a;
	note("stop", part);
}

const struct agent_part agent_parts[] = {
	{
		.name = "a",
		.event = "a",
		.priority = LOG_ALERT,
		.start = start_a,
		.stop = stop,
		.by_maps = true,
	},
	{
		.name = "b",
		.event = "b",
		.priority = LOG_ALERT,
		.without = "no b",
		.wanted = b_is_wanted,
		.start = start_b,
		.tick = tick,
		.stop = stop,
	},
	{ .name = "c", .tick = tick },
};
const unsigned agent_nparts = sizeof(agent_parts) / sizeof(agent_parts[0]);

static struct agent agent;

static void run(const char *expected)
{
	*did = '\0';
	agent_parts_run(&agent);
	assert_string_equal(did, expected);
}

static void stop_all(const char *expected)
{
	*did = '\0';
	agent_parts_stop(&agent, false);
	assert_string_equal(did, expected);
}

static void they_start_in_order_tick_and_stop_in_reverse(void **state)
{
	(void)state;
	wanted = true;
	run("start:a start:b tick:b tick:-");
	run("tick:b tick:-");
	stop_all("stop:b stop:a");
	stop_all("");
	run("start:a start:b tick:b tick:-");
	stop_all("stop:b stop:a");
}

static void what_goes_by_maps_stops_first_when_they_are_replaced(void **state)
{
	(void)state;
	wanted = true;
	run("start:a start:b tick:b tick:-");
	*did = '\0';
	agent_parts_stop(&agent, true);
	assert_string_equal(did, "stop:a stop:b");
	stop_all("");
}

static void one_that_is_not_wanted_any_more_stops_alone(void **state)
{
	(void)state;
	wanted = true;
	run("start:a start:b tick:b tick:-");
	wanted = false;
	run("stop:b tick:-");
	run("tick:-");
	wanted = true;
	run("start:b tick:b tick:-");
	stop_all("stop:b stop:a");
}

/* The log goes to stderr and is read back from there. */
static void one_that_cannot_start_is_said_once_and_tried_again(void **state)
{
	static const char once[] = "bwlimitd: alert: b is broken; no b\nbwlimitd: b: started\n";
	FILE *f = tmpfile();
	char text[400] = "";
	int err = dup(STDERR_FILENO);
	size_t n;

	(void)state;
	assert_non_null(f);
	unsetenv("JOURNAL_STREAM");
	dup2(fileno(f), STDERR_FILENO);
	wanted = broken = true;
	run("start:a tick:-");
	run("tick:-");
	broken = false;
	run("start:b tick:b tick:-");
	stop_all("stop:b stop:a");
	dup2(err, STDERR_FILENO);
	close(err);
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	assert_int_equal(n, strlen(once));
	assert_string_equal(text, once);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_start_in_order_tick_and_stop_in_reverse),
		cmocka_unit_test(what_goes_by_maps_stops_first_when_they_are_replaced),
		cmocka_unit_test(one_that_is_not_wanted_any_more_stops_alone),
		cmocka_unit_test(one_that_cannot_start_is_said_once_and_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
