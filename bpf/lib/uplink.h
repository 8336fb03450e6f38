/* SPDX-License-Identifier: GPL-2.0-only */
/* The uplink's two sides: what may come in, and the last gate for what goes out. */
#ifndef BWL_UPLINK_H
#define BWL_UPLINK_H

#include "charge.h"
#include "dest.h"
#include "source.h"
#include "tc.h"

#define BWL_TCP_SYN 0x02
#define BWL_TCP_ACK 0x10

static __always_inline _Bool bwl_port_is(__be16 port, __u16 a, __u16 b)
{
	return port == bwl_htons(a) || port == bwl_htons(b);
}

/*
 * Underlay control, each protocol only when the policy names it (uplink_control). By destination
 * port: what comes in reaches no other socket of the DPU. Answers to a BGP session that the DPU
 * opened come from port 179; they may not open one.
 */
static __always_inline _Bool bwl_is_control(const struct bwl_ctx *c)
{
	const struct bwl_pkt *k = &c->pkt;
	__u32 on = c->base->control;

	if (k->ethertype == 0x88cc)
		return on & (1U << BWL_CTL_LLDP);
	if (k->ethertype == 0x8809)
		return on & (1U << BWL_CTL_LACP);
	if (k->ethertype == 0x88f7)
		return on & (1U << BWL_CTL_PTP);
	if (k->fragment)
		return 0;
	if (k->proto == IPPROTO_TCP)
		return (on & (1U << BWL_CTL_BGP)) &&
		       (bwl_port_is(k->dport, 179, 179) ||
			(bwl_port_is(k->sport, 179, 179) &&
			 (k->tcp_flags & (BWL_TCP_SYN | BWL_TCP_ACK)) != BWL_TCP_SYN));
	if (k->proto != IPPROTO_UDP)
		return 0;
	if ((on & (1U << BWL_CTL_BFD)) && bwl_port_is(k->dport, 3784, 4784))
		return 1;
	if ((on & (1U << BWL_CTL_DHCP)) &&
	    (k->family == 4 ? bwl_port_is(k->dport, 67, 68) : bwl_port_is(k->dport, 546, 547)))
		return 1;
	return (on & (1U << BWL_CTL_PTP)) && bwl_port_is(k->dport, 319, 320);
}

/* ARP, ND and control share one small limit of the uplink. */
static __always_inline int bwl_underlay(struct bwl_ctx *c)
{
	_Bool control = bwl_is_control(c);
	int r;

	if (!control && !c->pkt.arp && !c->pkt.nd)
		return BWL_R_NONE;
	c->charge = c->len;
	r = bwl_charge_one(c, &c->port->neighbour, BWL_R_NEIGHBOUR_RATE);
	if (r != BWL_R_NONE)
		return r;
	return control ? BWL_R_PASS_CONTROL : BWL_R_PASS_NEIGHBOUR;
}

/* Which host port the address belongs to; -1 none. */
static __always_inline int bwl_owner(const struct bwl_ctx *c, const __be32 *addr)
{
	struct bwl_key_lpm6 key = { .prefixlen = 128 };
	__u32 slot = c->slot, *port = 0;
	void *m = bpf_map_lookup_elem(&bwl_own_v1, &slot);

	__builtin_memcpy(key.addr, addr, 16);
	if (m)
		port = bpf_map_lookup_elem(m, &key);
	return port ? (int)(*port % BWL_MAX_PORTS) : -1;
}

/* From the network: the peer's prefix to a host port's sources, within accept. */
static __always_inline int bwl_arrive(struct bwl_ctx *c, struct __sk_buff *skb)
{
	int r, port;

	if (bwl_tag(skb) >= 0 || c->pkt.nvid)
		return BWL_R_VLAN;
	r = bwl_grant(c, bwl_dest(c, c->pkt.saddr));
	if (r == BWL_R_NO_PEER)
		return BWL_R_UPLINK_IN;
	if (r != BWL_R_NONE)
		return r;
	if (c->peer->meta.path != BWL_PATH_CLEAR)
		return BWL_R_NO_SA;	/* an encrypted peer's clear packet is not from it */
	port = bwl_owner(c, c->pkt.daddr);
	if ((port < 0) != (c->id == c->base->self_id))
		return BWL_R_UPLINK_IN;	/* the DPU's own peers and the hosts' are apart */
	if (port >= 0 && !(c->peer->meta.from & 1ULL << (port & (BWL_MAX_PORTS - 1))))
		return BWL_R_FROM;	/* no answers to a port that may not ask */
	r = bwl_tc_cost(c, skb);
	if (r == BWL_R_NONE)
		r = bwl_charge_accept(c);
	if (r != BWL_R_NONE)
		return r;
	if (port < 0)
		return BWL_R_PASS_SELF;
	r = bwl_tc_deliver(c, port);
	return r == BWL_R_NONE ? BWL_R_PASS_ACCEPT : r;
}

/*
 * The last gate: in the clear only what our program tagged at a host port and may go in the
 * clear at this moment; otherwise only what the DPU made itself (no ingress interface).
 */
static __always_inline int bwl_leave(struct bwl_ctx *c, struct __sk_buff *skb)
{
	int r;

	if (skb->mark == c->ctl->tag) {
		r = bwl_grant(c, bwl_dest(c, c->pkt.daddr));
		skb->mark = 0;
		return r == BWL_R_NONE && c->peer->meta.path == BWL_PATH_CLEAR ? BWL_R_PASS_GATE
									       : BWL_R_GATE;
	}
	if (skb->ingress_ifindex)
		return BWL_R_GATE;
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
		r = bwl_tc_cost(c, skb);
	if (r == BWL_R_NONE)
		r = bwl_charge(c);
	return r == BWL_R_NONE ? BWL_R_PASS_SELF : r;
}

#endif
