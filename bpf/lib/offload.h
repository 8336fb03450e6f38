/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Path `offload`: charged packets go in the clear to an uplink whose hardware encrypts them (packet
 * offload), by XDP straight from the host port. TC egress does not see such a packet: the device
 * itself is the last gate, with the drop policies beneath the peer's own.
 *
 * XDP leaves to TC, uncharged, what it cannot carry, and sends or drops what it has charged. So a
 * packet is charged once.
 */
#ifndef BWL_OFFLOAD_H
#define BWL_OFFLOAD_H

#include "charge.h"
#include "dest.h"

/*
 * This copy runs in a driver, on a kernel with packet offload of policies (6.2): user space sets
 * this before loading. Otherwise the verifier sees none of this.
 */
const volatile _Bool bwl_xdp_may_carry = 0;

/* Is the carrying by devices being tracked? */
static __always_inline _Bool bwl_is_tracked(const struct bwl_ctx *c)
{
	return c->now_ns < bwl_read(c->ctl->tracked_until_s) * 1000000000ULL;
}

/* The entry of a peer that its uplink's hardware carries at this moment; otherwise NULL. */
static __always_inline const struct bwl_tunnel *bwl_offloaded(const struct bwl_ctx *c, __u32 id)
{
	const struct bwl_tunnel *tun = bpf_map_lookup_elem(&bwl_tunnel_v1, &id);
	__u8 want = BWL_TUN_SA | BWL_TUN_BENEATH;

	if (!tun || !bwl_is_tracked(c))
		return 0;
	return (bwl_read(tun->flags) & want) == want && bwl_read(tun->offload) == BWL_OFFLOAD_PACKET
		       ? tun
		       : 0;
}

/* The uplink of the peer's policy, if that device carries it; otherwise NULL. */
static __always_inline const struct bwl_dev *bwl_offload_dev(const struct bwl_ctx *c,
							     const struct bwl_tunnel *tun)
{
	const struct bwl_nexthop *nh =
		&c->base->nexthop[bwl_mask(c->peer->meta.nexthop, BWL_MAX_NEXTHOPS - 1)];
	const struct bwl_dev *dev;
	__u32 port = nh->port;

	dev = bpf_map_lookup_elem(&bwl_dev_v1, &port);
	return dev && dev->ifindex && (dev->kind & BWL_PORT_UPLINK) &&
			       dev->ifindex == bwl_read(tun->out)
		       ? dev
		       : 0;
}

/*
 * Packets that hardware reliably matches with its policies. Devices (mlx5) ignore fragments, and
 * what is behind IPv4 options and extension headers: such a packet would bypass all policies,
 * including drop policies. Key exchange in the clear passes by its own policies, which a host could
 * abuse.
 */
static __always_inline _Bool bwl_device_sees(const struct bwl_pkt *k)
{
	return k->plain && k->proto != IPPROTO_ESP && k->proto != IPPROTO_AH &&
	       !(k->proto == IPPROTO_UDP &&
		 (k->sport == bwl_htons(BWL_IKE_PORT) || k->sport == bwl_htons(BWL_IKE_NAT_PORT) ||
		  k->dport == bwl_htons(BWL_IKE_PORT) || k->dport == bwl_htons(BWL_IKE_NAT_PORT)));
}

/*
 * May XDP carry this packet to this peer? Not what TC does better, or only TC can do: removing
 * tags, charging fragments of a multi-buffer frame (jumbo frames, a host's GSO packets over veth),
 * answering packets too big with ESP around them, and lowering a SYN's MSS.
 */
static __always_inline const struct bwl_tunnel *bwl_xdp_carries(struct bwl_ctx *c, __u32 id,
								__u32 linear)
{
	const struct bwl_tunnel *tun;
	__u32 most = c->base->mtu + sizeof(struct ethhdr);

	if (!bwl_xdp_may_carry || !bwl_read(c->ctl->tracked_until_s) || c->pkt.nvid ||
	    c->len != linear || !bwl_device_sees(&c->pkt) || (c->pkt.tcp_flags & BWL_TCP_SYN))
		return 0;
	if (!c->now_ns)
		c->now_ns = bwl_now_late(c->resumes, &c->exact);
	tun = bwl_offloaded(c, id);
	if (!tun || !(bwl_read(tun->flags) & BWL_TUN_XDP) || !tun->overhead)
		return 0;
	return c->len + tun->overhead <= most ? tun : 0;
}

/* One frame, no segments: there is no GSO here. */
static __always_inline void bwl_xdp_cost(struct bwl_ctx *c)
{
	c->charge = c->len < c->base->min_charge ? c->base->min_charge : c->len;
}

/* One 16-bit word of an IPv4 header changes (RFC 1624, equation 3). */
static __always_inline __be16 bwl_csum_word(__be16 check, __be16 was, __be16 is)
{
	__u32 sum = (__u16)~check + (__u32)(__u16)~was + is;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__be16)~sum;
}

/*
 * Sets CE if the sender's transport supports it (RFC 3168), like bpf_skb_ecn_set_ce(). Returns
 * whether it is set.
 */
static __always_inline _Bool bwl_xdp_set_ce(void *l3, __u8 family)
{
	__be16 was, *word = l3; /* version and length or class, type of service */
	__u8 *b = l3, ecn;

	ecn = family == 4 ? b[1] & 3 : b[1] >> 4 & 3;
	if (!ecn)
		return 0;
	was = *word;
	b[1] |= family == 4 ? 3 : 0x30;
	if (family == 4)
		((struct iphdr *)l3)->check = bwl_csum_word(((struct iphdr *)l3)->check, was,
							    *word);
	return 1;
}

/* For the comparison with the uplink's own counters (agent/tamper/counters.c). */
static __always_inline void bwl_xdp_sent(const struct bwl_ctx *c)
{
	const struct bwl_nexthop *nh =
		&c->base->nexthop[bwl_mask(c->peer->meta.nexthop, BWL_MAX_NEXTHOPS - 1)];
	__u32 index = (BWL_MAX_PORTS + nh->port) * BWL_REASON_COLUMNS + BWL_REASON_XDP;
	struct bwl_reason_count *n = bpf_map_lookup_elem(&bwl_reason_v1, &index);

	if (!n)
		return;
	n->frames++;
	n->bytes += c->len;
}

/*
 * Prepares the frame for the uplink: from the uplink's own MAC to the next hop, which no host
 * chose, and without the flow label, which could reach the outer header.
 */
static __always_inline int bwl_xdp_send(struct bwl_ctx *c, struct xdp_md *xdp,
					const struct bwl_tunnel *tun, const struct bwl_dev *dev)
{
	void *data = (void *)(long)xdp->data, *end = (void *)(long)xdp->data_end;
	__u64 mac = bwl_read(tun->next_mac);
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > end || !mac)
		return BWL_R_SEND;
	__builtin_memcpy(eth->h_dest, &mac, 6);
	__builtin_memcpy(eth->h_source, dev->mac, 6);
	if (c->pkt.family == 6)
		*(__be32 *)ip &= bwl_htonl(0xfff00000);
	if (c->ce)
		c->ce = bwl_xdp_set_ce(ip, c->pkt.family);
	if (bpf_redirect(dev->ifindex, 0) != XDP_REDIRECT)
		return BWL_R_SEND;
	bwl_xdp_sent(c);
	return BWL_R_NONE;
}

#endif
