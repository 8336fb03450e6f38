/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a packet was passed or dropped. Every packet gets exactly one reason. One list feeds the BPF
 * counters and the tools' output (bwlimit-ctl reasons). Append only: the position is the array
 * index. Columns: enum, name, passes?, what it means, what to do.
 */
#ifndef BWL_MAPS_REASON_H
#define BWL_MAPS_REASON_H

#include "abi.h"

/* clang-format off */
#define BWL_REASONS(X) \
	X(NONE, "none", 0, "no verdict was reached", "a defect: please report it") \
	X(PASS, "pass", 1, "charged to every limit and sent", "") \
	X(PASS_FLOOR, "pass-floor", 1, "the grant has lapsed; sent within the floor", \
	  "renew the grant or the heartbeat") \
	X(PASS_MARKED, "pass-marked", 1, "sent with ECN CE: near the limit", "") \
	X(PASS_MONITOR, "pass-monitor", 1, "over the peer's limit, sent because mode is monitor", \
	  "set another mode to enforce the limit") \
	X(PASS_NEIGHBOUR, "pass-neighbour", 1, "ARP or ND, answered by the DPU itself", "") \
	X(PASS_CONTROL, "pass-control", 1, "underlay control made by or for the DPU", "") \
	X(PASS_SELF, "pass-self", 1, "the DPU's own traffic, within the grant self", "") \
	X(PASS_GATE, "pass-gate", 1, "charged at its host port, let out by the last gate", "") \
	X(PASS_ACCEPT, "pass-accept", 1, "from a peer, charged to accept, sent to its host port", \
	  "") \
	X(PASS_ESP, "pass-esp", 1, "encrypted: ESP to or from a peer's DPU", "") \
	X(PASS_IKE, "pass-ike", 1, "key exchange between this DPU and a peer's", "") \
	X(STOP, "stop", 0, "the global stop switch is on", "bwlimit-ctl stop --off") \
	X(UPGRADE, "upgrade", 0, "programs are being replaced", "bwlimit-load upgrade") \
	X(NO_POLICY, "no-policy", 0, "no policy has been applied", "bwlimit-ctl policy apply") \
	X(NO_PORT, "no-port", 0, "the interface is not a port of the policy", \
	  "add it to host_ports or uplinks") \
	X(TRUNCATED, "truncated", 0, "a header does not fit the frame", "") \
	X(MALFORMED, "malformed", 0, "length or header fields contradict the frame", "") \
	X(ETHERTYPE, "ethertype", 0, "neither IPv4, IPv6 nor ARP", "") \
	X(VLAN, "vlan", 0, "a VLAN tag that the host port may not use", "list it in vlans") \
	X(SRC_MAC, "source-mac", 0, "not the host port's MAC", "") \
	X(SRC_ADDR, "source-address", 0, \
	  "not one of the host port's sources, or nobody's (::ffff:10.1.0.1)", \
	  "list the prefix in sources") \
	X(LOCAL_PROTO, "local-protocol", 0, \
	  "ends at the DPU: multicast, broadcast, LLDP, MLD, …; out: its own MLD and IGMP", "") \
	X(SOURCE_ROUTE, "source-route", 0, "IPv4 source route or IPv6 routing header", "") \
	X(EXT_HEADERS, "ext-headers", 0, "more extension headers than are followed", "") \
	X(TOO_BIG, "too-big", 0, \
	  "does not fit the uplink's MTU, or the tunnel's; the host was told", \
	  "lower the host's MTU, or raise the uplink's") \
	X(NO_PEER, "no-peer", 0, "no peer has this destination", "bwlimit-ctl peer add") \
	X(NO_GRANT, "no-grant", 0, "the peer has no grant", "bwlimit-ctl grant") \
	X(FROM, "from", 0, "the peer may not be used from this host port", "add it to from") \
	X(REVOKED, "revoked", 0, "the grant was revoked", "bwlimit-ctl grant") \
	X(EXPIRED, "expired", 0, "the grant has expired and there is no floor", \
	  "bwlimit-ctl grant") \
	X(SILENT, "silent", 0, "the heartbeat has stopped and there is no floor", \
	  "bwlimit-ctl heartbeat") \
	X(NO_NEXTHOP, "no-nexthop", 0, "no next hop of this address family", "set via") \
	X(NO_SA, "no-sa", 0, "the peer must be encrypted and no SA is in place", "") \
	X(PEER_RATE, "peer-rate", 0, "over the grant's rate", "") \
	X(PEER_VOLUME, "peer-volume", 0, "the grant's volume is spent", "bwlimit-ctl grant") \
	X(FLOOR_RATE, "floor-rate", 0, "over the floor's rate", "") \
	X(FLOOR_VOLUME, "floor-volume", 0, "the floor's volume is spent", "") \
	X(CLASS_RATE, "class-rate", 0, "over the class's rate", "") \
	X(CLASS_VOLUME, "class-volume", 0, "the class's volume is spent", "") \
	X(ZONE_RATE, "zone-rate", 0, \
	  "over the zone's rate; or over the peer's portion of it, while others use the rest", "") \
	X(ZONE_VOLUME, "zone-volume", 0, "the zone's volume is spent", "") \
	X(PORT_RATE, "port-rate", 0, "over the host port's rate: to all, or to this peer", "") \
	X(PORT_VOLUME, "port-volume", 0, "the host port's volume is spent: to all, or to this peer", \
	  "") \
	X(NODE_RATE, "node-rate", 0, "over the node's rate", "") \
	X(NODE_VOLUME, "node-volume", 0, "the node's volume is spent", "") \
	X(ACCEPT_RATE, "accept-rate", 0, "over what the peer may send to us", "") \
	X(NEIGHBOUR_RATE, "neighbour-rate", 0, "more ARP or ND than a host port may send", "") \
	X(CONTENDED, "contended", 0, "too many CPUs at one limit at once", "") \
	X(CLOCK, "clock", 0, "the limit's state is ahead of the clock; it starts over in debt", \
	  "") \
	X(GATE, "gate", 0, "the last gate: not charged, or not allowed out in the clear", \
	  "traffic of the DPU itself needs a grant named self") \
	X(UPLINK_IN, "uplink-in", 0, "from the network and neither a peer's nor the DPU's", "") \
	X(SEND, "send", 0, "charged, but the frame could not be rewritten", "") \
	X(TUNNEL_SRC, "tunnel-source", 0, "not from the peer whose SA it came through", \
	  "bwlimit-ctl explain; the sending DPU breaks its promise") \
	X(LEDGER, "ledger", 0, "past what the ledger on disk has released of a volume", \
	  "systemctl status bwlimitd: its log says what keeps the ledger") \
	X(MERGED, "merged", 0, "decrypted by the uplink, and merged with what may not be (GRO)", \
	  "ethtool -K UPLINK gro off lro off rx-gro-hw off") \
	X(DEVICE, "device", 0, \
	  "the uplink's device encrypts, and would not surely match this packet", \
	  "docs/bluefield.md: no fragments, IP options, ESP, UDP 500 and 4500; bwlimit-ctl peer show") \
	X(IKE_RATE, "ike-rate", 0, "more key exchange in the name of a peer's DPU than it needs", \
	  "a capture at the uplink shows the frames' true sender; existing SAs go on") \
	X(REFLECTED, "reflected", 0, \
	  "a gate: what the kernel said about a packet of a host or the wire", "") \
	X(NEIGHBOUR_SOURCES, "neighbour-sources", 0, \
	  "more neighbours than the port may have in the DPU's table", \
	  "docs/limits.md: Neighbours; those that are silent for a minute make room") \
	X(PASS_OWN, "pass-own", 1, "the DPU's own, by its management device", "") \
	X(ACCEPT_VOLUME, "accept-volume", 0, "the volume that the peer may send to us is spent", \
	  "raise the volume of its accept in the policy")
