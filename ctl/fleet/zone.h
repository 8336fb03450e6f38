/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is in a zone, by the policies of the store, where trays hold those: a policy in the store may
 * be one that a tray refuses, or has not taken, and in the one that it holds others are in the
 * zone.
 */
#ifndef BWL_CTL_FLEET_ZONE_H
#define BWL_CTL_FLEET_ZONE_H

#include "fleet.h"

/*
 * *ret: a list of names, the caller's, whatever comes back. -ESTALE: a tray holds another policy,
 * or, under a root, nothing that its key signed just now says which. assume: trays,
 * comma-separated, or `all`, of which it is assumed that they hold what is in the store; each is
 * named on standard error. What a tray says itself now is never assumed away, nor by `all` what
 * speaks against it.
 */
int fleet_zone_peers(struct fleet *f, const char *audience, const char *zone, const char *assume,
		     json_t **ret);

#endif
