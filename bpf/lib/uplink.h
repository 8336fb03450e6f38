/* SPDX-License-Identifier: GPL-2.0-only */
/* The uplink's two sides: what may come in, and the last gate for what goes out. */
#ifndef BWL_UPLINK_H
#define BWL_UPLINK_H

#include "charge.h"
#include "dest.h"
#include "ike.h"
#include "neighbour.h"
#include "offload.h"
#include "source.h"
#include "mtu.h"
#include "tc.h"

#define BWL_TCP_ACK 0x10

static __always_inline _Bool bwl_port_is(__be16 port, __u16 a, __u16 b)
{
	return port == bwl_htons(a) || port == bwl_htons(b);
}

/* Registered with IEEE and IANA. */
enum {
	BWL_ETH_LLDP = 0x88cc,
	BWL_ETH_SLOW = 0x8809, /* slow protocols: LACP */
	BWL_ETH_PTP = 0x88f7,

	BWL_L4_DHCP_SERVER = 67,
	BWL_L4_DHCP_CLIENT = 68,
	BWL_L4_BGP = 179,
	BWL_L4_PTP_EVENT = 319,
	BWL_L4_PTP_GENERAL = 320,
	BWL_L4_DHCP6_CLIENT = 546,
	BWL_L4_DHCP6_SERVER = 547,
	BWL_L4_BFD = 3784,
	BWL_L4_BFD_MULTIHOP = 4784,
};

/*
 * Underlay control, each protocol only when the policy names it (uplink_control). By destination
 * port: what comes in reaches no other socket of the DPU. Answers to a BGP session that the DPU
 * opened come from port 179; they may not open one.
 */
static __always_inline _Bool bwl_is_control(const struct bwl_ctx *c)
{
	const struct bwl_pkt *k = &c->pkt;
	__u32 on = c->base->control;

	if (k->ethertype == BWL_ETH_LLDP)
		return on & (1U << BWL_CONTROL_LLDP);
	if (k->ethertype == BWL_ETH_SLOW)
		return on & (1U << BWL_CONTROL_LACP);
	if (k->ethertype == BWL_ETH_PTP)
		return on & (1U << BWL_CONTROL_PTP);
	if (k->fragment)
		return 0;
	if (k->proto == IPPROTO_TCP)
		return (on & (1U << BWL_CONTROL_BGP)) &&
		       (k->dport == bwl_htons(BWL_L4_BGP) ||
			(k->sport == bwl_htons(BWL_L4_BGP) &&
			 (k->tcp_flags & (BWL_TCP_SYN | BWL_TCP_ACK)) != BWL_TCP_SYN));
	if (k->proto != IPPROTO_UDP)
		return 0;
	if ((on & (1U << BWL_CONTROL_BFD)) &&
	    bwl_port_is(k->dport, BWL_L4_BFD, BWL_L4_BFD_MULTIHOP))
		return 1;
	if ((on & (1U << BWL_CONTROL_DHCP)) &&
	    (k->family == 4 ? bwl_port_is(k->dport, BWL_L4_DHCP_SERVER, BWL_L4_DHCP_CLIENT)
			    : bwl_port_is(k->dport, BWL_L4_DHCP6_CLIENT, BWL_L4_DHCP6_SERVER)))
		return 1;
	return (on & (1U << BWL_CONTROL_PTP)) &&
	       bwl_port_is(k->dport, BWL_L4_PTP_EVENT, BWL_L4_PTP_GENERAL);
}

/* ARP, ND and control share one small limit of the uplink. */
static __always_inline int bwl_underlay(struct bwl_ctx *c)
{
	_Bool control = bwl_is_control(c);
	int r;

	if (!control && !c->pkt.arp && !c->pkt.nd)
		return BWL_R_NONE;
	c->charge = c->len;
	r = bwl_charge_one(&c->w, &c->port->neighbour, BWL_R_NEIGHBOUR_RATE);
	if (r != BWL_R_NONE)
		return r;
	return control ? BWL_R_PASS_CONTROL : BWL_R_PASS_NEIGHBOUR;
}

/* Whose address: port id of a host port, BWL_OWN_REMOTE | peer id, or BWL_OWN_REMOTE: nobody's. */
BWL_GLOBAL __u32 bwl_owner(__u32 generation, const struct bwl_key6 *addr)
{
	struct bwl_key_lpm6 key = { .prefixlen = 128 };
	__u32 slot = generation, *owner = 0;
	void *m = bpf_map_lookup_elem(&bwl_own_v1, &slot);

	if (!addr)
		return BWL_OWN_REMOTE;
	__builtin_memcpy(key.addr, addr->addr, 16);
	if (m)
		owner = bpf_map_lookup_elem(m, &key);
	return owner ? *owner : BWL_OWN_REMOTE;
}

static __always_inline __u32 bwl_whose(const struct bwl_ctx *c, const __be32 *addr)
{
	return bwl_owner(c->slot, (const struct bwl_key6 *)addr);
}

