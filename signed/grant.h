/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies a signed grant to a policy: the result is compared like a whole policy (widen.h), so a
 * grant needs no rule of its own. It replaces the peer's grant until it ends; then the peer is at
 * its floor, as after `bwlimit-ctl grant … for`.
 */
#ifndef BWL_SIGNED_GRANT_H
#define BWL_SIGNED_GRANT_H

#include <bwl/policy.h>
#include "signed/document.h"

/*
 * `limit` has rate, burst, volume and mode, as in a policy file; without a mode the peer's stays.
 * -ENOENT: the policy has no such peer. On failure the policy may be half changed: free it.
 */
int bwl_grant_into(struct bwl_policy *pol, const struct bwl_signed *d, uint64_t now_boot_ns,
		   int64_t now_wall_s, struct bwl_err *e);

#endif
