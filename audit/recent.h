/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a log as people want to see it: recent actions, followed as the log grows, whoever
 * appends to it. For repeated queries; nothing is locked, and nothing is verified.
 *
 * For each record the time, the program, its event, its level and its text are kept, but no data.
 * What a host causes at will ("junk") and totals are omitted; of what else it causes ("host") the
 * oldest is dropped first, so that no sender can hide what an operator did or an alarm said. An
 * intent is omitted once its program has reported the result. A sign of tampering is acknowledged
 * if a later record of event `ack` says so (`bwlimit-ctl audit ack`).
 */
#ifndef BWL_AUDIT_RECENT_H
#define BWL_AUDIT_RECENT_H

#include <stdbool.h>
#include <jansson.h>
#include "bwl/err.h"

#define BWL_AUDIT_RECENT 200         /* maximum number of records */
#define BWL_AUDIT_RECENT_BYTES 61440 /* and of their JSON: a file of 64 KiB has room for them */

struct bwl_audit_recent;
/* dir is borrowed. */
struct bwl_audit_recent *bwl_audit_recent_new(const char *dir);
void bwl_audit_recent_free(struct bwl_audit_recent *v); /* NULL-safe */
/* Reads what has come since: 1: something, 0: nothing. */
int bwl_audit_recent_read(struct bwl_audit_recent *v, struct bwl_err *e);
/* A new array, the oldest first. */
json_t *bwl_audit_recent_lines(const struct bwl_audit_recent *v);

#endif
