/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The headers that each segment of a GSO packet repeats. The kernel cuts the packet at the end of
 * the innermost TCP or UDP header that its GSO leads to: whatever is before it is in each segment
 * on the wire, and how much that is the sender chooses (options, extension headers, tunnels in
 * tunnels). So this finds the same end: through what the bytes say, and, for tunnels that the bytes
 * do not show (UDP), through the fields of the packet that GSO follows (deferred.h). The larger of
 * both counts. A packet whose headers it does not understand is refused: GRO makes no other
 * (net/ipv4, net/ipv6, drivers/net/vxlan and geneve, 5.15 to 6.18).
 */
#ifndef BWL_SEGMENTS_H
#define BWL_SEGMENTS_H

#include "deferred.h"

/* linux/skbuff.h: */
#define BWL_GSO_UFO (1U << 16)      /* becomes fragments */
#define BWL_GSO_FRAGLIST (1U << 18) /* its segments bring headers of their own (rx-gro-list) */
#define BWL_INNER_IPPROTO 1         /* ENCAP_TYPE_IPPROTO */

#define BWL_MAX_LAYERS 9 /* headers followed: MAC in GRE, two tags, IPv6, extensions, TCP */
#define BWL_ETHERTYPE(x)                                                                           \
	((x) | (__u32)((x) < 256) << 16) /* never taken for one of IP's protocols */
#define BWL_MAC_IN_GRE 0x6558            /* ETH_P_TEB */
#define BWL_GRE_UNKNOWN 0x4f /* routing, strict source route, recursion: first byte, RFC 1701 */
#define BWL_NO_TUNNEL 12     /* SCTP's common header, the longest that GSO repeats without one */

struct skb_shared_info {
	unsigned int gso_type;
} __attribute__((preserve_access_index));

/*
 * From off on, where a header of type `next` begins (of IP; from 256 on an EtherType), to the end
 * of the first TCP or UDP header. 0: another header, a fragment, or too many.
 */
BWL_GLOBAL int bwl_layers(struct __sk_buff *skb, __u32 off, __u32 next)
{
	__u8 h[14]; /* every other header, with the TCP that must follow, is longer */
	__u32 type;
	int i;

	for (i = 0; i < BWL_MAX_LAYERS; i++) {
		if (next == IPPROTO_UDP)
			return off < BWL_IP_MAX ? off + sizeof(struct udphdr) : 0;
		if (bpf_skb_load_bytes(skb, off, h, sizeof(h)))
			return 0;
		type = (__u32)h[2] << 8 | h[3]; /* where GRE and VLAN tags have it */
		if (next == IPPROTO_TCP)
			return h[12] >> 4 < 5 ? 0 : off + (h[12] >> 4) * 4;
		if (next == IPPROTO_IPIP || next == ETH_P_IP) {
			if (h[0] >> 4 != 4 || (h[0] & 15) < 5 || (h[6] & 0x3f) | h[7])
				return 0;
			next = h[9];
			off += (h[0] & 15) * 4;
		} else if (next == IPPROTO_IPV6 || next == ETH_P_IPV6) {
			if (h[0] >> 4 != 6)
				return 0;
			next = h[6];
			off += sizeof(struct ipv6hdr);
		} else if (next == IPPROTO_HOPOPTS || next == IPPROTO_DSTOPTS ||
			   next == IPPROTO_ROUTING) {
			next = h[0];
			off += (h[1] + 1) * 8;
		} else if (next == IPPROTO_GRE) { /* with checksum, key, sequence number */
			if ((h[0] & BWL_GRE_UNKNOWN) | h[1])
				return 0;
			next = BWL_ETHERTYPE(type);
			off += 4 + 4 * ((h[0] >> 7) + (h[0] >> 5 & 1) + (h[0] >> 4 & 1));
		} else if (next == BWL_MAC_IN_GRE) {
			next = BWL_ETHERTYPE((__u32)h[12] << 8 | h[13]);
			off += sizeof(struct ethhdr);
		} else if (next == ETH_P_8021Q || next == ETH_P_8021AD) {
			next = BWL_ETHERTYPE(type);
			off += 4;
		} else {
			return 0;
		}
	}
	return 0;
}

