/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a peer of a policy does, beyond its own limits: the one reading of it, by which a policy is
 * checked, published into the maps, and compared with another (signed/widen.h).
 */
#ifndef BWL_EFFECTS_H
#define BWL_EFFECTS_H

#include <bwl/policy.h>

/* Where its packets go. Compared and hashed as bytes: padding is zero. */
struct bwl_hop {
	char uplink[16];           /* device */
	char remote[64];           /* the far DPU, to which it is encrypted; empty: clear */
	uint8_t via4[4], via6[16]; /* next hops on the link, network byte order; clear only */
	uint8_t mac[6];            /* zeroes: resolved by ARP or ND */
	bool has_via4, has_via6;
};
/* false: the policy has no uplink. */
bool bwl_effect_hop(const struct bwl_policy *pol, const struct bwl_pol_peer *q,
		    struct bwl_hop *ret);

/*
 * Refuses a grant that is empty (bwl_grant_is_empty()), with the next step. For edits that change
 * limits or mode: an end that comes sooner is welcome also where nothing is limited.
 */
int bwl_effect_grant(const char *name, const struct bwl_lim *grant, unsigned mode,
		     struct bwl_err *e);

/* What may arrive from it; false: nothing. */
bool bwl_effect_arrives(const struct bwl_pol_peer *q, struct bwl_lim *ret);

/*
 * enum bwl_action: what bwlimitd does at a sign of tampering (enum bwl_tamper_input). Without a
 * heartbeat nothing can be clamped (bwl_clamp()), and it revokes instead.
 */
unsigned bwl_effect_action(const struct bwl_policy *pol, unsigned input);

#endif