/* The encrypted peer whose DPU has this address; 0 none. */
static __always_inline __u32 bwl_remote(const struct bwl_ctx *c, const __be32 *addr)
{
	__u32 owner = bwl_whose(c, addr);

	return owner & BWL_OWN_REMOTE ? owner & ~BWL_OWN_REMOTE : 0;
}

/*
 * No NAT on the underlay: both ends use the port of IKE (RFC 7296), or that of its way through
 * NAT, which MOBIKE takes in any case (RFC 4555), and then ESP in UDP too (RFC 3948).
 */
static __always_inline _Bool bwl_is_ike(const struct bwl_pkt *k)
{
	return k->proto == IPPROTO_UDP && !k->fragment && k->sport == k->dport &&
	       bwl_port_is(k->dport, BWL_IKE_PORT, BWL_IKE_NAT_PORT);
}

static __always_inline _Bool bwl_is_esp(const struct bwl_pkt *k)
{
	return k->proto == IPPROTO_ESP ||
	       (bwl_is_ike(k) && k->dport == bwl_htons(BWL_IKE_NAT_PORT));
}

/*
 * By this port IKE says that it is not ESP (RFC 3948, 2.2): with 4 bytes of zero, which no SPI is.
 */
static __always_inline _Bool bwl_is_esp_in_udp(const struct bwl_pkt *k, struct __sk_buff *skb)
{
	__u32 spi = 0;

	return k->dport == bwl_htons(BWL_IKE_NAT_PORT) &&
	       !bpf_skb_load_bytes(skb, k->hdr_len, &spi, 4) && spi;
}

static __always_inline int bwl_ike(struct bwl_ctx *c, struct __sk_buff *skb, __u32 id)
{
	__u32 index = id & (BWL_IKE_WORDS - 1);
	__u64 *word = bpf_map_lookup_elem(&bwl_ike_word, &index);

	if (bwl_is_esp_in_udp(&c->pkt, skb) || (word && bwl_ike_take(word, c->now_ns)))
		return BWL_R_PASS_IKE;
	c->id = id; /* whose key exchange suffers */
	return BWL_R_IKE_RATE;
}

/* ESP and IKE from the DPU of an encrypted peer to this one. */
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
		return BWL_R_UPLINK_IN; /* for a host's address, in the clear */
	if (c->pkt.proto != IPPROTO_ESP)
		return bwl_ike(c, skb, id);
	r = bwl_grant(c, id);
	if (r != BWL_R_NONE)
		return r;
	c->id = 0; /* what is inside is counted to the peer when it comes out */
	return BWL_R_PASS_ESP;
}

/* What TC would refuse in any case, without its clock and its limits. */
static __always_inline int bwl_surely_not(struct bwl_ctx *c, int parsed)
{
	__u32 id;

	if (c->pkt.arp || c->pkt.nd || bwl_is_control(c))
		return BWL_R_NONE;
	if (parsed != BWL_R_NONE)
		return parsed;
	if (c->pkt.nvid)
		return BWL_R_VLAN;
	if ((c->pkt.proto == IPPROTO_ESP || bwl_is_ike(&c->pkt)) && bwl_remote(c, c->pkt.saddr))
		return BWL_R_NONE;
	id = bwl_dest(c, c->pkt.saddr);
	return id ? BWL_R_NONE : BWL_R_UPLINK_IN;
}

