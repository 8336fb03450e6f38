/* SPDX-License-Identifier: GPL-2.0-only */
/* What only the TC hooks need: the skb's view of a packet, its cost, and the way out. */
#ifndef BWL_TC_H
#define BWL_TC_H

#include <linux/pkt_cls.h>
#include <bpf/bpf_core_read.h>
#include "deferred.h"
#include "dest.h"
#include "latency.h"
#include "offload.h"
#include "segments.h"

#define BWL_PULL 192 /* bytes made linear: Ethernet, two tags, IPv6, a few extensions, TCP */
#define BWL_PACKET_MULTICAST 2 /* linux/if_packet.h */
#define BWL_PACKET_OTHERHOST 3
#define BWL_AF_INET 2
#define BWL_AF_INET6 10

/* TC keeps the outer tag beside the frame: it is missing from data and skb->len. */
static __always_inline int bwl_tag(const struct __sk_buff *skb)
{
	return skb->vlan_present ? (int)(skb->vlan_tci & 0x0fff) : -1;
}

/*
 * Global, so that the verifier walks the parser once, and not the rest of the program once for
 * every path through the parser: Linux 6.12 merges fewer of those than 6.18 and gives up at a
 * million instructions.
 */
BWL_GLOBAL int bwl_tc_parse(struct __sk_buff *skb, struct bwl_pkt *k)
{
	__u32 want = skb->len < BWL_PULL ? skb->len : BWL_PULL;

	if (!k)
		return BWL_R_TRUNCATED;
	if ((void *)(long)skb->data + want > (void *)(long)skb->data_end &&
	    bpf_skb_pull_data(skb, want))
		return BWL_R_TRUNCATED;
	return bwl_parse(k, (void *)(long)skb->data, (void *)(long)skb->data_end, skb->len,
			 skb->len > BWL_IP_MAX && skb->gso_size);
}

/* A host's packets are nearly always plain. k need not be zeroed. */
static __always_inline int bwl_tc_parse_host(struct __sk_buff *skb, struct bwl_pkt *k)
{
	if (bwl_likely(bwl_parse_plain(k, (void *)(long)skb->data, (void *)(long)skb->data_end,
				       skb->len)))
		return BWL_R_NONE;
	*k = (struct bwl_pkt){};
	return bwl_tc_parse(skb, k);
}

/*
 * A GSO packet that has come in at the port of row: counts the frames, and their bytes, that it
 * holds beyond the one that reasons count, where GRO has merged them. Returns the headers that each
 * segment repeats, bytes; 0: not known. A packet that a process made has no number of segments: its
 * device received one (veth), and it has not been cut yet.
 */
BWL_GLOBAL __u32 bwl_merged(struct __sk_buff *skb, const struct bwl_pkt *k, __u32 row)
{
	__u32 index = row * BWL_REASON_COLUMNS + BWL_REASON_SEGMENTS, more = skb->gso_segs, hdr;
	struct bwl_reason_count *n = bpf_map_lookup_elem(&bwl_reason_v1, &index);

	if (!k)
		return 0;
	hdr = bwl_repeated(skb, k);
	if (n && more) {
		n->frames += more - 1;
		n->bytes += (__u64)(more - 1) * bwl_above(hdr, bwl_jumbo(k));
	}
	return hdr;
}

/* The same for every packet, once it is parsed. */
static __always_inline __u32 bwl_tc_merged(const struct bwl_ctx *c, struct __sk_buff *skb,
					   __u32 *gso_size)
{
	__u32 hdr = 0;
	__u16 scratch;

	if (bwl_unlikely(*gso_size))
		hdr = bwl_merged(skb, &c->pkt, c->port_id);
	*gso_size = bwl_forget(&scratch, *gso_size); /* else what follows is walked twice */
	return bwl_forget(&scratch, hdr);
}

/* Will it leave as what was judged? hdr: of bwl_tc_merged(). */
static __always_inline int bwl_tc_as_judged(const struct bwl_ctx *c, struct __sk_buff *skb,
					    __u32 gso_size, __u32 hdr)
{
	if (bwl_unlikely(gso_size && !hdr))
		return BWL_R_MALFORMED;
	return bwl_has_deferred(skb) ? bwl_deferred(skb, &c->pkt) : BWL_R_NONE;
}

/*
 * Bytes on the wire (without FCS): every segment of a GSO packet with its headers. Segment count
 * and size come from the host: they may raise the count, but never lower it below what the uplink's
 * MTU requires. hdr: of bwl_tc_merged(). 0: no segment has room for anything.
 */
