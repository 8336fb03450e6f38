/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The peers of a zone, by the policies of the store, if trays hold those: a policy in the store may
 * be one that a tray refuses, or has not taken, and the one that it holds may have other peers in
 * the zone.
 */
#ifndef BWL_CTL_FLEET_ZONE_H
#define BWL_CTL_FLEET_ZONE_H

#include "fleet.h"

/*
 * *ret: a list of names, the caller's, in every case. -ESTALE: a tray holds another policy, or,
 * under a root, nothing that its key has just signed says which. assume: trays, comma-separated, or
 * `all`, which are assumed to hold what is in the store; each is named on standard error. What a
 * tray reports itself is never overridden, nor does `all` override contradictions.
 */
int fleet_zone_peers(struct fleet *f, const char *audience, const char *zone, const char *assume,
		     json_t **ret);

/*
 * Takes the names that no policy for that audience has, nor had before a rollout, out of `peers`,
 * and into *unknown, a list of {"peer", "why"}, the caller's. What does not verify counts here: it
 * only makes a name known. What could not be read in 5 s, or at all, delays or prevents no order:
 * then all stay in `peers`, with a warning.
 */
int fleet_known_peers(struct fleet *f, const char *audience, json_t *peers, json_t **unknown);

#endif
