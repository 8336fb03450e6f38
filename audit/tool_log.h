/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tools do before and after an action. bwl_audit_tool() at the start of main() makes
 * bwl_audit_intent() and bwl_audit() of bwl/err.h write to the log; bwl_audit_tool_end() records
 * the result of an intent that was not followed by the action.
 */
#ifndef BWL_AUDIT_TOOL_LOG_H
#define BWL_AUDIT_TOOL_LOG_H

#include "log.h"

void bwl_audit_tool(void);
/* why NULL: the tool succeeded. */
void bwl_audit_tool_end(const char *why);
/* A record that is written only to the log; a failure is a warning. */
void bwl_audit_record(const char *event, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * The same, with data for programs (borrowed), for actions that consist of this record: it is an
 * error if the log is off or cannot be written.
 */
int bwl_audit_must_record(const char *event, const char *text, json_t *data, struct bwl_err *e);

#endif
