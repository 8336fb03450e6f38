/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * release_adopt.c: brings rows of other maps (a reboot), and accounts with an unknown past, into
 * the maps.
 */
#ifndef BWL_AGENT_RELEASE_ADOPT_H
#define BWL_AGENT_RELEASE_ADOPT_H

#include "release_account.h"

int releases_adopt(struct releases *m, struct ledger *l, struct bwl_err *e);

#endif
