/* SPDX-License-Identifier: GPL-2.0-only */
/* TC egress of an uplink: the last check of what leaves. */
#ifndef BWL_LAST_GATE_H
#define BWL_LAST_GATE_H

#include "dest.h"
#include "ike.h"
#include "offload.h"
#include "tc.h"
#include "underlay.h"

/* The kernel's answers about a packet that went up have its mark (fwmark_reflect). */
static __always_inline _Bool bwl_is_up(const struct bwl_ctx *c, __u32 mark)
{
	return !((mark ^ bwl_mark_up(c->ctl->tag)) & ~BWL_MARK_ID);
}

/*
 * The DPU's own packets have no ingress interface; but packets from a tunnel device have none,
 * either.
 */
static __always_inline _Bool bwl_is_own(const struct bwl_ctx *c, const struct __sk_buff *skb)
{
	return !skb->ingress_ifindex && !bwl_is_tagged(c, skb->mark);
}

/*
 * May cleartext of the live peer c->id leave through this device: to a clear peer, or because the
 * device encrypts it?
 */
static __always_inline _Bool bwl_may_be_clear(const struct bwl_ctx *c, __u32 ifindex)
{
	const struct bwl_tunnel *tun;

	if (c->peer->meta.path == BWL_PATH_CLEAR)
		return 1;
	tun = bwl_offloaded(c, c->id);
	return tun && bwl_device_sees(&c->pkt) && bwl_read(tun->out) == ifindex &&
	       bwl_offload_dev(c, tun);
}

/* ESP to this DPU, by the shortest parse? 0 also if more must be read. */
static __always_inline _Bool bwl_is_esp_to(struct __sk_buff *skb, const struct bwl_nexthop *nh)
{
	void *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = (void *)(long)skb->data;
	struct ipv6hdr *ip6 = (void *)(eth + 1);
	struct iphdr *ip = (void *)(eth + 1);
	__be32 *to = (void *)&ip6->daddr;
	__u16 type;

	if ((void *)(ip + 1) > end)
		return 0;
	type = ((__u16 *)eth)[6]; /* as in bwl_parse_plain() */
	if (type == bwl_htons(ETH_P_IP))
		return ip->version == 4 && ip->ihl == 5 && ip->protocol == IPPROTO_ESP &&
		       nh->has4 && ip->daddr == nh->via4;
	return type == bwl_htons(ETH_P_IPV6) && (void *)(ip6 + 1) <= end && ip6->version == 6 &&
	       ip6->nexthdr == IPPROTO_ESP && nh->has6 &&
	       !((to[0] ^ nh->via6[0]) | (to[1] ^ nh->via6[1]) | (to[2] ^ nh->via6[2]) |
		 (to[3] ^ nh->via6[3]));
}

/*
 * The common case at the last gate: ESP that the kernel made from a charged packet, whose mark it
 * keeps, to the DPU of a peer that is not revoked. bwl_leave() judges everything else. The mark
 * identifies the peer, and the policy the address of its DPU (an encrypted peer's next hop);
 * bwl_remote() would find the peer by the address, in a trie. The clock is read only for a grant
 * or a trial that ends: a crypto engine may have held the packet. Silence was judged when it was
 * charged.
 */
static __always_inline _Bool bwl_leave_esp(struct bwl_ctx *c, struct __sk_buff *skb)
{
	__u32 id = skb->mark & BWL_MARK_ID;
	__u64 ends;

	if (bwl_granted(c, id) != BWL_R_NONE || c->peer->meta.path == BWL_PATH_CLEAR ||
	    !bwl_is_esp_to(skb, bwl_nexthop_of(c)))
		return 0;
	ends = bwl_trial_ends(&c->w, c->ctl);
	if (ends > c->peer->meta.expiry_ns)
		ends = c->peer->meta.expiry_ns;
	if (ends != BWL_NEVER_NS && bwl_now() >= ends && !c->peer->grant.volume.floor)
		return 0;
	skb->mark = 0;
	return 1;
}

/* charon sends to this peer: learn the IKE SA. */
static __always_inline void bwl_ike_learn(const struct bwl_ctx *c, struct __sk_buff *skb, __u32 id)
{
	struct bwl_ike *x = bwl_ike_of(id);
	struct bwl_ike_hdr h;

	if (!x || !bwl_ike_read(skb, bwl_ike_at(&c->pkt), &h) || !bwl_ike_proves(&h))
		return;
	bwl_write(x->spi[0], h.spi[0]);
	bwl_write(x->spi[1], h.spi[1]);
}

/*
 * The kernel's own report of a device's multicast groups (IGMPv3, RFC 3376, 4.2; MLDv2, RFC 3810,
 * 5.2), which it sends as soon as the device has an address: behind a router alert, and only to the
 * link's routers. It does not leave, and is no sign of cleartext. No host and nobody on the wire
 * can trigger one, because their queries reach no socket. A forger on the DPU gains nothing: no
 * report leaves, while ND, which he could forge as well, does.
 */
