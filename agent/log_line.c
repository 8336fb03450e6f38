/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line of what the agent says: to the journal, to people or to programs. */
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <time.h>
#include <systemd/sd-journal.h>
#include "agent.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool json;

void agent_log_json(bool yes)
{
	json = yes;
}

static const char *level(int priority)
{
	static const char *const names[] = { "emergency", "alert", "critical", "error", "warning",
					     "notice", "info", "debug" };

	return names[priority & 7];
}

static void say_json(int priority, const char *event, const char *text)
{
	struct timespec now;
	char when[40];
	struct tm tm;
	json_t *o;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	o = json_pack("{s:o,s:s,s:s,s:s}", "time", json_sprintf("%s.%03ldZ", when,
		      now.tv_nsec / 1000000), "level", level(priority), "event", event, "text", text);
	if (!o)
		return;
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(o);
}

void agent_log_line(int priority, const char *event, const char *fmt, ...)
{
	struct bwl_err e; /* makes the text printable: names come from maps and files */
	char text[1100];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bwl_err_fill(&e, EIO, "%s", text);
	pthread_mutex_lock(&lock);
	if (json)
		say_json(priority, event, e.text);
	else if (getenv("JOURNAL_STREAM"))
		sd_journal_send("MESSAGE=%s", e.text, "PRIORITY=%d", priority, "BWLIMIT_EVENT=%s",
				event, "SYSLOG_IDENTIFIER=" AGENT_PROGRAM, NULL);
	else
		fprintf(stderr, "%s: %s%s%s\n", AGENT_PROGRAM, priority < LOG_NOTICE ? level(priority) : "",
			priority < LOG_NOTICE ? ": " : "", e.text);
	pthread_mutex_unlock(&lock);
}
