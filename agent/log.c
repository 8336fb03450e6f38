// SPDX-License-Identifier: GPL-2.0-or-later
/* The agent's own messages: a line, and for important ones also a record of the audit log. */
#include <stdio.h>
#include <syslog.h>
#include "log.h"

static json_t *level_of(int priority)
{
	return json_pack("{s:s}", "level", agent_log_level(priority & LOG_PRIMASK));
}

void agent_log(int priority, const char *event, const char *fmt, ...)
{
	struct bwl_err e;
	va_list ap;

	va_start(ap, fmt);
	agent_log_text(&e, fmt, ap);
	va_end(ap);
	if ((priority & LOG_PRIMASK) > LOG_NOTICE)
		; /* only a line */
	else if (priority & AGENT_LOG_HOST)
		agent_record_event(false, event, e.text, level_of(priority));
	else
		agent_record(event, e.text, level_of(priority));
	agent_log_say(priority & LOG_PRIMASK, event, e.text);
}

void agent_log_err(int priority, const char *event, const struct bwl_err *e)
{
	char at[300] = "";

	if (*e->file && e->line)
		snprintf(at, sizeof(at), "%s:%u: ", e->file, e->line);
	else if (*e->file)
		snprintf(at, sizeof(at), "%s: ", e->file);
	agent_log(priority, event, "%s%s%s%s", at, e->text, *e->hint ? "; " : "", e->hint);
}