static __always_inline _Bool bwl_is_group_report(const struct bwl_pkt *k)
{
	const __be32 *s = k->saddr, *d = k->daddr;

	if (!k->group || k->plain || k->fragment)
		return 0;
	if (k->family == 4)
		return k->proto == IPPROTO_IGMP && d[3] == bwl_htonl(0xe0000016); /* 224.0.0.22 */
	return k->family == 6 && k->proto == IPPROTO_ICMPV6 && d[0] == bwl_htonl(0xff020000) &&
	       !(d[1] | d[2]) && d[3] == bwl_htonl(0x16) &&
	       ((s[0] & bwl_htonl(0xffc00000)) == bwl_htonl(0xfe800000) ||
		!(s[0] | s[1] | s[2] | s[3]));
}

/*
 * The last gate lets out only what our program tagged at a host port, and that only as ESP to its
 * peer's DPU or because it may be in the clear now; otherwise only what the DPU itself made (no
 * ingress interface).
 */
static __always_inline int bwl_leave_as(struct bwl_ctx *c, struct __sk_buff *skb)
{
	__u32 remote = bwl_is_esp(&c->pkt) || bwl_is_ike(&c->pkt) ? bwl_remote(c, c->pkt.daddr) : 0;
	__u32 gso_size, hdr;
	int r;

	if (remote && bwl_is_esp(&c->pkt) && skb->mark == bwl_esp_mark(c, remote)) {
		skb->mark = 0;
		r = bwl_grant(c, remote);
		return r == BWL_R_NONE ? BWL_R_PASS_ESP : r;
	}
	if (bwl_is_tagged(c, skb->mark)) {
		__u32 id = bwl_dest(c, c->pkt.daddr), mark = skb->mark;

		skb->mark = 0;
		/*
		 * A packet to a device that encrypts comes through the tunnel device, with the
		 * peer's mark.
		 */
		if (mark != c->ctl->tag && mark != bwl_esp_mark(c, id))
			return BWL_R_GATE;
		r = bwl_grant(c, id);
		if (r != BWL_R_NONE && r != BWL_R_NO_PEER)
			return r; /* it ended after the charge: no sign of cleartext */
		return r == BWL_R_NONE && bwl_may_be_clear(c, skb->ifindex) ? BWL_R_PASS_GATE
									    : BWL_R_GATE;
	}
	if (!bwl_is_own(c, skb))
		return BWL_R_GATE;
	if (remote && bwl_is_ike(&c->pkt)) {
		bwl_ike_learn(c, skb, remote);
		return BWL_R_PASS_IKE;
	}
	r = bwl_underlay(c);
	if (r != BWL_R_NONE)
		return r;
	if (bwl_is_group_report(&c->pkt))
		return BWL_R_LOCAL_PROTO;
	if (!c->base->self_id || !c->pkt.family)
		return BWL_R_GATE;
	r = bwl_grant(c, bwl_dest(c, c->pkt.daddr));
	if (c->id != c->base->self_id)
		return BWL_R_GATE;
	if (r == BWL_R_NONE && c->peer->meta.path != BWL_PATH_CLEAR)
		r = BWL_R_NO_SA;
	gso_size = skb->gso_size;
	hdr = gso_size ? bwl_repeated(skb, &c->pkt) : 0;
	if (r == BWL_R_NONE)
		r = bwl_tc_as_judged(c, skb, gso_size, hdr);
	if (r == BWL_R_NONE)
		r = bwl_tc_cost(c, skb, gso_size, hdr);
	if (r == BWL_R_NONE)
		r = bwl_charge(&c->w, c->ctl, c->peer, c->base, c->port);
	return r == BWL_R_NONE ? BWL_R_PASS_SELF : r;
}

/*
 * What the kernel says about a packet from a host or the wire, or would forward of it, is no sign
 * of cleartext, because somebody outside could produce it at will. A charged packet came in through
 * a port; a packet with such a mark that did not is about one. Named control, and what is charged
 * to `self`, leave nevertheless.
 */
static __always_inline int bwl_leave(struct bwl_ctx *c, struct __sk_buff *skb)
{
	_Bool about = skb->mark == c->ctl->tag && !skb->ingress_ifindex,
	      up = bwl_is_up(c, skb->mark);
	int r = about ? BWL_R_REFLECTED : bwl_leave_as(c, skb);

	return r == BWL_R_GATE && up ? BWL_R_REFLECTED : r;
}

/*
 * Counts packets that the last gate stopped to their peer, if any: bwlimitd may revoke it. Before
 * the reason is counted, so that a reader of the reason finds every frame here.
 */
static __always_inline void bwl_stopped(struct bwl_ctx *c)
{
	struct bwl_state *s = 0;

	if (!c->id && c->pkt.family)
		c->id = bwl_dest(c, c->pkt.daddr);
	if (c->id)
		s = bwl_state_of(bwl_accept_state(c->id));
	if (s)
		__sync_fetch_and_add(&s->stopped, 1);
}

#endif
