/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shares: the part of a limit that a CPU has taken in advance, rate and volume together, and spends
 * without atomic operations. All CPUs together hold at most CPUs << bwl_rate.share bytes of a
 * limit, and its burst_bytes is smaller by that: so a limit with its shares never passes more than
 * one without. A volume counts shares as spent.
 */
#ifndef BWL_MAPS_SHARE_H
#define BWL_MAPS_SHARE_H

#include "abi.h"
#include "words.h"

#define BWL_SHARE_BURST_MIN (1ULL << 20) /* bytes: smaller bursts are not shared */
#define BWL_SHARE_PART 8                 /* all CPUs hold at most that part of a burst */
#define BWL_SHARE_MIN 11                 /* log2 of bytes: a frame of 1514 fits */
#define BWL_SHARE_MAX 17                 /* … a GSO packet of 64 KiB with its headers */
/*
 * All CPUs hold at most what is left of a volume >> this. Shares that are never spent, over the
 * twelve slices of a window, are less than a hundredth of the volume.
 */
#define BWL_SHARE_VOLUME_SHIFT 11

struct bwl_share {
	/* bwl_rate.start_ns of the policy under which it was taken; any other value: void */
	__u64 start_ns;
	__u64 until_ns; /* the end of the window's slice to which it was charged; ~0: none */
	/* the limit's word after the share was filled: where the last byte drains */
	__u64 end_bytes;
	__u32 owner; /* its owner: bwl_share_owner(); any other value: void */
	__u32 bytes; /* left */
};
BWL_ASSERT_SIZE(struct bwl_share, 32);

/* bwl_cpu_v1[0]: BPF writes, each CPU its own. The limits that contain all peers. */
struct bwl_cpu {
	__u32 busy;      /* a program is using it: one that interrupts that program does without */
	__u32 unclocked; /* bytes charged without a share since the clock was read (clock.h) */
	__u32 resumes;   /* bwl_ctl.resumes when the clock was last read */
	__u32 _unused;   /* of the first tree with layout 5, and another clock */
	__u64 exact_ns;  /* the clock when it was last read: never later than now */
	__u64 late_ns;   /* ticks' time plus this is never earlier than now; 0: not known */
	struct bwl_share node;
	struct bwl_share port[BWL_MAX_PORTS];
	struct bwl_share zone[BWL_MAX_ZONES];
};
BWL_ASSERT_SIZE(struct bwl_cpu, 32 * (2 + BWL_MAX_PORTS + BWL_MAX_ZONES));

/*
 * bwl_share_v1[bwl_share_index(state)]: BPF writes, each CPU its own. Limits of peers: grant,
 * floor, class (`accept` has no shares). If several meet at one entry, one owns it and the others
 * are charged without a share.
 */
struct bwl_share_entry {
	struct bwl_share share;
	__u32 filled; /* when last filled: CLOCK_BOOTTIME >> BWL_SHARE_IDLE_SHIFT */
	/* Of a grant, whoever owns the share: the result when this CPU last charged a packet. */
	__u32 refused_len; /* bytes: nothing is known about smaller packets */
	/* packets of that size and larger are refused until then; 0: none */
	__u64 refused_until_ns;
	__u32 refused_peer;  /* for this peer, */
	__u32 refused_edits; /* and under which bwl_ctl.edits */
	__u16 refused_generation;
	__u8 refused_slot, refused_reason;
	__u32 refused_port; /* at this host port */
};
BWL_ASSERT_SIZE(struct bwl_share_entry, 64);
#define BWL_SHARE_INDEX_BITS 12
#define BWL_SHARES (1U << BWL_SHARE_INDEX_BITS)
#define BWL_SHARE_IDLE_SHIFT 30 /* ns: about a second */

/*
 * The limit, by its index into bwl_state_v1, with the entry of bwl_ctl.sched under which the share
 * was taken: when a policy on trial returns to the previous one, its shares are void.
 */
static inline __attribute__((always_inline)) __u32 bwl_share_owner(__u32 state, __u32 active)
{
	return state ^ active << 30;
}

/* Spreads neighbouring numbers over different entries (2^32 by the golden ratio). */
static inline __attribute__((always_inline)) __u32 bwl_spread(__u32 x, __u32 bits)
{
	return (x * 0x9e3779b1U) >> (32 - bits);
}

static inline __attribute__((always_inline)) __u32 bwl_share_index(__u32 state)
{
	return bwl_spread(state, BWL_SHARE_INDEX_BITS);
}

#endif
