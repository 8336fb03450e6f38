/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Enters intervals into the audit log: each file below the state directory's `flows` once, in their
 * order. What was entered is read from the log itself, so whoever is killed anywhere has entered an
 * interval or has not, and the next one goes on there. What cannot be entered any more the next
 * entry says (`gap`).
 */
#ifndef EV_WRITER_H
#define EV_WRITER_H

#include <bwl/err.h>
#include <stdint.h>

struct ev_writer;
/* state_dir is copied; dir, of the audit log, too (NULL: as bwl_audit_dir() has it). */
struct ev_writer *ev_writer_new(const char *state_dir, const char *dir);
void ev_writer_free(struct ev_writer *w); /* NULL-safe */
/*
 * Some of what there is to enter; wall_s: which day it is. 1: there is more; 0: that was all, or
 * the log is off.
 */
int ev_writer_step(struct ev_writer *w, int64_t wall_s, struct bwl_err *e);
/* How long to wait after so many failures, one after the other: 1 s and twice as long, to 60 s. */
unsigned ev_writer_pause_s(unsigned failures);

#endif
