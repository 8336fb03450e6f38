// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors and diagnostics: see bwl/err.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#include "bwl/err.h"
#include "bwl/doc.h"
#include "bwl/text.h"

static const char *program_name = "bwlimit";

void *bwl_must(void *p)
{
	if (!p) {
		fprintf(stderr, "%s: out of memory\n", program_name);
		abort();
	}
	return p;
}

void bwl_err_fill(struct bwl_err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return;
	memset(e, 0, sizeof(*e));
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	bwl_text_plain(e->text, BWL_LINES);
}

int bwl_err_hint(struct bwl_err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -EINVAL;
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	bwl_text_plain(e->hint, BWL_LINES);
	return -e->code;
}

json_t *bwl_json_err(const struct bwl_err *e, const char *program)
{
	const char *name = strerrorname_np(e->code);
	json_t *o = json_object();
	char file[sizeof(e->file)];

	memcpy(file, e->file, sizeof(file));
	bwl_text_plain(file, BWL_LINES);
	json_object_set_new(o, "program", json_string(program));
	json_object_set_new(o, "code", name ? json_string(name) : json_sprintf("%d", e->code));
	json_object_set_new(o, "id", bwl_json_text(e->id));
	json_object_set_new(o, "text", json_string(e->text));
	json_object_set_new(o, "file", bwl_json_text(*file ? file : NULL));
	json_object_set_new(o, "line", e->line ? json_integer(e->line) : json_null());
	json_object_set_new(o, "column", e->column ? json_integer(e->column) : json_null());
	json_object_set_new(o, "todo", bwl_json_text(*e->hint ? e->hint : NULL));
	return o;
}

json_t *bwl_doc_err(const struct bwl_err *e, const char *program)
{
	json_t *root = bwl_doc("error");

	json_object_set_new(root, "error", bwl_json_err(e, program));
	return root;
}

void bwl_err_print(const struct bwl_err *e, const char *program, bool json)
{
	char file[sizeof(e->file)];

	if (json) {
		bwl_doc_print(bwl_doc_err(e, program));
		return;
	}
	memcpy(file, e->file, sizeof(file));
	bwl_text_plain(file, BWL_LINES);
	if (!*file)
		fprintf(stderr, "%s: ", program);
	else if (e->line && e->column)
		fprintf(stderr, "%s:%u:%u: ", file, e->line, e->column);
	else if (e->line)
		fprintf(stderr, "%s:%u: ", file, e->line);
	else
		fprintf(stderr, "%s: ", file);
	fprintf(stderr, "%s\n", e->text);
	if (*e->hint)
		fprintf(stderr, "  %s\n", e->hint);
}

int bwl_wrong_use(struct bwl_err *e, const char *program, bool json)
{
	if (!*e->hint)
		bwl_hint(e, "see %s --help", program);
	bwl_err_print(e, program, json);
	return 2;
}

void bwl_log_program(const char *name)
{
	program_name = name;
	openlog(name, LOG_PID, LOG_DAEMON);
}

static void say(const char *prefix, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	bwl_text_plain(text, BWL_LINES);
	fprintf(stderr, "%s: %s%s\n", program_name, prefix, text);
}

void bwl_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
}

static _Thread_local void (*warn_sink)(void *arg, const char *text);
static _Thread_local void *warn_arg;

void bwl_warn_to(void (*fn)(void *arg, const char *text), void *arg)
{
	warn_sink = fn;
	warn_arg = arg;
}

void bwl_warn(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	if (warn_sink) {
		vsnprintf(text, sizeof(text), fmt, ap);
		bwl_text_plain(text, BWL_LINES);
		warn_sink(warn_arg, text);
	} else {
		say("warning: ", fmt, ap);
	}
	va_end(ap);
}

/* The user behind sudo or a setuid shell, from the kernel's audit id. */
static long login_uid(void)
{
	FILE *f = fopen("/proc/self/loginuid", "re");
	unsigned int uid = ~0U;

	if (f) {
		if (fscanf(f, "%u", &uid) != 1)
			uid = ~0U;
		fclose(f);
	}
	return uid == ~0U ? (long)getuid() : (long)uid;
}

static int (*audit_sink)(bool intent, const char *text, struct bwl_err *e);

void bwl_audit_sink(int (*fn)(bool intent, const char *text, struct bwl_err *e))
{
	audit_sink = fn;
}

int bwl_audit_intent(struct bwl_err *e, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bwl_text_plain(text, BWL_LINES);
	return audit_sink ? audit_sink(true, text, e) : 0;
}

void bwl_audit(const char *fmt, ...)
{
	const char *by = getenv("BWLIMIT_ORDERED_BY");
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bwl_text_plain(text, BWL_LINES);
	fprintf(stderr, "%s: %s\n", program_name, text);
	if (by) /* set by bwlimitd, which runs us for this user */
		syslog(LOG_AUTHPRIV | LOG_NOTICE, "%s: %s", by, text);
	else
		syslog(LOG_AUTHPRIV | LOG_NOTICE, "uid %ld: %s", login_uid(), text);
	if (audit_sink)
		audit_sink(false, text, NULL);
}
