/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How large a packet may be on its path, checked before it is charged, and the host's error message
 * if it is larger: "too big" (RFC 1191, RFC 8201), made here from the host's own packet and sent
 * back through its port. The kernel's own error would follow routes, which need not lead to the
 * host. A SYN's MSS is lowered to what fits, for hosts that ignore such messages. If the policy
 * says `default: reject` the host learns in the same way which packets no grant lets out
 * ("administratively prohibited", RFC 1812, RFC 4443).
 */
#ifndef BWL_MTU_H
#define BWL_MTU_H

#include "charge.h"
#include "tc.h"

#define BWL_QUOTED 64 /* bytes of the packet that a message quotes: ports and sequence numbers */

struct bwl_icmp { /* for both families, as far as these messages need */
	__u8 type, code;
	__u16 check;
	__be32 mtu; /* IPv4: 16 bits unused, then 16 of it; 0 if size is not the reason */
};

/*
 * Each segment of a GSO packet must fit. Without DF the kernel fragments, ESP outside. hdr: of
 * bwl_tc_merged().
 */
static __always_inline int bwl_mtu_fits(struct bwl_ctx *c, __u32 gso_size, __u32 hdr)
{
	__u32 l3 = c->pkt.l3_off, len;

	len = gso_size ? gso_size + hdr - bwl_jumbo(&c->pkt) : c->len;
	len = bwl_above(len, l3);
	if (len <= c->mtu)
		return BWL_R_NONE;
	if (c->pkt.family == 4 && !c->pkt.df)
		return gso_size || len <= c->base->mtu ? BWL_R_NONE : BWL_R_TOO_BIG;
	if (c->pkt.family == 6 && len <= BWL_IP6_MTU && len <= c->base->mtu)
		return BWL_R_NONE;
	return BWL_R_TOO_BIG;
}

/* One's complement sum of 32-bit words to 16 bits. */
static __always_inline __u16 bwl_fold(__s64 sum)
{
	__u32 s = (__u32)sum;

	s = (s & 0xffff) + (s >> 16);
	return (__u16)((s & 0xffff) + (s >> 16));
}

/*
 * A TCP or UDP checksum that the kernel or the device has yet to fill in (CHECKSUM_PARTIAL, as in a
 * local or a GRO packet) would change the quoted bytes after we have summed them. So its field gets
 * the single value v that filling in leaves unchanged: v = ~(rest + v), that is ~rest / 2, and
 * halving in one's complement is a rotation.
 */
static __always_inline __u16 bwl_settled(__s64 rest)
{
	__u16 r = (__u16)~bwl_fold(rest);

	return (__u16)(r >> 1 | r << 15);
}

/*
 * Trims the frame to the quoted part and makes room for `more` bytes in front. Returns the quoted
 * bytes' sum, or negative. The TCP or UDP header (proto) begins after ip_len bytes.
 */
static __always_inline __s64 bwl_quote(struct __sk_buff *skb, __u8 *quote, __u8 proto,
				       const __u32 ip_len, __u32 more)
{
	__u32 at = proto == IPPROTO_TCP ? ip_len + 16 : proto == IPPROTO_UDP ? ip_len + 6 : 0;
	__u16 check = 0;
	__s64 sum;

	if (bpf_skb_change_tail(skb, ETH_HLEN + BWL_QUOTED, 0) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN, quote, BWL_QUOTED))
		return -1;
	if (at == ip_len + 16)
		*(__u16 *)&quote[ip_len + 16] = 0;
	if (at == ip_len + 6)
		*(__u16 *)&quote[ip_len + 6] = 0;
	if (at)
		check = bwl_settled(
			bpf_csum_diff(0, 0, (__be32 *)&quote[ip_len], BWL_QUOTED - ip_len, 0));
	sum = bpf_csum_diff(0, 0, (__be32 *)quote, BWL_QUOTED, check);
	if (sum < 0 || bpf_skb_adjust_room(skb, more, BPF_ADJ_ROOM_MAC, 0))
		return -1;
	return at && bpf_skb_store_bytes(skb, ETH_HLEN + more + at, &check, 2, 0) ? -1 : sum;
}

/* Swaps addresses: to the sender, in the name of the destination. */
static __always_inline int bwl_turn(struct __sk_buff *skb, struct ethhdr *eth, __u32 ip_off,
				    __u32 ip_saddr, void *saddr, void *daddr, const __u32 len)
{
	return bpf_skb_load_bytes(skb, 0, eth->h_source, ETH_ALEN) ||
	       bpf_skb_load_bytes(skb, ETH_ALEN, eth->h_dest, ETH_ALEN) ||
	       bpf_skb_load_bytes(skb, ip_off + ip_saddr, daddr, len) ||
	       bpf_skb_load_bytes(skb, ip_off + ip_saddr + len, saddr, len);
}

/*
 * proto: TCP or UDP, if its checksum is in an unfragmented header without options; otherwise 0.
 * mtu: the size that fits; 0: it may not go, whatever its size.
 */
