/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Enters intervals into the audit log: each file below the state directory's `flows` once, in
 * order. What was entered is read from the log itself. So a process that is killed anywhere has
 * entered an interval or has not, and the next one continues there. The next entry reports what can
 * no longer be entered (`gap`).
 */
#ifndef EV_WRITER_H
#define EV_WRITER_H

#include <bwl/err.h>
#include <stdint.h>

struct ev_writer;
/* state_dir is copied, and so is dir, the audit log's (NULL: as in bwl_audit_dir()). */
struct ev_writer *ev_writer_new(const char *state_dir, const char *dir);
void ev_writer_free(struct ev_writer *w); /* NULL-safe */
/*
 * Enters some of what is waiting; wall_s: determines the day. 1: there is more; 0: that was all, or
 * the log is off.
 */
int ev_writer_step(struct ev_writer *w, int64_t wall_s, struct bwl_err *e);
/* How long to wait after that many consecutive failures: 1 s, then twice as long, up to 60 s. */
unsigned ev_writer_pause_s(unsigned failures);

#endif
