/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a log as people want to see it: what was done lately, followed as the log grows,
 * whoever appends to it. For who asks again and again; nothing is locked, and nothing is verified.
 *
 * Of each record when, by which program, its event, its level and its text are kept, no data. What
 * a host causes at will ("junk") and totals are left out; of what else it causes ("host") the
 * oldest goes first, so that nobody who sends hides what an operator or an alarm said. An intent is
 * left out once its program has said what became of it. A sign of tampering is acknowledged where a
 * record of event `ack` behind it says so (`bwlimit-ctl audit ack`).
 */
#ifndef BWL_AUDIT_RECENT_H
#define BWL_AUDIT_RECENT_H

#include <stdbool.h>
#include <jansson.h>
#include "bwl/err.h"

#define BWL_AUDIT_RECENT 200         /* records, at most */
#define BWL_AUDIT_RECENT_BYTES 61440 /* and of their JSON: a file of 64 KiB has room for them */

struct bwl_audit_recent;
/* dir is borrowed. */
struct bwl_audit_recent *bwl_audit_recent_new(const char *dir);
void bwl_audit_recent_free(struct bwl_audit_recent *v); /* NULL-safe */
/* What has come since: 1 there was something, 0 nothing. */
int bwl_audit_recent_read(struct bwl_audit_recent *v, struct bwl_err *e);
/* An array of its own, the oldest first. */
json_t *bwl_audit_recent_lines(const struct bwl_audit_recent *v);

#endif