BWL_GLOBAL int bwl_unreachable4(struct __sk_buff *skb, __u32 mtu, __u8 proto)
{
	union { /* one after the other: the stack is small */
		__u8 quote[BWL_QUOTED];
		struct {
			__u16 align;
			struct ethhdr eth;
			struct iphdr ip;
			struct bwl_icmp icmp;
		} to;
	} u;
	const __u32 more = sizeof(u.to.ip) + sizeof(u.to.icmp);
	__s64 sum = bwl_quote(skb, u.quote, proto, sizeof(u.to.ip), more);

	if (sum < 0)
		return -1;
	__builtin_memset(&u.to, 0, sizeof(u.to));
	if (bwl_turn(skb, &u.to.eth, ETH_HLEN + more, 12, &u.to.ip.saddr, &u.to.ip.daddr, 4))
		return -1;
	u.to.eth.h_proto = bwl_htons(ETH_P_IP);
	u.to.ip.version = 4;
	u.to.ip.ihl = 5;
	u.to.ip.tos = IPTOS_PREC_INTERNETCONTROL; /* like the kernel's errors */
	u.to.ip.tot_len = bwl_htons(more + BWL_QUOTED);
	u.to.ip.frag_off = bwl_htons(0x4000);
	u.to.ip.ttl = 64;
	u.to.ip.protocol = IPPROTO_ICMP;
	u.to.ip.check = (__u16)~bwl_fold(
		bpf_csum_diff(0, 0, (__be32 *)&u.to.ip, sizeof(u.to.ip), 0));
	u.to.icmp.type = 3;            /* destination unreachable: */
	u.to.icmp.code = mtu ? 4 : 13; /* fragmentation needed and DF set; prohibited */
	u.to.icmp.mtu = bwl_htonl(mtu & 0xffff);
	sum = bpf_csum_diff(0, 0, (__be32 *)&u.to.icmp, sizeof(u.to.icmp), (__u32)sum);
	u.to.icmp.check = (__u16)~bwl_fold(sum);
	return bpf_skb_store_bytes(skb, 0, &u.to.eth, ETH_HLEN + more, 0);
}

BWL_GLOBAL int bwl_unreachable6(struct __sk_buff *skb, __u32 mtu, __u8 proto)
{
	union {
		__u8 quote[BWL_QUOTED];
		struct {
			__u16 align;
			struct ethhdr eth;
			struct ipv6hdr ip;
			struct bwl_icmp icmp;
		} to;
	} u;
	const __u32 more = sizeof(u.to.ip) + sizeof(u.to.icmp);
	__s64 sum = bwl_quote(skb, u.quote, proto, sizeof(u.to.ip), more);
	__be32 pseudo[2];

	if (sum < 0)
		return -1;
	__builtin_memset(&u.to, 0, sizeof(u.to));
	if (bwl_turn(skb, &u.to.eth, ETH_HLEN + more, 8, &u.to.ip.saddr, &u.to.ip.daddr, 16))
		return -1;
	u.to.eth.h_proto = bwl_htons(ETH_P_IPV6);
	u.to.ip.version = 6;
	u.to.ip.payload_len = bwl_htons(sizeof(u.to.icmp) + BWL_QUOTED);
	u.to.ip.nexthdr = IPPROTO_ICMPV6;
	u.to.ip.hop_limit = 255;
	u.to.icmp.type = mtu ? 2 : 1; /* packet too big; destination unreachable: */
	u.to.icmp.code = !mtu;        /* prohibited */
	if (mtu)
		u.to.icmp.mtu = bwl_htonl(mtu < BWL_IP6_MTU ? BWL_IP6_MTU : mtu);
	pseudo[0] = bwl_htonl(sizeof(u.to.icmp) + BWL_QUOTED);
	pseudo[1] = bwl_htonl(IPPROTO_ICMPV6);
	sum = bpf_csum_diff(0, 0, pseudo, sizeof(pseudo), (__u32)sum);
	/* both addresses and, right behind them, the ICMP header */
	sum = bpf_csum_diff(0, 0, (__be32 *)&u.to.ip.saddr, 32 + sizeof(u.to.icmp), (__u32)sum);
	u.to.icmp.check = (__u16)~bwl_fold(sum);
	return bpf_skb_store_bytes(skb, 0, &u.to.eth, ETH_HLEN + more, 0);
}

/* No error about an error, nor about a later fragment (RFC 1122; for IPv6 about no fragment). */
static __always_inline _Bool bwl_may_answer(const struct bwl_pkt *k, struct __sk_buff *skb)
{
	__u8 type = 0;

	if (k->l3_off != ETH_HLEN)
		return 0;
	if (k->family == 4 && k->fragment)
		return 0;
	if (k->proto != IPPROTO_ICMP && k->proto != IPPROTO_ICMPV6)
		return 1;
	if (bpf_skb_load_bytes(skb, k->hdr_len, &type, 1))
		return 0;
	return k->family == 6 ? type >= 128 : type == 8 || type == 0 /* echo */;
}

