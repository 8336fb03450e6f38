/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints "still putting 100000 peers in force (2 s)" on standard error for work of over a second.
 */
#ifndef BWL_CTL_PROGRESS_H
#define BWL_CTL_PROGRESS_H

struct ctl_progress;
struct ctl_progress *ctl_progress_start(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ctl_progress_end(struct ctl_progress *p); /* NULL-safe */

#endif
