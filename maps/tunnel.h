/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's state for the encrypted peers. User space (ipsec/) writes it, from XFRM's netlink;
 * BPF reads it. The if_id of a peer's SAs, policies and traffic is its peer id.
 *
 * bwl_tunnel_v1[peer id]. An entry with SA lets packets into the tunnel device, nothing more: there
 * the kernel drops packets without an SA, and the last gate drops what is not ESP. So a stale entry
 * costs packets, but never lets a byte out in the clear.
 *
 * Before kernel 6.2 no program can give a packet an if_id. There the tunnel device is a plain xfrm
 * interface, all SAs and policies have its if_id, and a mark identifies the peer: outbound SAs and
 * all policies match on it, inbound SAs set it.
 */
#ifndef BWL_MAPS_TUNNEL_H
#define BWL_MAPS_TUNNEL_H

#include "abi.h"

#define BWL_TUN_IF_ID 0x62776c00U /* of the plain interface; above every peer id */
#define BWL_MARK_ID 0x003fffffU   /* bits of a mark that are a peer id */
/* bits common to charged packets and packets that go up to the kernel; never 0 */
#define BWL_MARK_TAG 0x7fc00000U
/* flipped: the packet went up to the DPU's kernel, which may not send it */
#define BWL_MARK_UP 0x80000000U

/*
 * The mark of a packet from a host or the wire that goes up to the kernel. With fwmark_reflect the
 * kernel's answers have it, too, which distinguishes them from the DPU's own traffic.
 */
static inline __attribute__((always_inline)) __u32 bwl_mark_up(__u32 tag)
{
	return (tag ^ BWL_MARK_UP) & ~BWL_MARK_ID;
}

enum bwl_tunnel_flags {
	BWL_TUN_SA = 1 << 0, /* an outbound SA, and a policy that requires it */
	/* an inbound SA from the peer's DPU: decrypted packets are accepted */
	BWL_TUN_SA_IN = 1 << 1,
	/*
	 * packet offload in the peer's uplink, which itself drops packets without a policy:
	 * cleartext may be sent straight to it
	 */
	BWL_TUN_BENEATH = 1 << 2,
	BWL_TUN_XDP = 1 << 3, /* and XDP sends it: see enum bwl_carried_by */
	/*
	 * a device decrypts (packet offload): packets with the peer's SA attached are accepted from
	 * an uplink without ESP
	 */
	BWL_TUN_DEV_IN = 1 << 4,
};

/* How much of the work the device does, as read back from the kernel. */
enum bwl_offload { BWL_OFFLOAD_NONE, BWL_OFFLOAD_CRYPTO, BWL_OFFLOAD_PACKET, _BWL_OFFLOAD_MAX };

/*
 * What carries a peer of `path: offload`, and why it is not XDP: the first reason that holds. One
 * list feeds the tracker and the tools. Columns: enum, name, text.
 */
#define BWL_CARRIED_BY(X)                                                                          \
	X(UNTOLD, "untold", "nobody looks: bwlimitd or bwlimit-ipsec does")                        \
	X(XDP, "xdp", "straight to the uplink, whose hardware encrypts")                           \
	X(NO_SA, "no-sa", "there is no SA")                                                        \
	X(NOT_PACKET, "not-packet", "no device carries SA and policy (packet offload)")            \
	X(UNSURE, "unsure", "news of the kernel were lost; the next look tells")                   \
	X(OTHER_DEV, "other-device",                                                               \
	  "SA and policy are in a device that is not the peer's uplink")                           \
	X(NO_BENEATH, "no-drop-beneath",                                                           \
	  "the uplink has no drop policies beneath, for IPv4 and IPv6")                            \
	X(UPLINK, "uplink-xdp", "the uplink has no native XDP that sends")                         \
	X(HOST, "host-xdp", "no host port of the peer has native XDP that sees VLAN tags")         \
	X(NEIGHBOUR, "no-neighbour", "the MAC of the next hop is not known (yet)")
enum bwl_carried_by {
#define X(e, name, text) BWL_CARRIED_##e,
	BWL_CARRIED_BY(X)
#undef X
		_BWL_CARRIED_MAX
};

struct bwl_tunnel {
	__u8 flags;             /* enum bwl_tunnel_flags; one store closes or opens */
	__u8 offload;           /* enum bwl_offload of the outbound SA in use */
	__u16 overhead;         /* bytes ESP adds to an inner packet, 0 unknown */
	__u32 changes;          /* counts SAs that came and went: for status */
	__be32 spi_out, spi_in; /* newest; 0 none. For status */
	/*
	 * of the next hop as the DPU resolved it: 6 bytes in frame order, then 2 of zero. One
	 * store; 0: unknown
	 */
	__u64 next_mac;
	__u32 out;       /* ifindex of the uplink that holds SA and policy; 0 none */
	__u8 carried_by; /* enum bwl_carried_by. For status */
	__u8 _pad[3];
};
BWL_ASSERT_SIZE(struct bwl_tunnel, 32);

/*
 * Used while bwl_tunnel.overhead is unknown: IPv6, UDP, SPI, sequence, AES-GCM's IV and ICV,
 * padding.
 */
#define BWL_ESP_MAX 85
#define BWL_IKE_PORT 500      /* UDP; RFC 7296 */
#define BWL_IKE_NAT_PORT 4500 /* UDP, and ESP in UDP; RFC 3948 */
#define BWL_IP6_MTU 1280      /* every link carries this (RFC 8200); the kernel fragments outside */

#define BWL_TRACKED_S 3 /* how long bwl_ctl.tracked_until_s remains valid */

#endif