/* Was it refused because of its destination, and does the policy say `default: reject`? */
static __always_inline _Bool bwl_rejects(const struct bwl_ctx *c, int reason)
{
	const __u64 where = 1ULL << BWL_R_NO_PEER | 1ULL << BWL_R_NO_GRANT | 1ULL << BWL_R_FROM |
			    1ULL << BWL_R_REVOKED | 1ULL << BWL_R_EXPIRED | 1ULL << BWL_R_SILENT;

	return where >> (reason & 63) & 1 && c->base->flags & BWL_BASE_REJECT;
}

/*
 * Messages about prohibited packets use at most half of the port's limit for ARP and ND: a host
 * whose programs try prohibited destinations can still resolve its addresses.
 */
static __always_inline _Bool bwl_leaves_half(const struct bwl_work *w, const struct bwl_limit *l)
{
	const struct bwl_state *s = bwl_state_of(l->volume.state);

	return s && bwl_rate_debt(bwl_read(s->finish_bytes),
				  bwl_rate_drained(&l->rate, w->now_ns)) < l->rate.burst_bytes / 2;
}

/*
 * Tells the host, on its port and uncharged, that a packet is too big (w->mtu: for what) or may not
 * go (0). Shares the port's small limit. 1: it was told.
 */
BWL_GLOBAL int bwl_tell_host(struct __sk_buff *skb, const struct bwl_pkt *k, struct bwl_work *w,
			     const struct bwl_port *port)
{
	__u32 usual;
	__u8 proto;
	int r;

	if (!k || !w || !port || !bwl_may_answer(k, skb))
		return 0;
	usual = k->family == 4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	proto = !k->fragment && k->l4_off == ETH_HLEN + usual ? k->proto : 0;
	bwl_exact(w);
	w->charge = ETH_HLEN + usual + sizeof(struct bwl_icmp) + BWL_QUOTED;
	r = w->mtu || bwl_leaves_half(w, &port->neighbour)
		    ? bwl_charge_one(w, &port->neighbour, BWL_R_NEIGHBOUR_RATE)
		    : BWL_R_NEIGHBOUR_RATE;
	w->charge = 0; /* the packet itself cost nothing */
	if (r != BWL_R_NONE)
		return 0;
	r = k->family == 4 ? bwl_unreachable4(skb, w->mtu, proto)
			   : bwl_unreachable6(skb, w->mtu, proto);
	return !r && bpf_redirect(skb->ifindex, 0) == TC_ACT_REDIRECT;
}

/* Walks the options up to the header's own end; a malformed SYN is left as it is. */
BWL_GLOBAL int bwl_mss_lower(struct __sk_buff *skb, __u32 l4_off, __u32 end, __u16 most)
{
	__u32 at = l4_off + sizeof(struct tcphdr);
	__u8 o[4];
	__u16 mss;
	int i;

	for (i = 0; i < 10 && at + 4 <= end; i++) {
		if (bpf_skb_load_bytes(skb, at, o, 4) || o[0] == 0)
			return 0;
		if (o[0] == 1) {
			at++;
			continue;
		}
		if (o[0] != 2) {
			if (o[1] < 2)
				return 0;
			at += o[1];
			continue;
		}
		mss = (__u16)(o[2] << 8 | o[3]);
		if (o[1] != 4 || mss <= most)
			return 0;
		/* At an odd offset the checksum has its bytes swapped. */
		if ((at - l4_off) & 1)
			bpf_l4_csum_replace(skb, l4_off + 16, mss, most, 2);
		else
			bpf_l4_csum_replace(skb, l4_off + 16, bwl_htons(mss), bwl_htons(most), 2);
		most = bwl_htons(most);
		return bpf_skb_store_bytes(skb, at + 2, &most, 2, 0);
	}
	return 0;
}

/* Like bwl_tc_way() for leaving packets; arriving ones need it only here. */
static __always_inline __u32 bwl_inner_mtu(const struct bwl_ctx *c)
{
	__u32 id = c->id;

	if (c->mtu || c->peer->meta.path == BWL_PATH_CLEAR)
		return c->mtu ? c->mtu : c->base->mtu;
	return bwl_mtu_inside(c, bpf_map_lookup_elem(&bwl_tunnel_v1, &id));
}

static __always_inline int bwl_mss(struct bwl_ctx *c, struct __sk_buff *skb)
{
	__u32 fixed = sizeof(struct tcphdr) +
		      (c->pkt.family == 4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
	__u32 mtu;

	if (c->pkt.proto != IPPROTO_TCP || c->pkt.fragment || !(c->pkt.tcp_flags & BWL_TCP_SYN))
		return BWL_R_NONE;
	mtu = bwl_inner_mtu(c);
	if (mtu <= fixed)
		return BWL_R_NONE;
	return bwl_mss_lower(skb, c->pkt.l4_off, c->pkt.hdr_len, (__u16)(mtu - fixed)) ? BWL_R_SEND
										       : BWL_R_NONE;
}

#endif
