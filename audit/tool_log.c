// SPDX-License-Identifier: GPL-2.0-or-later
/* See tool_log.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include "tool_log.h"

static bool pending; /* an intent was recorded, but not yet its result */
static char intended[1024];

static int append(enum bwl_audit_urgency u, const char *event, const char *text, json_t *data,
		  bool must, struct bwl_err *e)
{
	const char *by = getenv("BWLIMIT_ORDERED_BY"); /* bwlimitd runs us for this user */
	struct bwl_audit_log *l;
	char with[sizeof(intended) + sizeof(((struct bwl_err *)0)->text) + 64];
	int r = bwl_audit_open(NULL, &l, e);

	snprintf(with, sizeof(with), "%s%s%s", text, by ? ", ordered by " : "", by ? by : "");
	if (!r && l)
		r = bwl_audit_append(l, u, event, with, data, NULL, e);
	else if (!r && must)
		r = bwl_fail(e, ENOENT, "there is no audit log");
	bwl_audit_close(l);
	return r;
}

static void warn(const char *text, const struct bwl_err *e)
{
	bwl_warn("not in the audit log: %s: %s", text, e->text);
	syslog(LOG_AUTHPRIV | LOG_WARNING, "not in the audit log: %s: %s", text, e->text);
}

static int sink(bool intent, const char *text, struct bwl_err *e)
{
	struct bwl_err mine = { 0 };
	char event[32];
	int r;

	if (intent) {
		r = append(BWL_AUDIT_BEFORE, "intent", text, NULL, false, e);
		if (r && e && !*e->hint)
			bwl_err_hint(
				e,
				"nothing was changed: what opens something must be recorded in the audit log first");
		pending = !r;
		snprintf(intended, sizeof(intended), "%s", text);
		return r;
	}
	pending = false;
	/* the first word: "policy apply x.yaml: …" becomes `policy` */
	snprintf(event, sizeof(event), "%.*s", (int)strcspn(text, " :"), text);
	r = append(BWL_AUDIT_AFTER, event, text, NULL, false, &mine);
	if (r)
		warn(text, &mine);
	return r;
}

void bwl_audit_tool(void)
{
	bwl_audit_sink(sink);
}

void bwl_audit_tool_end(const char *why)
{
	char text[sizeof(intended) + sizeof(((struct bwl_err *)0)->text) + 4];
	struct bwl_err e = { 0 };

	if (!pending || !why)
		return;
	pending = false;
	snprintf(text, sizeof(text), "%s: %s", intended, why);
	if (append(BWL_AUDIT_AFTER, "failed", text, NULL, false, &e))
		warn(text, &e);
}

void bwl_audit_record(const char *event, const char *fmt, ...)
{
	struct bwl_err e = { 0 };
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (append(BWL_AUDIT_AFTER, event, text, NULL, false, &e))
		warn(text, &e);
}

int bwl_audit_must_record(const char *event, const char *text, json_t *data, struct bwl_err *e)
{
	return append(BWL_AUDIT_AFTER, event, text, data, true, e);
}
