/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signals of a program that runs in a loop: SIGINT and SIGTERM end it, SIGHUP makes it reload its
 * files. A descriptor wakes the loop, so that a signal between the check and the wait is not
 * missed. One loop per process.
 */
#ifndef BWL_SIGNALS_H
#define BWL_SIGNALS_H

#include <stdbool.h>
#include <bwl/err.h>

/* Call this first; from then on SIGPIPE is ignored. Returns -errno, and fills *e, on failure. */
int bwl_signals_begin(struct bwl_err *e);
/* The descriptor that the loop polls for reading. */
int bwl_signals_fd(void);
/* Call this after the wait, before checking the two below. */
void bwl_signals_woken(void);
bool bwl_signals_stop(void);
/* True once for all SIGHUPs since it was last true. */
bool bwl_signals_again(void);

#endif
