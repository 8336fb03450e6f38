// SPDX-License-Identifier: GPL-2.0-or-later
/* Agents that are restarted enter each hour of the history into the audit log once. */
#include "../test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/history_roots.h"
#include "agent/log.h"
#include "audit/item.h"
#include "audit/log.h"

#define HOUR 3600
#define NOON (500000LL * HOUR) /* a full hour, in seconds since 1970 */

static char dir[100], log_dir[140];

static int begin(void **state)
{
	char key[BWL_NOTE_KEY_TEXT];

	(void)state;
	strcpy(dir, "/tmp/history-roots-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(log_dir, sizeof(log_dir), "%s/audit", dir);
	setenv("BWLIMIT_AUDIT_DIR", log_dir, 1);
	return bwl_audit_init(log_dir, "bwlimit/test", key, NULL);
}

static int end(void **state)
{
	char command[200];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static int take(const struct bwl_audit_item *i, void *arg)
{
	const char *event = json_string_value(json_object_get(i->json, "event"));
	const json_t *data = json_object_get(i->json, "data");

	if (i->kind == BWL_AUDIT_RECORD && event && !strcmp(event, "history"))
		sprintf((char *)arg + strlen(arg), " %lld",
			atoll(json_string_value(
				json_object_get(json_object_get(data, "seconds"), "hour"))) -
				NOON / HOUR);
	return 0;
}

/* The hours in the log, counted from noon, such as " 0 1". */
static const char *hours(void)
{
	static char text[200];

	*text = '\0';
	assert_int_equal(bwl_audit_scan(log_dir, take, text, NULL), 0);
	return text;
}

/* Replaces the function of agent/log_audit.c, which uses a thread. */
void __wrap_agent_record_regular(const char *event, const char *text, json_t *data);
void __wrap_agent_record_regular(const char *event, const char *text, json_t *data)
{
	struct bwl_audit_log *log;

	assert_int_equal(bwl_audit_open(NULL, &log, NULL), 0);
	assert_int_equal(bwl_audit_append(log, BWL_AUDIT_REGULAR, event, text, data, NULL, NULL),
			 0);
	bwl_audit_close(log);
	json_decref(data);
}

/* An agent that runs at these moments and then ends. */
static void run_at(const int64_t *wall_s)
{
	struct agent_history_roots roots = { 0 };
	struct hist_db *db;
	bool aside;

	assert_int_equal(hist_db_open(dir, 64 << 20, &db, &aside, NULL), 0);
	for (; *wall_s; wall_s++)
		agent_history_enter(&roots, db, dir, *wall_s);
	hist_db_close(db);
}

static void an_hour_is_entered_when_it_has_ended(void **state)
{
	(void)state;
	run_at((int64_t[]){ NOON + HOUR - 1, NOON + HOUR + 59, 0 });
	assert_string_equal(hours(), " -1");
	run_at((int64_t[]){ NOON + HOUR + 61, NOON + HOUR + 71, NOON + 2 * HOUR + 61, 0 });
	assert_string_equal(hours(), " -1 0 1");
}

static void an_agent_that_is_started_anew_enters_no_hour_twice(void **state)
{
	(void)state;
	run_at((int64_t[]){ NOON + HOUR + 61, 0 });
	run_at((int64_t[]){ NOON + HOUR + 600, NOON + HOUR + 610, 0 });
	assert_string_equal(hours(), " 0");
	run_at((int64_t[]){ NOON + 2 * HOUR + 600, 0 });
	run_at((int64_t[]){ NOON + 2 * HOUR + 700, NOON + 3 * HOUR + 61, 0 });
	assert_string_equal(hours(), " 0 1 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_hour_is_entered_when_it_has_ended, begin, end),
		cmocka_unit_test_setup_teardown(an_agent_that_is_started_anew_enters_no_hour_twice,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
