/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signals of a program that runs in a loop: SIGINT and SIGTERM end it, SIGHUP has it read its
 * files anew. A descriptor wakes the loop, so that none is waited out that comes between a look
 * at them and the wait. One loop a process.
 */
#ifndef BWL_SIGNALS_H
#define BWL_SIGNALS_H

#include <stdbool.h>
#include <bwl/err.h>

/* From here on; SIGPIPE is ignored. -errno, and *e. */
int bwl_signals_begin(struct bwl_err *e);
/* What the loop waits for, to be read. */
int bwl_signals_fd(void);
/* After the wait, before the two below are looked at. */
void bwl_signals_woken(void);
bool bwl_signals_stop(void);
/* Once for all that came since it was true last. */
bool bwl_signals_again(void);

#endif
