/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is the journal the one that the TPM knows? See docs/journal.md. */
#ifndef BWL_LOADER_JOURNAL_CHECK_H
#define BWL_LOADER_JOURNAL_CHECK_H

#include "journal/journal.h"

/*
 * The journal of these maps, before anything goes by it. An old copy is set aside and cut. Where
 * that cannot be said here the maps stay closed until bwlimitd has said it. Warnings say which.
 */
void bwl_judge_journal(struct bwl_pins *p, struct bwl_journal *ret);
/* After the policy is in force by j: bwlimitd may have refused j while it was put there. */
void bwl_judge_again(struct bwl_pins *p, const struct bwl_journal *j);

#endif
