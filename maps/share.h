/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shares: what a CPU has taken of a limit in advance, rate and volume together, and spends without
 * atomic operations. All CPUs together hold at most CPUs << bwl_rate.share bytes of a limit, and
 * its burst_bytes is smaller by that: so a limit with its shares never passes more than one
 * without. A volume has what they hold for spent.
 */
#ifndef BWL_MAPS_SHARE_H
#define BWL_MAPS_SHARE_H

#include "abi.h"
#include "words.h"

#define BWL_SHARE_BURST_LEAST (1ULL << 20) /* bytes: smaller bursts are not shared out */
#define BWL_SHARE_PART 8                   /* what all CPUs hold is at most that part of a burst */
#define BWL_SHARE_LEAST 11                 /* log2 of bytes: a frame of 1514 fits */
#define BWL_SHARE_MOST 17                  /* … a GSO packet of 64 KiB with its headers */
/*
 * What all CPUs hold of a volume is at most what is left of it >> this. Whatever of that is never
 * spent, in each of the twelve slices of a window, is less than a hundredth of the volume.
 */
#define BWL_SHARE_VOLUME_SHIFT 11

struct bwl_share {
	__u64 start_ns;  /* bwl_rate.start_ns of the policy it was taken under; any other: void */
	__u64 until_ns;  /* the end of the window's slice that it is filed under; ~0: none */
	__u64 end_bytes; /* the limit's word after it was filled: where the last byte drains */
	__u32 owner;     /* whose it is: bwl_share_owner(); any other: void */
	__u32 bytes;     /* left */
};
BWL_ASSERT_SIZE(struct bwl_share, 32);

/* bwl_cpu_v1[0]: BPF writes, of each CPU its own. The limits that all peers are within. */
struct bwl_cpu {
	__u32 busy;      /* a program is at it: one that interrupts that does without */
	__u32 unclocked; /* bytes charged without a share since the clock was read (clock.h) */
	__u32 resumes;   /* bwl_ctl.resumes when the clock was read last */
	__u32 _unused;   /* of the first that had layout 5, and another clock */
	__u64 exact_ns;  /* the clock when it was read last: no time after now */
	__u64 late_ns;   /* the ticks' time and this are no time before now; 0: not known */
	struct bwl_share node;
	struct bwl_share port[BWL_MAX_PORTS];
	struct bwl_share zone[BWL_MAX_ZONES];
};
BWL_ASSERT_SIZE(struct bwl_cpu, 32 * (2 + BWL_MAX_PORTS + BWL_MAX_ZONES));

/*
 * bwl_share_v1[bwl_share_index(state)]: BPF writes, of each CPU its own. Limits of peers: grant,
 * floor, class (`accept` has no shares). Of those that meet at one entry one has it, the others are
 * charged without a share.
 */
struct bwl_share_entry {
	struct bwl_share share;
	__u32 filled; /* when last: CLOCK_BOOTTIME >> BWL_SHARE_IDLE_SHIFT */
	/* A grant's, whoever has the share: what this CPU was told when it last charged a packet.
	 */
	__u32 refused_len;      /* bytes: of no more than these it is not known */
	__u64 refused_until_ns; /* a packet of that many and more is refused until then; 0: none is
				 */
	__u32 refused_peer;     /* whose, */
	__u32 refused_edits;    /* and under which bwl_ctl.edits */
	__u16 refused_generation;
	__u8 refused_slot, refused_reason;
	__u32 refused_port; /* of the host */
};
BWL_ASSERT_SIZE(struct bwl_share_entry, 64);
#define BWL_SHARE_INDEX_BITS 12
#define BWL_SHARES (1U << BWL_SHARE_INDEX_BITS)
#define BWL_SHARE_IDLE_SHIFT 30 /* ns: a second, roughly */

/*
 * The limit, by its index into bwl_state_v1, and the entry of bwl_ctl.sched under which the share
 * was taken: when a policy on trial returns to the one before it, what was held of that is void.
 */
static inline __attribute__((always_inline)) __u32 bwl_share_owner(__u32 state, __u32 active)
{
	return state ^ active << 30;
}

/* Neighbouring numbers are at different entries (2^32 by the golden ratio). */
static inline __attribute__((always_inline)) __u32 bwl_spread(__u32 x, __u32 bits)
{
	return (x * 0x9e3779b1U) >> (32 - bits);
}

static inline __attribute__((always_inline)) __u32 bwl_share_index(__u32 state)
{
	return bwl_spread(state, BWL_SHARE_INDEX_BITS);
}

#endif
