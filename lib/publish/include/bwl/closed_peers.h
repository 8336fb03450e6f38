/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which peers of a policy have a place that is closed. */
#ifndef BWL_CLOSED_PEERS_H
#define BWL_CLOSED_PEERS_H

#include <bwl/pfxset.h>
#include <bwl/policy.h>

/* Every prefix of a policy with the number of its peer, sorted. */
void bwl_policy_prefixes(const struct bwl_policy *pol, struct bwl_pfxset *ret);
/* Is the narrower of a closed place and a peer's prefix open all the same? */
typedef bool (*bwl_is_open_fn)(const struct bwl_pfx *narrow, const struct bwl_pfxset_item *closed,
			       void *arg);
/*
 * Peers of pol with a prefix that has an address in common with a closed one, and was not opened
 * since. A closed place within a peer's prefix is none of the peer's where another one has just
 * that place: then its packets go there, and it is closed. ret: by peer; returns how many.
 */
size_t bwl_closed_find(const struct bwl_pfxset *closed, const struct bwl_policy *pol,
		       bwl_is_open_fn is_open, void *arg, bool *ret);

#endif
