/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bwlimitd's messages and their destinations. Any thread. priority as in syslog(3); event: one
 * word, for programs. log.c builds on log_line.c and log_audit.c, which do not depend on it.
 */
#ifndef BWL_AGENT_LOG_H
#define BWL_AGENT_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <jansson.h>
#include "bwl/err.h"

/*
 * log_line.c: writes a line to the journal if systemd runs us, otherwise to stderr; --json: to
 * stdout.
 */
void agent_log_json(bool yes);
void agent_log_line(int priority, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The word for a priority: "alert", …. */
const char *agent_log_level(int priority);
/* Makes its text printable, because names come from maps and files. The second writes it. */
void agent_log_text(struct bwl_err *ret, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
void agent_log_say(int priority, const char *event, const char *text);

/* log_audit.c: writes to the audit log, if there is one; never waits for its disk */
void agent_record_start(void);
/* Takes the reference of data, an object for programs; NULL: none. */
void agent_record(const char *event, const char *text, json_t *data);
/*
 * The same for messages from the data plane: it reserves room for alarms, in the queue and on disk.
 */
void agent_record_event(bool junk, const char *event, const char *text, json_t *data);
/* The same for messages by the clock. */
void agent_record_regular(const char *event, const char *text, json_t *data);
void agent_record_stop(void);

/* log.c: a line, and from LOG_NOTICE up also a record; AGENT_LOG_HOST: a host may have caused it */
#define AGENT_LOG_HOST 0x20000
void agent_log(int priority, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void agent_log_err(int priority, const char *event, const struct bwl_err *e);

#endif
