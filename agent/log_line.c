// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes one line of the agent's messages: to the journal, to people or to programs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include "agent.h"
#include "bwl/doc.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool json;

void agent_log_json(bool yes)
{
	json = yes;
}

const char *agent_log_level(int priority)
{
	static const char *const names[] = { "emergency", "alert",  "critical", "error",
					     "warning",   "notice", "info",     "debug" };

	return names[priority & 7];
}

static void say_json(int priority, const char *event, const char *text)
{
	json_t *o = bwl_doc("log");
	char when[BWL_TIME_BUF];

	json_object_set_new(o, "time", json_string(bwl_utc_now(when)));
	json_object_set_new(o, "level", json_string(agent_log_level(priority)));
	json_object_set_new(o, "event", json_string(event));
	json_object_set_new(o, "text", json_string(text));
	bwl_doc_line(o);
}

void agent_log_text(struct bwl_err *ret, const char *fmt, va_list ap)
{
	char text[1100];

	vsnprintf(text, sizeof(text), fmt, ap);
	bwl_err_fill(ret, EIO, "%s", text);
}

void agent_log_say(int priority, const char *event, const char *text)
{
	pthread_mutex_lock(&lock);
	if (json)
		say_json(priority, event, text);
	else if (getenv("JOURNAL_STREAM"))
		sd_journal_send("MESSAGE=%s", text, "PRIORITY=%d", priority, "BWLIMIT_EVENT=%s",
				event, "SYSLOG_IDENTIFIER=" AGENT_PROGRAM, NULL);
	else
		fprintf(stderr, "%s: %s%s%s\n", AGENT_PROGRAM,
			priority < LOG_NOTICE ? agent_log_level(priority) : "",
			priority < LOG_NOTICE ? ": " : "", text);
	pthread_mutex_unlock(&lock);
}

void agent_log_line(int priority, const char *event, const char *fmt, ...)
{
	struct bwl_err e;
	va_list ap;

	va_start(ap, fmt);
	agent_log_text(&e, fmt, ap);
	va_end(ap);
	agent_log_say(priority, event, e.text);
}
