/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A signed grant, put into a policy: what it comes to is compared as a whole policy is (widen.h),
 * so a grant needs no rule of its own. It takes the place of the peer's grant until it ends; then
 * the peer is at its floor, as after `bwlimit-ctl grant … for`.
 */
#ifndef BWL_SIGNED_GRANT_H
#define BWL_SIGNED_GRANT_H

#include <bwl/policy.h>
#include "signed/document.h"

/*
 * `limit` has rate, burst, volume and mode, as a policy file spells them; without a mode the peer's
 * stays. -ENOENT: the policy has no such peer. On failure the policy may be half changed: it is to
 * be freed.
 */
int bwl_grant_into(struct bwl_policy *pol, const struct bwl_signed *d, uint64_t now_boot_ns,
		   int64_t now_wall_s, struct bwl_err *e);

#endif