BWL_GLOBAL __u32 bwl_gso_cost(struct __sk_buff *skb, const struct bwl_pkt *k,
			      const struct bwl_base *b, __u32 gso_size, __u32 hdr)
{
	__u32 len = skb->len, tags = skb->vlan_present * 4, mtu, payload, segs, n;
	__u64 cost;

	if (!k || !b || !gso_size)
		return 0;
	len = bwl_above(len, bwl_jumbo(k));
	hdr = bwl_above(hdr, bwl_jumbo(k));
	cost = (__u64)len + tags;
	mtu = b->mtu + k->l3_off;
	payload = bwl_above(len, hdr);
	if (mtu <= hdr)
		return 0;
	segs = (payload + (mtu - hdr) - 1) / (mtu - hdr);
	n = (payload + gso_size - 1) / gso_size;
	if (n > segs)
		segs = n;
	if (skb->gso_segs > segs)
		segs = skb->gso_segs;
	if (!segs)
		segs = 1;
	if (segs > 1)
		cost += (__u64)(segs - 1) * (hdr + tags);
	if (cost < (__u64)segs * b->min_charge)
		cost = (__u64)segs * b->min_charge;
	return cost > 0x7fffffff ? 0x7fffffff : cost;
}

/* Its charge, and does it fit? hdr: of bwl_tc_merged(), known. */
static __always_inline int bwl_tc_cost(struct bwl_ctx *c, struct __sk_buff *skb, __u32 gso_size,
				       __u32 hdr)
{
	__u32 cost;

	if (gso_size) {
		c->charge = bwl_gso_cost(skb, &c->pkt, c->base, gso_size, hdr);
		return c->charge ? BWL_R_NONE : BWL_R_TOO_BIG;
	}
	cost = c->len + skb->vlan_present * 4;
	c->charge = cost < c->base->min_charge ? c->base->min_charge : cost;
	return c->len > c->base->mtu + c->pkt.l3_off ? BWL_R_TOO_BIG : BWL_R_NONE;
}

/* Tags end here: they were checked, and the uplink's own network decides about its tags. */
static __always_inline int bwl_tc_untag(struct bwl_ctx *c, struct __sk_buff *skb)
{
	__u32 n = c->pkt.nvid + skb->vlan_present; /* 0 or 1 */

	if (n > 0 && bpf_skb_vlan_pop(skb))
		return BWL_R_SEND;
	if (n > 1 && bpf_skb_vlan_pop(skb))
		return BWL_R_SEND;
	return BWL_R_NONE;
}

/* bpf_skb_set_tstamp(): kernel 5.18. Before, a redirect forgets the departure time. */
static __always_inline _Bool bwl_can_pace(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_skb_set_tstamp);
}

/*
 * Sets the departure time, for fq, on its clock. It survives ESP: an xfrm interface keeps delivery
 * times (skb_clear_tstamp(), kernel 5.18).
 */
static __always_inline int bwl_tc_depart(struct bwl_ctx *c, struct __sk_buff *skb)
{
	if (!c->delay_ns || !bwl_can_pace())
		return BWL_R_NONE;
	return bpf_skb_set_tstamp(skb, bwl_now_mono() + c->delay_ns, BPF_SKB_TSTAMP_DELIVERY_MONO)
		       ? BWL_R_SEND
		       : BWL_R_NONE;
}

/* The largest inner packet of an encrypted peer: never above the kernel's own result. */
static __always_inline __u32 bwl_mtu_inside(const struct bwl_ctx *c, const struct bwl_tunnel *tun)
{
	__u32 more = tun ? bwl_read(tun->overhead) : 0;

	if (!more)
		more = BWL_ESP_MAX;
	return bwl_above(c->base->mtu, more);
}

/*
 * The peer's SA is in a device, which encrypts cleartext that is sent to it: straight to the
 * uplink, as XDP does, and through the last gate, if the next hop's MAC is known. Otherwise the
 * kernel sends it, because the MAC must be resolved; its path finishes every packet as one of the
 * outer family (xfrm_dev_direct_output(), 6.12: no TCP of IPv6 inside IPv4). Packets that the last
 * gate would stop end here, uncharged.
 */
static __always_inline int bwl_tc_device(struct bwl_ctx *c, const struct bwl_tunnel *tun)
{
	const struct bwl_dev *dev = bwl_offload_dev(c, tun);

	if (!dev || !bwl_offloaded(c, c->id) || !bwl_device_sees(&c->pkt))
		return BWL_R_DEVICE;
	c->next_mac = bwl_read(tun->next_mac);
	if (c->next_mac)
		c->out = dev->ifindex;
	return BWL_R_NONE;
}

/*
 * Is there a way out, and how wide? Checked before charging: packets that cannot be sent cost
 * nothing.
 */
