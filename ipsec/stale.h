/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SAs that no longer match the policy: the peer's DPU has another address or identity, or the peer
 * another id. charon itself keeps them until they expire: the old DPU would remain the peer.
 */
#ifndef BWL_IPSEC_STALE_H
#define BWL_IPSEC_STALE_H

#include "ipsec/conn.h"

/* Ends them. Patterns and distinguished names are not compared. *ret: how many. */
int bwl_ipsec_end_stale(struct bwl_vici *v, json_t *tree, unsigned *ret, struct bwl_err *e);

/* The peer id of a connection in the tree: its mark if it has one, otherwise its if_id. */
uint32_t bwl_ipsec_peer_id(json_t *conn);

#endif
