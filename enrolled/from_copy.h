/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal: makes two policies comparable. */
#ifndef BWL_ENROLLED_FROM_COPY_H
#define BWL_ENROLLED_FROM_COPY_H

#include <bwl/policy.h>

/*
 * The policy that was accepted last, by the present clocks; NULL: none can be read. dir: the state
 * directory, or NULL.
 */
struct bwl_policy *enrolled_accepted(const char *dir);
/* Rounds rates and bursts as the maps do: down, by 2^-23 at most. */
void enrolled_round(struct bwl_policy *pol);
/*
 * Fills in pol what only a file has (`tamper`, `ipsec`, a peer's `ipsec: id`): from `copy`, the
 * accepted policy, or from `other` if there is none.
 */
void enrolled_fill(struct bwl_policy *pol, const struct bwl_policy *copy,
		   const struct bwl_policy *other);
/*
 * The `until:` of a file that is read again moves with the clocks' seconds: this makes it no later
 * than before.
 */
void enrolled_follow(const struct bwl_policy *from, struct bwl_policy *to);
/*
 * The policy as the maps will have it, rounded; it shares what pol points to. from: peers that are
 * revoked there stay revoked; NULL: as pol says. Free it before pol.
 */
struct bwl_policy enrolled_as_held(const struct bwl_policy *pol, const struct bwl_policy *from);
void enrolled_as_held_free(struct bwl_policy *held);

#endif