/* clang-format on */

enum bwl_reason {
#define X(e, name, pass, text, todo) BWL_R_##e,
	BWL_REASONS(X)
#undef X
		_BWL_REASON_MAX
};

/* Does a packet with this reason pass? From the list alone, for BPF and for tools. */
static inline __attribute__((always_inline)) _Bool bwl_reason_is_pass(__u32 reason)
{
#define X(e, name, pass, text, todo) | (__u64)(pass) << BWL_R_##e
	const __u64 passing = 0 BWL_REASONS(X);
#undef X

	return reason < _BWL_REASON_MAX && passing >> reason & 1;
}

/* A refusal by a limit has the first reason, or the next one if a volume was spent. */
#define BWL_ASSERT_PAIR(limit)                                                                     \
	_Static_assert(BWL_R_##limit##_VOLUME == BWL_R_##limit##_RATE + 1, "a pair: " #limit)
BWL_ASSERT_PAIR(PEER);
BWL_ASSERT_PAIR(FLOOR);
BWL_ASSERT_PAIR(CLASS);
BWL_ASSERT_PAIR(ZONE);
BWL_ASSERT_PAIR(PORT);
BWL_ASSERT_PAIR(NODE);

#define BWL_REASON_COLUMNS 64 /* of a row of bwl_reason_v1; room to append */
/*
 * Not a reason: further frames in packets that reasons count as one. Where packets come in these
 * were merged (GRO), and bytes are those of their headers: reasons and this are what the device
 * received. At the last gate, frames alone: the additional segments of GSO packets that passed; a
 * device that segments them counts reasons' frames plus these.
 */
#define BWL_REASON_SEGMENTS (BWL_REASON_COLUMNS - 1)
/*
 * Not a reason either: in an uplink's row of the last gate, what XDP sent through it, which no gate
 * sees.
 */
#define BWL_REASON_XDP (BWL_REASON_COLUMNS - 2)
_Static_assert(_BWL_REASON_MAX <= BWL_REASON_XDP,
	       "no column is left for a reason: CONTRIBUTING.md, A stage of the limiter, 1");

/*
 * bwl_reason_v1[row * BWL_REASON_COLUMNS + reason], per CPU; BPF writes. Row: the port id for
 * packets that the port received, BWL_MAX_PORTS + port id for packets that the last gate saw leave.
 */
#define BWL_REASON_ROWS (2 * BWL_MAX_PORTS)
struct bwl_reason_count {
	__u64 frames;
	__u64 bytes;   /* as the hook saw the frame (GSO: as one) */
	__u64 charged; /* as charged: every segment with its headers */
};
BWL_ASSERT_SIZE(struct bwl_reason_count, 24);

/* bwl_peercnt_v1[id], per CPU; BPF writes. */
struct bwl_peer_count {
	__u64 frames, bytes; /* passed; bytes as charged */
	/* refused; bytes as the hook saw them, or on arrival as charged to their sender */
	__u64 drop_frames, drop_bytes;
	__u64 refund_lost; /* bytes charged to a refused packet that stayed charged */
};
BWL_ASSERT_SIZE(struct bwl_peer_count, 40);

/*
 * bwl_over_v1[id], per CPU; BPF writes. Of what passed: what was over a limit of its own in mode
 * monitor (BWL_R_PASS_MONITOR). A map of its own: peers with another mode never touch it.
 */
struct bwl_over_count {
	__u64 frames, bytes; /* bytes as charged */
};
BWL_ASSERT_SIZE(struct bwl_over_count, 16);

#endif
