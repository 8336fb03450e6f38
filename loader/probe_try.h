/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The questions that change the card to be answered: `probe --try-hardware`. Refused while any
 * program of ours is on any port, and while any device of the cards in question is up: a trial SA
 * rebuilds the tables of the card's switch, and a trial rule keeps the first SA out while it lives.
 */
#ifndef BWL_LOADER_PROBE_TRY_H
#define BWL_LOADER_PROBE_TRY_H

#include "attach.h"
#include "probe_question.h"

extern const struct probe_question probe_try_kernel_questions[];
extern const struct probe_question probe_try_questions[];

/*
 * Between the two no attach begins. However this process ends, another one removes what it has
 * made. p lives until probe_try_end(), which fails where something could not be removed; it may be
 * called without a begin, or after one that failed.
 */
int probe_try_begin(const struct bwl_attach *a, const struct probe_port *p, unsigned n,
		    struct bwl_err *e);
int probe_try_end(struct bwl_err *e);

#endif
