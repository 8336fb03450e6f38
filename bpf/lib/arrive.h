/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TC ingress of an uplink and of the tunnel device: ESP and IKE to the DPU, and what a peer sent,
 * through its SA or in the clear, to a host port.
 */
#ifndef BWL_ARRIVE_H
#define BWL_ARRIVE_H

#include "dest.h"
#include "ike.h"
#include "mtu.h"
#include "neighbour.h"
#include "tc.h"
#include "underlay.h"

/*
 * On this port IKE marks itself as not ESP by four zero bytes, which are not a valid SPI (RFC 3948,
 * 2.2). Packets with no more than ESP's header (8 bytes after UDP's own 8) go to charon's socket,
 * whatever they begin with (__xfrm4_udp_encap_rcv()): they count as IKE.
 */
static __always_inline _Bool bwl_is_esp_in_udp(const struct bwl_pkt *k, struct __sk_buff *skb)
{
	struct {
		__be16 len, check; /* the last half of UDP's header */
		__u32 spi;
	} u;

	return k->dport == bwl_htons(BWL_IKE_NAT_PORT) &&
	       !bpf_skb_load_bytes(skb, k->hdr_len - 4, &u, sizeof(u)) && u.spi &&
	       bwl_ntohs(u.len) > 16;
}

static __always_inline int bwl_ike(struct bwl_ctx *c, struct __sk_buff *skb, __u32 id)
{
	struct bwl_ike *x = bwl_ike_of(id);
	struct bwl_ike_hdr h = {};

	if (bwl_is_esp_in_udp(&c->pkt, skb))
		return BWL_R_PASS_IKE;
	/* a packet that is too short belongs to no SA */
	bwl_ike_read(skb, bwl_ike_at(&c->pkt), &h);
	if (x && bwl_ike_take(bwl_ike_word(x, &h), c->now_ns))
		return BWL_R_PASS_IKE;
	c->id = id; /* the peer whose key exchange suffers */
	return BWL_R_IKE_RATE;
}

/* ESP and IKE from the DPU of an encrypted peer to this DPU. */
static __always_inline int bwl_outer(struct bwl_ctx *c, struct __sk_buff *skb)
{
	__u32 id;
	int r;

	if (c->pkt.proto != IPPROTO_ESP && !bwl_is_ike(&c->pkt))
		return BWL_R_NONE;
	id = bwl_remote(c, c->pkt.saddr);
	if (!id)
		return BWL_R_NONE;
	if (!(bwl_whose(c, c->pkt.daddr) & BWL_OWN_REMOTE))
		return BWL_R_UPLINK_IN; /* to a host's address, in the clear */
	if (c->pkt.proto != IPPROTO_ESP)
		return bwl_ike(c, skb, id);
	r = bwl_grant(c, id);
	if (r != BWL_R_NONE)
		return r;
	c->id = 0; /* the inner packet is counted to the peer when it is decrypted */
	return BWL_R_PASS_ESP;
}

/* From the live peer c->id to a host port's sources, within accept. cost: of bwl_tc_cost(). */
static __always_inline int bwl_accept(struct bwl_ctx *c, struct __sk_buff *skb, int cost)
{
	__u32 port = bwl_whose(c, c->pkt.daddr);
	_Bool self = port & BWL_OWN_REMOTE;
	int r;

	if (self != (c->id == c->base->self_id))
		/* peers of the DPU itself and peers of the hosts are separate */
		return BWL_R_UPLINK_IN;
	port &= BWL_MAX_PORTS - 1;
	if (!self && !(c->peer->meta.from & 1ULL << port))
		return BWL_R_FROM; /* no answers to a port that may not send to the peer */
	r = cost;
	if (r == BWL_R_NONE)
		r = bwl_charge_accept(&c->w, c->peer);
	if (r != BWL_R_NONE)
		return r;
	if (self)
		return BWL_R_PASS_SELF;
	r = bwl_mss(c, skb);
	if (r == BWL_R_NONE)
		r = bwl_tc_deliver(c, skb, port);
	return r == BWL_R_NONE ? BWL_R_PASS_ACCEPT : r;
}

/*
 * from: the peer whose SA it came through; 0: in the clear from the network, which is allowed only
 * from the prefixes of a `clear` peer.
 *
 * What is refused counts to its peer as its sender was charged, as what passes does: GRO may have
 * merged segments, and then the frame has the headers of the first alone. Sums of both ends are
 * compared (docs/evidence.md). The port's reasons count what the hook saw. hdr: of bwl_tc_merged().
 */
static __always_inline int bwl_arrive(struct bwl_ctx *c, struct __sk_buff *skb, __u32 from,
				      __u32 gso_size, __u32 hdr)
{
	int r, cost;

	if (!from && (bwl_tag(skb) >= 0 || c->pkt.nvid))
		return BWL_R_VLAN;
	r = bwl_grant(c, from ? from : bwl_dest(c, c->pkt.saddr));
	c->tally = bwl_accept_state(c->id);
	if (r == BWL_R_NO_PEER && !from)
		return BWL_R_UPLINK_IN;
	cost = bwl_tc_as_judged(c, skb, gso_size, hdr);
	if (cost == BWL_R_NONE)
		cost = bwl_tc_cost(c, skb, gso_size, hdr);
	c->arrived = c->charge;
	if (r != BWL_R_NONE)
		return r;
	if ((c->peer->meta.path == BWL_PATH_CLEAR) == !!from)
		return BWL_R_NO_SA; /* a clear packet is not from an encrypted peer */
	/*
	 * The kernel does not check here that the inner source matches the SA, so it is checked
	 * here.
	 */
	if (from && bwl_dest(c, c->pkt.saddr) != from)
		return BWL_R_TUNNEL_SRC;
	return bwl_accept(c, skb, cost);
}

#endif
