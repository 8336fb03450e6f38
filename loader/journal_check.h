/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is the journal the one that the TPM vouches for? See docs/journal.md. */
#ifndef BWL_LOADER_JOURNAL_CHECK_H
#define BWL_LOADER_JOURNAL_CHECK_H

#include "journal/journal.h"

/*
 * Checks the journal of these maps before it is used. An old copy is set aside and cut. If that
 * cannot be decided here the maps stay closed until bwlimitd has decided. Warnings say which.
 */
void bwl_judge_journal(struct bwl_pins *p, struct bwl_journal *ret);
/* After the policy is in force according to j: bwlimitd may have refused j meanwhile. */
void bwl_judge_again(struct bwl_pins *p, const struct bwl_journal *j);

#endif
