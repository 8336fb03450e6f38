/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds peers of a policy with a closed prefix. */
#ifndef BWL_CLOSED_PEERS_H
#define BWL_CLOSED_PEERS_H

#include <bwl/pfxset.h>
#include <bwl/policy.h>

/* Every prefix of a policy with its peer's index, sorted. */
void bwl_policy_prefixes(const struct bwl_policy *pol, struct bwl_pfxset *ret);
/* Is the narrower one of a closed prefix and a peer's prefix open nevertheless? */
typedef bool (*bwl_is_open_fn)(const struct bwl_pfx *narrow, const struct bwl_pfxset_item *closed,
			       void *arg);
/*
 * Finds peers of pol with a prefix that overlaps a closed one and has not been opened since. A
 * closed prefix within a peer's prefix does not count if another peer has exactly that prefix: its
 * packets go there, and that peer is closed. ret: by peer; returns their number.
 */
size_t bwl_closed_find(const struct bwl_pfxset *closed, const struct bwl_policy *pol,
		       bwl_is_open_fn is_open, void *arg, bool *ret);

#endif