static __always_inline int bwl_tc_way(struct bwl_ctx *c)
{
	const struct bwl_nexthop *nh = bwl_nexthop_of(c);
	const struct bwl_tunnel *tun;
	const struct bwl_dev *dev;
	__u32 port = nh->port, id = c->id;

	dev = bpf_map_lookup_elem(&bwl_dev_v1, &port);
	if (!dev || !dev->ifindex || !(dev->kind & BWL_PORT_UPLINK))
		return BWL_R_NO_NEXTHOP;
	c->paced = bwl_read(dev->flags) & BWL_DEV_FQ && bwl_can_pace();
	if (c->peer->meta.path != BWL_PATH_CLEAR) {
		tun = bpf_map_lookup_elem(&bwl_tunnel_v1, &id);
		c->out = c->ctl->tunnel;
		if (!c->out || !tun || !(bwl_read(tun->flags) & BWL_TUN_SA))
			return BWL_R_NO_SA;
		c->mtu = bwl_mtu_inside(c, tun);
		return bwl_read(tun->offload) == BWL_OFFLOAD_PACKET ? bwl_tc_device(c, tun)
								    : BWL_R_NONE;
	}
	c->mtu = c->base->mtu;
	if (!(c->pkt.family == 4 && nh->has4) && !nh->has6)
		return BWL_R_NO_NEXTHOP;
	c->clear = 1;
	c->out = dev->ifindex;
	return BWL_R_NONE;
}

/* The outer header of IPv6 copies the inner flow label: 20 bits that the host chose. */
static __always_inline int bwl_tc_unlabel(const struct bwl_ctx *c, struct __sk_buff *skb,
					  __u32 l3_off)
{
	__u8 class_and_flow[4];

	if (c->pkt.family != 6)
		return BWL_R_NONE;
	if (bpf_skb_load_bytes(skb, l3_off, class_and_flow, 4))
		return BWL_R_SEND;
	class_and_flow[1] &= 0xf0;
	class_and_flow[2] = 0;
	class_and_flow[3] = 0;
	return bpf_skb_store_bytes(skb, l3_off, class_and_flow, 4, 0) ? BWL_R_SEND : BWL_R_NONE;
}

/* To the next hop's MAC through the uplink of the policy, whose device encrypts. */
static __always_inline int bwl_tc_direct(struct bwl_ctx *c, struct __sk_buff *skb)
{
	__u32 port = bwl_nexthop_of(c)->port;
	const struct bwl_dev *dev = bpf_map_lookup_elem(&bwl_dev_v1, &port);

	if (!dev || bpf_skb_store_bytes(skb, 0, &c->next_mac, ETH_ALEN, 0) ||
	    bpf_skb_store_bytes(skb, ETH_ALEN, dev->mac, ETH_ALEN, 0))
		return BWL_R_SEND;
	return bpf_redirect(c->out, 0) == TC_ACT_REDIRECT ? BWL_R_NONE : BWL_R_SEND;
}

/*
 * Into the tunnel device, which has no neighbours: the kernel looks up a route by the device alone.
 * There skb->priority carries the id under which it was charged; nobody else reads it there.
 */
static __always_inline int bwl_tc_encrypt(struct bwl_ctx *c, struct __sk_buff *skb)
{
	skb->priority = c->id;
	/* The kernel's own ICMP errors would follow routes: it makes none for such a packet. */
	if (bpf_skb_change_type(skb, BWL_PACKET_OTHERHOST))
		return BWL_R_SEND;
	return bpf_redirect_neigh(c->out, 0, 0, 0) == TC_ACT_REDIRECT ? BWL_R_NONE : BWL_R_SEND;
}

/* To the policy's next hop, or to be encrypted: with this boot's mark for the last gate. */
static __always_inline int bwl_tc_send(struct bwl_ctx *c, struct __sk_buff *skb)
{
	const struct bwl_nexthop *nh;
	struct bpf_redir_neigh to;

	if (bwl_tc_untag(c, skb))
		return BWL_R_SEND;
	if (c->ce)
		c->ce = bpf_skb_ecn_set_ce(skb) == 1;
	if (bwl_tc_depart(c, skb))
		return BWL_R_SEND;
	skb->mark = c->ctl->tag;
	bwl_lat_leave(c, skb);
	if (!c->clear) {
		if (bwl_tc_unlabel(c, skb, sizeof(struct ethhdr)))
			return BWL_R_SEND;
		return c->next_mac ? bwl_tc_direct(c, skb) : bwl_tc_encrypt(c, skb);
	}
	nh = bwl_nexthop_of(c);
	__builtin_memset(&to, 0, sizeof(to));
	if (c->pkt.family == 4 && nh->has4) {
		to.nh_family = BWL_AF_INET;
		to.ipv4_nh = nh->via4;
	} else { /* IPv4 through an IPv6 next hop: RFC 8950 */
		to.nh_family = BWL_AF_INET6;
		__builtin_memcpy(to.ipv6_nh, nh->via6, 16);
	}
	return bpf_redirect_neigh(c->out, &to, sizeof(to), 0) == TC_ACT_REDIRECT ? BWL_R_NONE
										 : BWL_R_SEND;
}

#endif