/* From the peer c->id, live: to a host port's sources, within accept. */
static __always_inline int bwl_accept(struct bwl_ctx *c, struct __sk_buff *skb)
{
	__u32 port = bwl_whose(c, c->pkt.daddr);
	_Bool self = port & BWL_OWN_REMOTE;
	int r;

	if (self != (c->id == c->base->self_id))
		return BWL_R_UPLINK_IN; /* the DPU's own peers and the hosts' are apart */
	port &= BWL_MAX_PORTS - 1;
	if (!self && !(c->peer->meta.from & 1ULL << port))
		return BWL_R_FROM; /* no answers to a port that may not ask */
	r = bwl_tc_cost(c, skb, skb->gso_size);
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
 * from: the peer whose SA it came through. 0: from the network in the clear, which only a `clear`
 * peer's prefixes may be.
 */
static __always_inline int bwl_arrive(struct bwl_ctx *c, struct __sk_buff *skb, __u32 from)
{
	int r;

	if (!from && (bwl_tag(skb) >= 0 || c->pkt.nvid))
		return BWL_R_VLAN;
	r = bwl_grant(c, from ? from : bwl_dest(c, c->pkt.saddr));
	c->tally = bwl_accept_state(c->id);
	if (r == BWL_R_NO_PEER && !from)
		return BWL_R_UPLINK_IN;
	if (r != BWL_R_NONE)
		return r;
	if ((c->peer->meta.path == BWL_PATH_CLEAR) == !!from)
		return BWL_R_NO_SA; /* an encrypted peer's clear packet is not from it */
	/* The kernel does not check what comes out of an SA against its policy here: we do. */
	if (from && bwl_dest(c, c->pkt.saddr) != from)
		return BWL_R_TUNNEL_SRC;
	return bwl_accept(c, skb);
}

/* What a packet to this peer has for a mark when it has become ESP: the kernel keeps it. */
static __always_inline __u32 bwl_esp_mark(const struct bwl_ctx *c, __u32 id)
{
	return (c->ctl->tag & ~BWL_MARK_ID) | (id & BWL_MARK_ID);
}

/* Charged at a host port: this boot's tag, whole or with a peer's id in it. */
static __always_inline _Bool bwl_is_tagged(const struct bwl_ctx *c, __u32 mark)
{
	return !((mark ^ c->ctl->tag) & ~BWL_MARK_ID);
}

/* What the kernel says about a packet that went up has its mark (fwmark_reflect). */
static __always_inline _Bool bwl_is_up(const struct bwl_ctx *c, __u32 mark)
{
	return !((mark ^ bwl_mark_up(c->ctl->tag)) & ~BWL_MARK_ID);
}

/*
 * The DPU's own packets have no ingress interface; but what left a tunnel device has none, either.
 */
static __always_inline _Bool bwl_is_own(const struct bwl_ctx *c, const struct __sk_buff *skb)
{
	return !skb->ingress_ifindex && !bwl_is_tagged(c, skb->mark);
}

/*
 * May cleartext of the live peer c->id leave by this device: to a clear peer, or to be encrypted by
 * it?
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

/* ESP to this DPU, by the shortest parse? 0 also where more must be read. */
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
 * What nearly everything is at the last gate: ESP that the kernel made of a charged packet, whose
 * mark it keeps, to the DPU of a peer that is not revoked. Whatever else it is, or lacks,
 * bwl_leave() judges. The mark says which peer, and the policy where its DPU is (an encrypted
 * peer's next hop): bwl_remote() would find the peer by the address, in a trie. The clock is read
 * only for a grant that ends: a crypto engine may have held the packet. Silence was judged when
 * it was charged.
 */
static __always_inline _Bool bwl_leave_esp(struct bwl_ctx *c, struct __sk_buff *skb)
{
	__u32 id = skb->mark & BWL_MARK_ID;

	if (bwl_granted(c, id) != BWL_R_NONE || c->peer->meta.path == BWL_PATH_CLEAR ||
	    !bwl_is_esp_to(skb, bwl_nexthop_of(c)))
		return 0;
	if (c->peer->meta.expiry_ns != BWL_NEVER_NS && bwl_now() >= c->peer->meta.expiry_ns &&
	    !c->peer->grant.volume.floor)
		return 0;
	skb->mark = 0;
	return 1;
}

/*
 * The last gate: only what our program tagged at a host port, and that either as ESP to its
 * peer's DPU or because it may go in the clear at this moment; otherwise only what the DPU made
 * itself (no ingress interface).
 */
static __always_inline int bwl_leave_as(struct bwl_ctx *c, struct __sk_buff *skb)
{
	__u32 remote = bwl_is_esp(&c->pkt) || bwl_is_ike(&c->pkt) ? bwl_remote(c, c->pkt.daddr) : 0;
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
		 * To a device that encrypts it comes by way of the tunnel device, with the peer's
		 * mark.
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
	if (remote && bwl_is_ike(&c->pkt))
		return BWL_R_PASS_IKE;
	r = bwl_underlay(c);
	if (r != BWL_R_NONE)
		return r;
	if (!c->base->self_id || !c->pkt.family)
		return BWL_R_GATE;
	r = bwl_grant(c, bwl_dest(c, c->pkt.daddr));
	if (c->id != c->base->self_id)
		return BWL_R_GATE;
	if (r == BWL_R_NONE && c->peer->meta.path != BWL_PATH_CLEAR)
		r = BWL_R_NO_SA;
	if (r == BWL_R_NONE)
		r = bwl_tc_cost(c, skb, skb->gso_size);
	if (r == BWL_R_NONE)
		r = bwl_charge(&c->w, c->peer, c->base, c->port);
	return r == BWL_R_NONE ? BWL_R_PASS_SELF : r;
}

/*
 * What the kernel says about a packet of a host or of the wire, or would forward of it, is no sign
 * of cleartext, which somebody out there could give at will. A packet that was charged has come in
 * by a port; one with just its mark that has not is about it. Named control and what `self` is
 * charged for leave all the same.
 */
static __always_inline int bwl_leave(struct bwl_ctx *c, struct __sk_buff *skb)
{
	_Bool about = skb->mark == c->ctl->tag && !skb->ingress_ifindex,
	      up = bwl_is_up(c, skb->mark);
	int r = about ? BWL_R_REFLECTED : bwl_leave_as(c, skb);

	return r == BWL_R_GATE && up ? BWL_R_REFLECTED : r;
}

/*
 * Counts what the last gate stopped to the peer it was for, if any: bwlimitd may revoke that one.
 * Before the reason is counted, so that who reads the reason first finds every frame of it here.
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
