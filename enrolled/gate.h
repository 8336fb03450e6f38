/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a root of signed documents is enrolled (docs/fleet.md) local tools only tighten. This is
 * the one place that says what that means: it compares what is in force with what is proposed, by
 * signed/widen.h, and asks no signature, no clock and no daemon. lib/publish asks it before it
 * writes; who opens by another way (a journal, a deadline, a port) asks bwl_enrolled_refuses().
 */
#ifndef BWL_ENROLLED_GATE_H
#define BWL_ENROLLED_GATE_H

#include <bwl/publish.h>

/*
 * At the start of main(). dir: the state directory, NULL: bwl_state_dir(). The place where it is by
 * default is looked at as well, so that no environment leads around it.
 */
void bwl_enrolled_gate(const char *dir);
/* Without maps, too: is a root on this disk? Where it could not be said, it is. */
bool bwl_is_enrolled_here(void);
/* The folder that has what is remembered of documents; NULL: none has. */
const char *bwl_enrolled_dir(void);
/* 0 where nothing is enrolled. p NULL: by the disk alone. what: a sentence. */
int bwl_enrolled_refuses(struct bwl_pins *p, const char *what, struct bwl_err *e);

#endif
