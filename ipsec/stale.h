/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SAs that were made for something else than what the policy says now: the DPU of a peer has
 * another address or identity, or the peer another id. charon itself keeps them until they expire:
 * who holds the old DPU would stay the peer.
 */
#ifndef BWL_IPSEC_STALE_H
#define BWL_IPSEC_STALE_H

#include "ipsec/conn.h"

/*
 * Ends them. Identities that are patterns or distinguished names are not compared. *ret: how many.
 */
int bwl_ipsec_end_stale(struct bwl_vici *v, json_t *tree, unsigned *ret, struct bwl_err *e);

/* The peer's id that a connection of the tree is for: its mark where it has one, else its if_id. */
uint32_t bwl_ipsec_peer_id(json_t *conn);

#endif
