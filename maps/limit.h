/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One limit: a rate with a burst, and a volume. Policy (written by user space) and state (written
 * by BPF) are separate, so that a new policy never changes what has been spent.
 *
 * The rate is a GCRA kept in bytes. State is `finish`: the virtual byte count at which everything
 * passed so far has drained. Policy turns the clock into `drained(now)`, a byte count that never
 * falls. The debt is finish - drained(now) and may not exceed the burst. Changing rate or burst
 * rewrites only policy, with drained() continuous at the moment of change: the debt, being bytes,
 * survives every change and no change adds tokens.
 *
 * Units: bytes; nanoseconds of CLOCK_BOOTTIME; rates as bytes per 2^40 ns (about 18.3 minutes):
 * step = m << k with a 24-bit m, rounded down, so a limit is never exceeded and falls short by at
 * most 2^-23 (2^-17 below 64 kbit/s, where the step has fewer bits). 2^40 ns times 24 bits still
 * fits 64 bits: one multiply.
 */
#ifndef BWL_MAPS_LIMIT_H
#define BWL_MAPS_LIMIT_H

#include "abi.h"

#define BWL_STEP_SHIFT 40
#define BWL_MAX_DEBT (1ULL << 44) /* more than this means a broken clock or state */

enum bwl_rate_flags {
	BWL_RATE_UNLIMITED = 1 << 0, /* no rate; a volume may still apply */
};

struct bwl_rate {
	__u64 base_bytes; /* drained(start_ns) */
	__u64 start_ns;
	/* configured burst - 1, because drained() rounds down; less what CPUs may hold */
	__u64 burst_bytes;
	__u32 m;
	__u8 k;
	__u8 flags;   /* enum bwl_rate_flags */
	__u8 ce_from; /* mode mark: CE from ce_from/256 of the burst on */
	__u8 share;   /* log2 of the bytes that a CPU may hold (share.h); 0: no shares */
};
BWL_ASSERT_SIZE(struct bwl_rate, 32);

#define BWL_SLICES_KEPT 12 /* slices kept; a window is 11 of them */
#define BWL_WINDOW_SLICES 11
#define BWL_NO_WINDOW 0xffffffffU

struct bwl_volume {
	__u64 spendable_bytes; /* ~0: no volume limit. Total, or per window */
	__u64 slice_ns;        /* window / 11, rounded up; 0: total */
	__u32 window;          /* index into bwl_window_v1 when slice_ns != 0 */
	__u32 epoch;           /* 7 bits; changes when slice_ns does, see window.h in bpf/lib */
	__u32 state;           /* index into bwl_state_v1 */
	union {
		__u32 floor;  /* peers only: index into the generation's sub limits; 0 none */
		__u32 weight; /* portions only, for user space: as the policy says; 0: 1 */
	};
};
BWL_ASSERT_SIZE(struct bwl_volume, 32);
#define BWL_VOLUME_NONE (~0ULL)

struct bwl_limit {
	struct bwl_rate rate;
	struct bwl_volume volume;
};
BWL_ASSERT_SIZE(struct bwl_limit, 64);
BWL_ASSERT_OFFSET(struct bwl_limit, volume, 32);

/*
 * bwl_state_v1: BPF writes. User space does so before the entry's first use, where a policy changes
 * (lib/accounts/carryover.c, bwl_rate_follow()), and where the ledger knows what was spent
 * (agent/ledger/release_adopt.c). Index: bwl_grant_state(id), bwl_accept_state(id); from
 * 2 * max_peers on the extras, two entries (one cache line) each.
 *
 * Odd entries also count, and never fall: used_bytes is what passed, as charged; drop_bytes is what
 * was refused, as the hook saw it or, on arrival, as charged to its sender (for a class without
 * refusals by a note: bpf/lib/again.h). They count the class of a class's limit (which may limit
 * nothing: BWL_BASE_COUNT_ALL), the host port's traffic to that peer for a tenant's limit, and
 * arriving traffic for a peer's accept limit. Counts of the entry's earlier owners are included.
 */
struct bwl_state {
	__u64 finish_bytes; /* GCRA: see above */
	__u64 used_bytes;   /* against a total volume; never falls */
	union {
		__u64 event_sent; /* second of the last event << 8 | kinds sent in it, a bit each */
		__u64 drop_bytes; /* odd entries, above */
	};
	union {
		__u64 flags; /* of a grant: enum bwl_state_flags */
		/* of accept: frames to the peer that the last gate stopped (BWL_R_GATE) */
		__u64 stopped;
	};
};
BWL_ASSERT_SIZE(struct bwl_state, 32);

enum bwl_state_flags {
	BWL_STATE_SEEN = 1 << 0, /* this limit has judged a packet */
};

/*
 * What a window has forgotten, so that a longer one that comes later can count it: what left it
 * within the last keep_ns is in bwl_past_sum(), and nothing older than twice that if bwlimitd marks
 * the count (bwl_past_mark()).
 */
struct bwl_past {
	__u64 bytes;   /* BPF writes: all that ever left the window */
	__u64 keep_ns; /* user space writes, as the rest: the longest window the limit has had */
	/* [0]: the later of two times, and `bytes` then; CLOCK_BOOTTIME */
	__u64 mark_ns[2], mark_bytes[2];
};
BWL_ASSERT_SIZE(struct bwl_past, 48);

