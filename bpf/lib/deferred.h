/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel does with a packet behind TC egress, and so behind the last gate: it fills in a
 * checksum where csum_start and csum_offset say, or cuts a GSO packet into segments. Both are
 * fields that a host may have set (virtio_net_hdr; veth keeps them) and that __sk_buff does not
 * show. docs/closed.md lists all such fields.
 *
 * So they are read from the kernel's own structure. The context of a TC program is the skb's
 * address on every kernel; bpf_probe_read_kernel() may be used in TC from kernel 5.9 on. Without
 * it (lockdown=confidentiality), or without one of these fields, the programs do not load, and host
 * ports stay down.
 */
#ifndef BWL_DEFERRED_H
#define BWL_DEFERRED_H

#include <bpf/bpf_core_read.h>
#include "parse.h"

#define BWL_CHECKSUM_PARTIAL 3 /* linux/skbuff.h: still to be filled in */
#define BWL_TCP_CHECK 16       /* offset in the header */
#define BWL_UDP_CHECK 6

struct sk_buff {
	__u8 ip_summed : 2;
	__u8 csum_not_inet : 1;
	__u8 encapsulation : 1; /* the inner ones are valid */
	__u8 inner_protocol_type : 1;
	__u16 csum_start, csum_offset; /* next to each other */
	__be16 inner_protocol;
	__u16 inner_network_header, inner_mac_header; /* offsets from head, as csum_start */
	unsigned int end;
	unsigned char *head, *data; /* next to each other */
} __attribute__((preserve_access_index));

#define BWL_SKB(skb) ((const struct sk_buff *)(const void *)(skb))
#define BWL_SKB_GET(to, n, skb, field)                                                             \
	bpf_probe_read_kernel(to, n,                                                               \
			      (const void *)(skb) + bpf_core_field_offset(struct sk_buff, field))

/* Will the kernel, or the device, still write a checksum into it? */
static __always_inline _Bool bwl_has_deferred(const struct __sk_buff *skb)
{
	return BPF_CORE_READ_BITFIELD_PROBED(BWL_SKB(skb), ip_summed) == BWL_CHECKSUM_PARTIAL;
}

/*
 * A checksum is written only where nobody has looked: into the payload, or into the field of the
 * outermost transport that it belongs to (as the kernel's own TCP and UDP, GRO and tunnels ask).
 * A sum that begins in a header would also be one that a host can steer by that header. What is
 * read of RoCE's header is no payload. A sum for SCTP (csum_not_inet) has four bytes.
 */
static __always_inline _Bool bwl_is_harmless(const struct bwl_pkt *k, __u32 start, __u32 at,
					     _Bool not_inet)
{
	__u32 payload = k->hdr_len + (k->proto == IPPROTO_UDP && k->l4_off ? BWL_BTH_READ : 0);
	__u32 check = k->proto == IPPROTO_TCP   ? BWL_TCP_CHECK
		      : k->proto == IPPROTO_UDP ? BWL_UDP_CHECK
						: 0;

	if (start >= k->hdr_len && at >= payload)
		return 1;
	return check && k->l4_off && start == k->l4_off && at == start + check && !not_inet;
}

/* BWL_R_NONE, or why the kernel would make something else of the packet than what was judged. */
BWL_GLOBAL int bwl_deferred(struct __sk_buff *skb, const struct bwl_pkt *k)
{
	__u64 at[2] = { 0, 0 }; /* head, data */
	__u16 csum[2] = { 0, 0 };
	_Bool not_inet = 0;
	__u32 start;

	if (!k || BWL_SKB_GET(at, sizeof(at), skb, head) ||
	    BWL_SKB_GET(csum, sizeof(csum), skb, csum_start))
		return BWL_R_MALFORMED;
	if (bpf_core_field_exists(struct sk_buff, csum_not_inet)) /* not without CONFIG_IP_SCTP */
		not_inet = BPF_CORE_READ_BITFIELD_PROBED(BWL_SKB(skb), csum_not_inet);
	if (at[1] < at[0] || csum[0] < at[1] - at[0])
		return BWL_R_MALFORMED;
	start = (__u32)(csum[0] - (at[1] - at[0]));
	return bwl_is_harmless(k, start, start + csum[1], not_inet) ? BWL_R_NONE : BWL_R_MALFORMED;
}

#endif
