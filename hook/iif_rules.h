/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules by input device (bwl/iif_rules.h) as these maps want them: for what is attached.
 * Without the skeleton: the agent puts them right, too.
 */
#ifndef BWL_HOOK_IIF_RULES_H
#define BWL_HOOK_IIF_RULES_H

#include <bwl/iif_rules.h>
#include <bwl/pins.h>

/* Routes of the tunnel device stand in a table of their own, behind a rule for it alone. */
#define BWL_TUNNEL_TABLE 0x62776cU

void bwl_lock_want(const struct bwl_pins *p, struct bwl_lock *ret);
/* Has attach come so far? Before, the devices of management may not all be known. */
bool bwl_lock_was_set(const struct bwl_pins *p);
/* The same, with that word. */
int bwl_lock_apply(struct bwl_pins *p, struct bwl_err *e);
/* 0, or the first thing that is not as it should be. */
int bwl_lock_check(const struct bwl_pins *p, struct bwl_err *e);

#endif