/*
 * bwl_window_v1: BPF writes; user space as in bwl_state_v1, and slice_ns and left_ns.
 * turn: bit 63 lock, bits 56..62 epoch, bits 0..55 index of the newest slice. The total counts the
 * bytes of the 12 newest slices, so any interval of 11 slices is within it.
 */
struct bwl_window {
	__u64 turn;
	__u64 total_bytes;
	__u64 slice_bytes[BWL_SLICES_KEPT];
	__u64 slice_ns;       /* user space writes: the last value in force */
	__u64 left_ns;        /* user space writes: since when not in force; 0: in force */
	struct bwl_past past; /* since layout 8 */
};
BWL_ASSERT_SIZE(struct bwl_window, 176);
#define BWL_TURN_LOCK (1ULL << 63)
#define BWL_TURN_EPOCH_SHIFT 56
#define BWL_TURN_SLICE_MASK ((1ULL << BWL_TURN_EPOCH_SHIFT) - 1)

/*
 * bwl_mark_v1[state index]: user space writes. How much of a volume may be spent: what the ledger
 * has on disk as spent. It is compared with the volume's account (used_bytes, or the window's
 * total).
 */
struct bwl_release {
	__u64 spendable_bytes; /* BWL_RELEASE_*, or bytes */
	__u64 unknown_bytes;   /* charged because nothing was known of its past; 0: known */
};
BWL_ASSERT_SIZE(struct bwl_release, 16);
#define BWL_RELEASE_NONE 0ULL /* no ledger so far: only the volume counts */
/* closed until the ledger has written it; no frame is this short */
#define BWL_RELEASE_AWAITED 1ULL
#define BWL_RELEASE_CLOSED 2ULL /* closed by the ledger's writer */

/*
 * bwl_held_v1: user space writes, BPF does not read it. Accounts that a writer of a policy holds
 * full until no packet uses the previous policy, so that the next writer can settle them if this
 * one is killed (lib/accounts/carryover.c). [0]: `own` entries follow, `put` was bwl_ctl.active
 * when they were written. [0].state: 1 + what bwl_ctl.active is once the names that bwl_extra_v1
 * notes (BWL_X_RENAMED) are in force; 0: it notes none. [0].window: the same until what comes after
 * the switch is done: who was revoked just before it is closed by his prefixes, too, and what is
 * owed where peers gave prefixes up is noted (bwl_given_v1).
 */
enum bwl_held_kind {
	BWL_HELD_DONE,  /* nothing is held, or no longer */
	BWL_HELD_BEGUN, /* if killed here, it stays spent */
	BWL_HELD_FULL,
	BWL_HELD_FROM, /* the previous entry takes over this state's account */
};
struct bwl_held {
	__u64 own; /* the account's balance; BWL_HELD_FROM: so much at least */
	__u64 put; /* the value it was held at */
	__u32 state;
	__u32 window; /* BWL_NO_WINDOW: a total volume */
	__u32 slice;  /* window: the slice that holds put */
	__u8 kind;    /* enum bwl_held_kind */
	__u8 unknown, in_force;
	__u8 longer; /* its window gets longer; since layout 8, 0 before */
};
BWL_ASSERT_SIZE(struct bwl_held, 32);
#define BWL_MAX_HELD 4096

/* Bytes drained at now_ns. Monotonic in now_ns; before start_ns it stands still. */
static inline __attribute__((always_inline)) __u64 bwl_rate_drained(const struct bwl_rate *r,
								    __u64 now_ns)
{
	__u64 m = r->m, dt, whole, part;
	__u32 k = r->k;

	if ((__s64)(now_ns - r->start_ns) <= 0)
		return r->base_bytes;
	dt = now_ns - r->start_ns;
	whole = ((dt >> BWL_STEP_SHIFT) * m) << k;
	part = ((dt & ((1ULL << BWL_STEP_SHIFT) - 1)) * m) >> (BWL_STEP_SHIFT - k);
	return r->base_bytes + whole + part;
}

/* Bytes that drain in horizon_ns. */
static inline __attribute__((always_inline)) __u64 bwl_rate_ahead(const struct bwl_rate *r,
								  __u32 horizon_ns)
{
	return ((__u64)horizon_ns * r->m) >> (BWL_STEP_SHIFT - r->k);
}

/* Mode shape: bytes above the burst that may wait for their time. horizon_ns: from the policy. */
static inline __attribute__((always_inline)) __u32 bwl_rate_slack(const struct bwl_rate *r,
								  __u32 horizon_ns)
{
	__u64 bytes = bwl_rate_ahead(r, horizon_ns ? horizon_ns : BWL_HORIZON_MIN_NS), most;

	if (!horizon_ns && bytes < BWL_HORIZON_BYTES) {
		most = bwl_rate_ahead(r, BWL_HORIZON_MAX_NS);
		bytes = most < BWL_HORIZON_BYTES ? most : BWL_HORIZON_BYTES;
	}
	return bytes > 0x7fffffff ? 0x7fffffff : bytes;
}

#endif
