/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules by input device (bwl/iif_rules.h) for these maps' attached devices. Without the
 * skeleton, because the agent also repairs them.
 */
#ifndef BWL_HOOK_IIF_RULES_H
#define BWL_HOOK_IIF_RULES_H

#include <bwl/iif_rules.h>
#include <bwl/pins.h>

/* Routes of the tunnel device are in a separate table, behind a rule for that device alone. */
#define BWL_TUNNEL_TABLE 0x62776cU

void bwl_lock_want(const struct bwl_pins *p, struct bwl_lock *ret);
/* Has attach set them? Before that, the management devices may not all be known. */
bool bwl_lock_was_set(const struct bwl_pins *p);
/* Sets them, and records that. */
int bwl_lock_apply(struct bwl_pins *p, struct bwl_err *e);
/* 0, or the first difference. */
int bwl_lock_check(const struct bwl_pins *p, struct bwl_err *e);

#endif
