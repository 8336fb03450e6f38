/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of the ring buffer bwl_event_v1. BPF writes; bwlimitd, or one `watch`, reads. */
#ifndef BWL_MAPS_EVENT_H
#define BWL_MAPS_EVENT_H

#include "abi.h"

#define BWL_EVENTS(X)                                                                              \
	X(DROP, "drop", "a packet of a peer was refused")                                          \
	X(FIRST, "first-packet", "first packet of a peer since its limit was made")                \
	X(NEW_DEST, "new-destination", "a destination without a peer was tried")                   \
	X(SPOOF, "spoofed-source", "source address, MAC or VLAN tag is not the host port's")       \
	X(EXHAUSTED, "exhausted", "a volume is spent")                                             \
	X(LAPSED, "lapsed", "a grant was used after its expiry, revocation or silence")            \
	X(GATE, "gate", "the last gate stopped a packet")                                          \
	X(CLOCK, "clock", "a limit's state was ahead of the clock")
enum bwl_event_kind {
#define X(e, name, text) BWL_E_##e,
	BWL_EVENTS(X)
#undef X
		_BWL_EVENT_MAX
};

struct bwl_event {
	__u64 time_ns;   /* CLOCK_BOOTTIME */
	__u32 peer;      /* id, 0 none */
	__u32 len;       /* bytes of the frame as the hook saw it */
	__u8 kind;       /* enum bwl_event_kind */
	__u8 reason;     /* enum bwl_reason */
	__u8 port;       /* port id */
	__u8 class;      /* enum bwl_class */
	__u16 ethertype; /* host byte order */
	__u8 proto;      /* IP protocol */
	__u8 _pad;
	__be16 sport, dport;
	__u32 _pad2;
	__be32 saddr[4], daddr[4]; /* IPv4 as ::ffff:a.b.c.d */
};
BWL_ASSERT_SIZE(struct bwl_event, 64);

#define BWL_EVENT_RING_BYTES (1U << 20) /* a power of two, and whole pages of 4, 16 and 64 KiB */
/*
 * Maximum per second for each kind at each port, per CPU; the rest is counted in lost. All kinds,
 * ports and CPUs share the ring, which a host could fill while nobody reads. So kinds that a host
 * can produce at will stop at ROOM_JUNK bytes, those that depend on a peer's grant at ROOM_PEER;
 * the last gate and the clock always get room.
 */
#define BWL_EVENTS_PER_SEC 16
#define BWL_EVENT_ROOM_JUNK (BWL_EVENT_RING_BYTES / 2)
#define BWL_EVENT_ROOM_PEER (BWL_EVENT_RING_BYTES / 8 * 7)

/* bwl_evcnt_v1[kind * BWL_MAX_PORTS + port id], per CPU; BPF writes. */
struct bwl_event_count {
	__u64 second; /* of now_ns */
	__u64 sent;   /* in that second */
	__u64 lost;   /* rate-limited, or the ring was too full */
	__u64 total;
};
BWL_ASSERT_SIZE(struct bwl_event_count, 32);
#define BWL_EVENT_COUNTS (_BWL_EVENT_MAX * BWL_MAX_PORTS)

static inline __u32 bwl_event_count_index(__u32 kind, __u32 port)
{
	return kind * BWL_MAX_PORTS + port % BWL_MAX_PORTS;
}

#endif
