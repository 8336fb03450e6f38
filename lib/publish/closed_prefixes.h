/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside lib: a revocation belongs to the prefix as well as to the name. If a revoked peer leaves a
 * prefix, bwl_retired_v1 keeps it, marked closed, until a peer there gets a grant.
 */
#ifndef BWL_LIB_PLACES_H
#define BWL_LIB_PLACES_H

#include <bwl/closed_peers.h>
#include <bwl/generation.h>

/*
 * All closed prefixes: kept ones, and those of revoked peers, in force or gone. old NULL: no policy
 * is in force.
 */
int bwl_places_closed(struct bwl_pins *p, const struct bwl_gen *old, struct bwl_pfxset *ret,
		      struct bwl_err *e);
/*
 * By peer of pol: true if it takes a closed prefix that is not open now. The caller frees it; NULL:
 * no memory.
 */
bool *bwl_places_taken(struct bwl_pins *p, const struct bwl_gen *old,
		       const struct bwl_pfxset *closed, const struct bwl_policy *pol);
/* Before pol comes into force: keeps the closed prefixes that no peer has in it; NULL: all. */
int bwl_places_keep(struct bwl_pins *p, const struct bwl_pfxset *closed,
		    const struct bwl_policy *pol, struct bwl_err *e);
/*
 * The same where nothing may be refused: room is made (bwl_given_make_room()), and who still finds
 * none is named in a warning.
 */
int bwl_places_keep_all(struct bwl_pins *p, const struct bwl_pfxset *closed,
			const struct bwl_policy *pol, const struct bwl_gen *was,
			const struct bwl_gen *now, struct bwl_err *e);
/*
 * After the switch from `was`: who was revoked since the policy in force was built is closed by his
 * prefixes, too. now NULL: no policy is in force.
 */
int bwl_places_settle(struct bwl_pins *p, const struct bwl_gen *was, const struct bwl_gen *now,
		      struct bwl_err *e);
/*
 * Removes kept prefixes that a revoked peer has in the policy in force: bwl_places_closed() finds
 * them there, and keeps them when that peer leaves.
 */
void bwl_places_prune(struct bwl_pins *p, const struct bwl_gen *old);
/* After a grant: opens the prefixes that the peer has. */
void bwl_places_open(struct bwl_pins *p, const struct bwl_gen *g, uint32_t id);

#endif
