/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks_adopt.c: rows of other maps (a reboot), and accounts of which nothing was known, into the
 * maps.
 */
#ifndef BWL_AGENT_MARKS_ADOPT_H
#define BWL_AGENT_MARKS_ADOPT_H

#include "marks_account.h"

int marks_adopt(struct marks *m, struct ledger *l, struct bwl_err *e);

#endif
