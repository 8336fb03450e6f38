/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * XDP passes its findings about a frame to TC, which need not repeat them. They travel in the
 * packet's metadata, before the frame. Frames of one flow have the same findings, otherwise GRO
 * would not merge them; length, segments and charge are left to TC.
 *
 * A host can send metadata, too (a frame that its XDP redirects to its end of a veth keeps it). So
 * it is trusted only with this attachment's key, for this port, and for the policy in force up to
 * its last edit. Missing or wrong metadata costs TC a parse, never a packet.
 */
#ifndef BWL_HANDOVER_H
#define BWL_HANDOVER_H

#include "ctx.h"

/* Foreign programs run between XDP and TC (libxdp's dispatcher): they may change the frame. */
const volatile _Bool bwl_shared_xdp = 0;

#define BWL_HANDOVER_VERSION 1ULL /* changes with the struct, or with what XDP judges */
struct bwl_handover {
	__u64 key;
	__u32 generation, edits; /* of bwl_ctl */
	__u32 id;                /* the peer; source and destination have been judged */
	__u16 slot, port;
};

/*
 * Unguessable: 32 random bits and the nanosecond of the attachment. bwlimit-load writes it before
 * the programs are attached.
 */
static __always_inline __u64 bwl_handover_key(const struct bwl_ctx *c)
{
	return ((__u64)c->ctl->tag << 32 | (__u32)c->ctl->attached_ns) + BWL_HANDOVER_VERSION;
}

/* XDP: removes metadata that came with the frame, because it cannot be trusted. */
static __always_inline void bwl_no_foreign_meta(struct xdp_md *xdp)
{
	int n = xdp->data - xdp->data_meta;

	if (bwl_unlikely(n > 0))
		bpf_xdp_adjust_meta(xdp, n);
}

/*
 * XDP: the last step before the frame is passed. Tagged frames are left to TC, because only TC sees
 * a tag that is kept beside the frame. A driver may have no room for metadata.
 */
static __always_inline void bwl_hand_over(const struct bwl_ctx *c, struct xdp_md *xdp, __u32 id)
{
	struct bwl_handover *h;

	if (bwl_shared_xdp || c->pkt.nvid || bpf_xdp_adjust_meta(xdp, -(int)sizeof(*h)))
		return;
	h = (void *)(long)xdp->data_meta;
	if ((void *)(h + 1) > (void *)(long)xdp->data)
		return;
	*h = (struct bwl_handover){
		.key = bwl_handover_key(c),
		.generation = bwl_read(c->ctl->generation),
		.edits = bwl_read(c->ctl->edits),
		.id = id,
		.slot = c->slot,
		.port = c->port_id,
	};
}

/*
 * TC, before anything changes the packet: the peer that XDP has found; 0: parse. It is removed, so
 * that nobody later sees the key.
 */
static __always_inline __u32 bwl_handed_over(const struct bwl_ctx *c, struct __sk_buff *skb)
{
	struct bwl_handover *h = (void *)(long)skb->data_meta;

	if ((void *)(h + 1) > (void *)(long)skb->data || h->key != bwl_handover_key(c))
		return 0;
	h->key = 0;
	if (h->slot != c->slot || h->port != c->port_id ||
	    h->generation != bwl_read(c->ctl->generation) || h->edits != bwl_read(c->ctl->edits) ||
	    skb->vlan_present)
		return 0;
	return h->id;
}

#endif
