/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets that an uplink's hardware has decrypted (inbound SAs of packet offload). Such a packet
 * arrives without ESP, and XDP cannot tell it from cleartext that somebody on the wire has sent:
 * XDP passes both. At TC the packet has the SA that the driver attached to it (sec_path), which
 * nothing on the wire can do. That SA's remote address tells which peer's DPU sent it.
 *
 * The packet then goes through its uplink's ingress a second time, to lose the SA: with it no
 * packet may be sent on. mlx5, on whichever port the packet leaves, would take it for one to be
 * encrypted and cut off what it believes to be ESP's trailer (mlx5e_ipsec_handle_tx_skb(), 6.12). A
 * redirect to an ingress scrubs the packet (skb_scrub_packet()) but keeps its mark, which
 * identifies the peer. Nothing from outside has such a mark.
 *
 * GRO does not compare SAs: a merged packet may contain cleartext from the wire, and is refused.
 */
#ifndef BWL_INBOUND_H
#define BWL_INBOUND_H

#include "tc.h"
#include "underlay.h"

/*
 * Kernel 6.8 or newer: user space sets this before loading. From 6.7 on mlx5 itself drops packets
 * that fail authentication; before, they had their SA, too, and a status that no program can read.
 */
const volatile _Bool bwl_sa_is_told = 0;

/* Peer whose inbound SA a device has applied to this packet; 0: none. */
static __always_inline __u32 bwl_decrypted(const struct bwl_ctx *c, struct __sk_buff *skb)
{
	struct bpf_xfrm_state sa = {};
	__be32 addr[4];

	if (!bwl_sa_is_told || bpf_skb_get_xfrm_state(skb, 0, &sa, sizeof(sa), 0))
		return 0;
	if (sa.family == BWL_AF_INET) {
		bwl_map4(addr, sa.remote_ipv4);
	} else {
		__builtin_memcpy(addr, sa.remote_ipv6, sizeof(addr));
		if (bwl_is_nobodys(addr))
			return 0;
	}
	return bwl_remote(c, addr);
}

/* Is an inbound SA of the peer in a device, as far as bwlimit knows? */
static __always_inline _Bool bwl_device_decrypts(__u32 id)
{
	const struct bwl_tunnel *tun = bpf_map_lookup_elem(&bwl_tunnel_v1, &id);
	__u8 want = BWL_TUN_SA_IN | BWL_TUN_DEV_IN;

	return tun && (bwl_read(tun->flags) & want) == want;
}

/* First pass: from the peer `from`. */
static __always_inline int bwl_bring_in(struct bwl_ctx *c, struct __sk_buff *skb, __u32 from)
{
	if (!bwl_device_decrypts(from))
		return BWL_R_NO_SA;
	if (skb->gso_size)
		return BWL_R_MERGED;
	if (bpf_redirect(skb->ifindex, BPF_F_INGRESS) != TC_ACT_REDIRECT)
		return BWL_R_SEND;
	skb->mark = bwl_esp_mark(c, from);
	c->again = 1;
	return BWL_R_PASS_ESP;
}

/* Second pass: counted at the tunnel device's port, like packets that the kernel decrypts. */
static __always_inline int bwl_brought_in(struct bwl_ctx *c, __u32 from, int parsed)
{
	__u32 tunnel = c->ctl->tunnel, *port = bpf_map_lookup_elem(&bwl_ifport_v1, &tunnel);

	if (port && *port)
		c->port_id = *port - 1;
	if (!from || !bwl_device_decrypts(from))
		return BWL_R_NO_SA;
	return parsed;
}

#endif
