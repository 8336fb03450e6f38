/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a policy with `heartbeat: none`, or without a lease, may end: silence, but no clamp. */
#ifndef BWL_PUBLISH_SILENCE_H
#define BWL_PUBLISH_SILENCE_H

#include <bwl/generation.h>
#include <bwl/policy.h>

/* -EPERM while everything is clamped: only a heartbeat's deadline keeps grants at their floors. */
int bwl_silence_refuses(struct bwl_pins *p, const struct bwl_policy *pol, struct bwl_err *e);
/* A sentence about what held in old and pol no longer asks for; NULL: nothing did. */
const char *bwl_silence_waived(const struct bwl_pins *p, const struct bwl_gen *old,
			       const struct bwl_policy *pol);
/* After the switch to g: a clamp that came meanwhile, where nothing heeds it, becomes a revocation.
 */
void bwl_silence_keep(struct bwl_pins *p, const struct bwl_gen *g);

#endif
