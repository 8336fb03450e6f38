/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traffic of an uplink that belongs to no host, identified in both directions: underlay control,
 * ARP and ND, IKE, ESP, and the owner of a DPU's address.
 */
#ifndef BWL_UNDERLAY_H
#define BWL_UNDERLAY_H

#include "charge.h"

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
 * Underlay control: each protocol only if the policy names it (uplink_control). By destination
 * port: incoming packets reach no other socket of the DPU. Answers to a BGP session that the DPU
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

/*
 * The owner of an address: port id of a host port, BWL_OWN_REMOTE | peer id, or BWL_OWN_REMOTE:
 * none.
 */
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

/* The encrypted peer whose DPU has this address; 0: none. */
static __always_inline __u32 bwl_remote(const struct bwl_ctx *c, const __be32 *addr)
{
	__u32 owner = bwl_whose(c, addr);

	return owner & BWL_OWN_REMOTE ? owner & ~BWL_OWN_REMOTE : 0;
}

/*
 * No NAT on the underlay: both ends use the port of IKE (RFC 7296), or the NAT port, which MOBIKE
 * uses in any case (RFC 4555), and then ESP in UDP too (RFC 3948).
 */
static __always_inline _Bool bwl_is_ike(const struct bwl_pkt *k)
{
	return k->proto == IPPROTO_UDP && !k->fragment && k->sport == k->dport &&
	       bwl_port_is(k->dport, BWL_IKE_PORT, BWL_IKE_NAT_PORT);
}

/* Where its header begins: on the NAT port after four zero bytes (RFC 3948, 2.2). */
static __always_inline __u32 bwl_ike_at(const struct bwl_pkt *k)
{
	return k->hdr_len + (k->dport == bwl_htons(BWL_IKE_NAT_PORT) ? 4 : 0);
}

static __always_inline _Bool bwl_is_esp(const struct bwl_pkt *k)
{
	return k->proto == IPPROTO_ESP ||
	       (bwl_is_ike(k) && k->dport == bwl_htons(BWL_IKE_NAT_PORT));
}

#endif
