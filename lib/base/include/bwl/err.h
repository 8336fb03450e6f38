/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One error, for people and for programs: what is wrong, where, and what to do next.
 * Functions that can fail return 0 or a negative errno and fill the caller's bwl_err.
 */
#ifndef BWL_ERR_H
#define BWL_ERR_H

#include <errno.h>
#include <stdbool.h>

struct bwl_err {
	int code;              /* positive errno; 0: no error */
	char file[256];        /* input file the error is in, or empty */
	unsigned line, column; /* from 1; 0 unknown */
	char text[768];        /* what is wrong, with the accepted domain */
	char hint[256];        /* the next step, or empty */
	const char *id;        /* for programs, of docs/json.md; NULL: none */
};

void bwl_err_fill(struct bwl_err *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int bwl_err_hint(struct bwl_err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Fills e (may be NULL) and returns -code. The text is a sentence without a full stop. The result
 * is never 0, even if code (often errno) is: a failure cannot look like success. A macro, so that
 * compilers and analysers see it.
 */
#define bwl_fail(e, code, ...)                                                                     \
	({                                                                                         \
		int bwl_code_ = (code);                                                            \
		bwl_code_ = bwl_code_ > 0 ? bwl_code_ : EIO;                                       \
		bwl_err_fill(e, bwl_code_, __VA_ARGS__);                                           \
		-bwl_code_;                                                                        \
	})
/* Adds a hint to a filled error; returns -e->code, never 0. */
#define bwl_hint(e, ...)                                                                           \
	({                                                                                         \
		int bwl_hint_ = bwl_err_hint(e, __VA_ARGS__);                                      \
		bwl_hint_ < 0 ? bwl_hint_ : -EIO;                                                  \
	})
/*
 * Returns the allocation p; if it is NULL, the program ends, because it cannot continue without
 * memory.
 */
void *bwl_must(void *p) __attribute__((returns_nonnull));
/* "file:line:col: text\n  hint" on stderr, or {"error": …} on stdout when json. */
void bwl_err_print(const struct bwl_err *e, const char *program, bool json);
/* The same of an error in a command line, which ends with this: 2. Without a hint it names --help.
 */
int bwl_wrong_use(struct bwl_err *e, const char *program, bool json);

/* Diagnostics on stderr as "program: text"; operators' actions also go to syslog(3). */
void bwl_log_program(const char *name);
void bwl_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void bwl_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Redirects this thread's warnings to fn, for the requester of the work; NULL: to stderr again. */
void bwl_warn_to(void (*fn)(void *arg, const char *text), void *arg);
/*
 * Logs an action of consequence (grant, revoke, detach --open, fresh volumes): syslog LOG_AUTHPRIV.
 */
void bwl_audit(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * Call this before an action that opens something: the intent is recorded in the audit log, or the
 * action is refused. The bwl_audit() that follows records that it was done. 0 if there is no log.
 */
int bwl_audit_intent(struct bwl_err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Where both go beside syslog; audit/ sets it. */
void bwl_audit_sink(int (*fn)(bool intent, const char *text, struct bwl_err *e));

#endif
