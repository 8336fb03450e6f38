/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bwlimitd says, and to whom. Any thread. priority as in syslog(3); event: one word, for
 * programs. log.c stands on log_line.c and log_audit.c, which know nothing of it.
 */
#ifndef BWL_AGENT_LOG_H
#define BWL_AGENT_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <jansson.h>
#include "bwl/err.h"

/*
 * log_line.c: a line to the journal where systemd runs us, else to stderr; --json: to stdout. No
 * more.
 */
void agent_log_json(bool yes);
void agent_log_line(int priority, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* "alert", …: the word for a priority. */
const char *agent_log_level(int priority);
/* Its text, printable: names come from maps and files. And that said. */
void agent_log_text(struct bwl_err *ret, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
void agent_log_say(int priority, const char *event, const char *text);

/* log_audit.c: into the audit log, where there is one; never waits for its disk */
void agent_record_start(void);
/* Takes the reference of data, an object for programs; NULL: none. */
void agent_record(const char *event, const char *text, json_t *data);
/*
 * The same of what the data plane tells: it leaves alarms their room in the queue, and on the disk.
 */
void agent_record_event(bool junk, const char *event, const char *text, json_t *data);
/* The same of what comes by the clock. */
void agent_record_regular(const char *event, const char *text, json_t *data);
void agent_record_stop(void);

/* log.c: a line, and from LOG_NOTICE up a record too; AGENT_LOG_HOST: a host may have caused it */
#define AGENT_LOG_HOST 0x20000
void agent_log(int priority, const char *event, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void agent_log_err(int priority, const char *event, const struct bwl_err *e);

#endif
