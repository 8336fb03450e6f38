/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * On an enrolled tray (docs/fleet.md) local tools can only tighten. This is the single place that
 * defines that: it compares what is in force with what is proposed, by signed/widen.h, and needs no
 * signature, no clock and no daemon. lib/publish calls it before it writes; code that opens in
 * other ways (a journal, a deadline, a port) calls bwl_enrolled_refuses().
 */
#ifndef BWL_ENROLLED_GATE_H
#define BWL_ENROLLED_GATE_H

#include <bwl/publish.h>

/*
 * Call this at the start of main(). dir: the state directory, NULL: bwl_state_dir(). The default
 * location is checked as well, so that no environment variable bypasses it.
 */
void bwl_enrolled_gate(const char *dir);
/* Without maps: is a root enrolled on this disk? True if that cannot be determined. */
bool bwl_is_enrolled_here(void);
/* The folder with the memory of documents; NULL: there is none. */
const char *bwl_enrolled_dir(void);
/* 0 if nothing is enrolled. p NULL: only by the disk. what: a sentence. */
int bwl_enrolled_refuses(struct bwl_pins *p, const char *what, struct bwl_err *e);

#endif
