/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies a signed grant to a policy: the result is compared like a whole policy (widen.h), so a
 * grant needs no rule of its own. It changes what it names of the peer's grant until it ends; then
 * the peer is at its floor, as after `bwlimit-ctl grant … for`.
 */
#ifndef BWL_SIGNED_GRANT_H
#define BWL_SIGNED_GRANT_H

#include <bwl/policy.h>
#include "signed/document.h"

/* Has the policy the peer, and, where the grant names no rate, a grant that has one? */
bool bwl_grant_fits(const struct bwl_policy *pol, const struct bwl_signed *d);
/*
 * `limit` has rate (or unlimited), burst, volume (or none) and mode, as in a policy file. What is
 * not named stays as pol has it; but a burst that is larger than the default for a rate that is
 * named becomes that default, as in grants of before. -ENOENT: bwl_grant_fits() says no. On failure
 * the policy may be half changed: free it.
 */
int bwl_grant_into(struct bwl_policy *pol, const struct bwl_signed *d, uint64_t now_boot_ns,
		   int64_t now_wall_s, struct bwl_err *e);

#endif
