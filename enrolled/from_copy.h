/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside: two policies brought to where they can be compared. */
#ifndef BWL_ENROLLED_FROM_COPY_H
#define BWL_ENROLLED_FROM_COPY_H

#include <bwl/policy.h>

/*
 * The policy that was accepted last, by the clocks of now; NULL: there is none that reads. dir: the
 * state directory, or NULL.
 */
struct bwl_policy *enrolled_accepted(const char *dir);
/* Rates and bursts as they come back from the maps: rounded down, by 2^-23 at most. */
void enrolled_round(struct bwl_policy *pol);
/*
 * What only a file has (`tamper`, `ipsec`, a peer's `ipsec: id`): of pol what `copy` says, the
 * accepted one, and where there is none, what `other` says.
 */
void enrolled_fill(struct bwl_policy *pol, const struct bwl_policy *copy,
		   const struct bwl_policy *other);
/* `until:` of a file that was read again drifts with the clocks' seconds: no later than it was. */
void enrolled_follow(const struct bwl_policy *from, struct bwl_policy *to);
/*
 * As the maps will have it, rounded; it shares what pol points to. from: whoever is revoked there
 * stays so; NULL: is as it says. Freed before pol is.
 */
struct bwl_policy enrolled_as_held(const struct bwl_policy *pol, const struct bwl_policy *from);
void enrolled_as_held_free(struct bwl_policy *held);

#endif
