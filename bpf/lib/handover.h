/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One look: what XDP has found out of a frame that it passes, TC need not find out again. It
 * travels in the packet's metadata, before the frame. Frames of one flow have the same, else GRO
 * would not merge them; length, segments and charge are TC's alone.
 *
 * A host may send metadata too (a frame that its XDP redirects to its end of a veth keeps it): so
 * it is believed only with this attachment's key, of this port, and of the policy that holds to
 * its last edit. What is missing or does not fit costs a look by TC, never a packet.
 */
#ifndef BWL_HANDOVER_H
#define BWL_HANDOVER_H

#include "ctx.h"

/* Programs of others run between XDP and TC (libxdp's dispatcher): they may change the frame. */
const volatile _Bool bwl_shared_xdp = 0;

#define BWL_HANDOVER_VERSION 1ULL /* another one with the struct, or with what XDP has judged */
struct bwl_handover {
	__u64 key;
	__u32 generation, edits; /* of bwl_ctl */
	__u32 id;                /* the peer; source and destination are judged */
	__u16 slot, port;
};

/*
 * Not to be guessed: 32 random bits and the nanosecond of the attachment. Written by bwlimit-load
 * before the programs are there.
 */
static __always_inline __u64 bwl_handover_key(const struct bwl_ctx *c)
{
	return ((__u64)c->ctl->tag << 32 | (__u32)c->ctl->attached_ns) + BWL_HANDOVER_VERSION;
}

/* XDP: metadata that came with the frame is nobody's word. */
static __always_inline void bwl_no_foreign_meta(struct xdp_md *xdp)
{
	int n = xdp->data - xdp->data_meta;

	if (bwl_unlikely(n > 0))
		bpf_xdp_adjust_meta(xdp, n);
}

/*
 * XDP, as the last thing before the frame is passed. Tagged frames are left to TC, which alone
 * sees a tag that is kept beside the frame. A driver may have no room for metadata.
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
 * TC, before anything touches the packet: the peer that XDP has found, 0: look. It is taken back,
 * so that nobody further on sees the key.
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
