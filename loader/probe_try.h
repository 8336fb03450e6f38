/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions that are answered by changing the card: `probe --try-hardware`. Refused while any
 * program of ours is on any port, and while any device of those cards is up: a trial SA rebuilds
 * the tables of the card's switch, and a trial rule keeps the first SA out as long as it exists.
 */
#ifndef BWL_LOADER_PROBE_TRY_H
#define BWL_LOADER_PROBE_TRY_H

#include "attach.h"
#include "probe_question.h"

extern const struct probe_question probe_try_kernel_questions[];
extern const struct probe_question probe_try_questions[];

/*
 * No attach can begin between the two. However this process ends, another one removes what it has
 * made. p must live until probe_try_end(), which fails if something could not be removed; it may be
 * called without a begin, or after one that failed.
 */
int probe_try_begin(const struct bwl_attach *a, const struct probe_port *p, unsigned n,
		    struct bwl_err *e);
int probe_try_end(struct bwl_err *e);

#endif