/*
 * As GSO cuts a tunnel, by the fields that say where its inner headers begin. 0: not known. One
 * that is not set is before the frame, and there is nothing to load.
 */
BWL_GLOBAL int bwl_inner_layers(struct __sk_buff *skb)
{
	__u64 at[2] = { 0, 0 }; /* head, data */
	__u16 mac = 0, net = 0;
	__be16 proto = 0;
	__u32 next, head;

	if (BWL_SKB_GET(at, sizeof(at), skb, head) || at[1] < at[0] ||
	    BWL_SKB_GET(&mac, sizeof(mac), skb, inner_mac_header) ||
	    BWL_SKB_GET(&net, sizeof(net), skb, inner_network_header) ||
	    BWL_SKB_GET(&proto, sizeof(proto), skb, inner_protocol))
		return 0;
	head = (__u32)(at[1] - at[0]);
	if (BPF_CORE_READ_BITFIELD_PROBED(BWL_SKB(skb), inner_protocol_type) == BWL_INNER_IPPROTO)
		return bwl_layers(skb, mac - head, *(const __u8 *)&proto);
	next = bwl_ntohs(proto);
	if (next == BWL_MAC_IN_GRE) { /* the inner frame names its protocol */
		if (bpf_skb_load_bytes(skb, mac - head + 12, &proto, 2))
			return 0;
		next = bwl_ntohs(proto);
		if (next == ETH_P_8021Q || next == ETH_P_8021AD)
			return bwl_layers(skb, mac - head + sizeof(struct ethhdr), next);
	}
	return next < 256 ? 0 : bwl_layers(skb, net - head, next);
}

/* 0: not known. */
BWL_GLOBAL int bwl_innermost(struct __sk_buff *skb, const struct bwl_pkt *k)
{
	int end, inner;

	if (!k || !k->l4_off) /* no fragment is cut again */
		return 0;
	if (k->proto == IPPROTO_TCP)
		return k->hdr_len;
	if (k->proto == IPPROTO_IPIP || k->proto == IPPROTO_IPV6 || k->proto == IPPROTO_GRE) {
		end = bwl_layers(skb, k->l4_off, k->proto);
		if (!end)
			return 0;
	} else {
		end = k->hdr_len + (k->proto == IPPROTO_UDP ? 0 : BWL_NO_TUNNEL);
	}
	if (!BPF_CORE_READ_BITFIELD_PROBED(BWL_SKB(skb), encapsulation))
		return end;
	inner = bwl_inner_layers(skb);
	return !inner || inner > end ? inner : end;
}

/* Does it become segments that repeat its own headers? */
BWL_GLOBAL int bwl_is_cut(struct __sk_buff *skb)
{
	__u32 end = 0, type = 0;
	__u64 head = 0;

	if (BWL_SKB_GET(&head, sizeof(head), skb, head) ||
	    BWL_SKB_GET(&end, sizeof(end), skb, end) ||
	    bpf_probe_read_kernel(&type, sizeof(type),
				  (const void *)(long)(head + end) +
					  bpf_core_field_offset(struct skb_shared_info, gso_type)))
		return 0;
	return !(type & (BWL_GSO_UFO | BWL_GSO_FRAGLIST));
}

/*
 * Bytes of headers in each segment of a GSO packet; 0: unknown. They are made linear, and so the
 * kernel's own: the sender may share the pages of what is not.
 */
BWL_GLOBAL int bwl_repeated(struct __sk_buff *skb, const struct bwl_pkt *k)
{
	int n, linear;

	if (!k || !bwl_is_cut(skb))
		return 0;
	n = bwl_innermost(skb, k);
	if (n > BWL_IP_MAX)
		return 0;
	linear = skb->data_end - skb->data;
	if (n <= linear)
		return n;
	if (bpf_skb_pull_data(skb, n))
		return 0;
	linear = bwl_innermost(skb, k);
	return linear <= n ? linear : 0;
}

#endif
