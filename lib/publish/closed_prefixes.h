/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside lib: a revocation belongs to the prefix as well as to the name. Where a revoked peer moves
 * away, bwl_retired_v1 keeps the prefix, marked closed, until it is granted to somebody.
 */
#ifndef BWL_LIB_PLACES_H
#define BWL_LIB_PLACES_H

#include <bwl/closed_peers.h>
#include <bwl/generation.h>

/*
 * Every closed place: kept ones, and those of revoked peers, in force or gone. old NULL: none is in
 * force.
 */
int bwl_places_closed(struct bwl_pins *p, const struct bwl_gen *old, struct bwl_pfxset *ret,
		      struct bwl_err *e);
/*
 * By peer of pol: it takes a closed place that is not open now. The caller frees; NULL without
 * memory.
 */
bool *bwl_places_taken(struct bwl_pins *p, const struct bwl_gen *old,
		       const struct bwl_pfxset *closed, const struct bwl_policy *pol);
/* Before pol comes to hold: remembers the closed places that nobody has in it. */
int bwl_places_keep(struct bwl_pins *p, const struct bwl_pfxset *closed,
		    const struct bwl_policy *pol, struct bwl_err *e);
/* After a grant: the places that the peer has. */
void bwl_places_open(struct bwl_pins *p, const struct bwl_gen *g, uint32_t id);

#endif
