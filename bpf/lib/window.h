/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A volume in a sliding window: 12 slices of window / 11. The total counts the bytes of the 12
 * newest slices and may not exceed the volume, so every interval of 11 slices, wherever it starts,
 * is within it; 11/12 of the volume is usable in steady state. Pure.
 *
 * A packet adds to the total by compare-and-swap, then to its slice's entry. The first packet in a
 * new slice takes the lock bit, empties the expired entries and subtracts them from the total.
 * Meanwhile others spin a little and are then refused: never the other way round. A late addition
 * lands in an entry that lives longer, which is against the sender.
 *
 * The epoch distinguishes slices of different lengths: when a policy changes the window, the first
 * packet moves all history into the newest slice. An addition in progress at that moment, of at
 * most a share from each CPU, may land in any entry: in one of twelve cases it is subtracted from
 * the total a slice later, not eleven.
 */
#ifndef BWL_WINDOW_H
#define BWL_WINDOW_H

#include "gcra.h"

#define BWL_WINDOW_SPIN 32

/* With the lock held: empties entries older than the 12 newest slices (rescale: all). */
static __always_inline void bwl_window_empty(struct bwl_window *w, __u64 turn, __u64 want)
{
	__u64 was = turn & BWL_TURN_SLICE_MASK, now = want & BWL_TURN_SLICE_MASK;
	_Bool rescale = (turn ^ want) >> BWL_TURN_EPOCH_SHIFT;
	__u32 newest = was % BWL_SLICES_KEPT, i;
	__u64 freed = 0, back;

	BWL_UNROLL
	for (i = 0; i < BWL_SLICES_KEPT; i++) {
		back = newest >= i ? newest - i : newest + BWL_SLICES_KEPT - i;
		if (rescale || now - was + back >= BWL_SLICES_KEPT)
			freed += bwl_swap(&w->slice_bytes[i], 0);
	}
	if (rescale) {
		bwl_add(&w->slice_bytes[bwl_bound(now % BWL_SLICES_KEPT, BWL_SLICES_KEPT)], freed);
		return;
	}
	bwl_add(&w->past.bytes, freed);
	bwl_add(&w->total_bytes, -freed);
}

/* The turn word for this slice; a smaller one: an earlier slice, or another epoch. */
static __always_inline __u64 bwl_window_want(__u64 slice_ns, __u32 epoch, __u64 now_ns)
{
	return ((now_ns / slice_ns) & BWL_TURN_SLICE_MASK) |
	       ((__u64)(epoch & 0x7f) << BWL_TURN_EPOCH_SHIFT);
}

/* Same epoch, and not behind: a late packet counts in the newest slice. */
static __always_inline _Bool bwl_window_is_current(__u64 turn, __u64 want)
{
	return (turn >> BWL_TURN_EPOCH_SHIFT) == (want >> BWL_TURN_EPOCH_SHIFT) && turn >= want;
}

/*
 * Brings the window up to date. Returns the entry to which the packet's bytes belong, or
 * BWL_SLICES_KEPT if that took too long.
 */
static __always_inline __u32 bwl_window_turn(struct bwl_window *w, __u64 slice_ns, __u32 epoch,
					     __u64 now_ns)
{
	__u64 want, turn;
	int i;

	if (!slice_ns)
		return BWL_SLICES_KEPT;
	want = bwl_window_want(slice_ns, epoch, now_ns);
	for (i = 0; i < BWL_WINDOW_SPIN; i++) {
		turn = bwl_read(w->turn);
		if (turn & BWL_TURN_LOCK)
			continue;
		if (bwl_window_is_current(turn, want))
			return (turn & BWL_TURN_SLICE_MASK) % BWL_SLICES_KEPT;
		if (bwl_cas(&w->turn, turn, turn | BWL_TURN_LOCK) == turn)
			break;
	}
	/* After the loop: the verifier walks it once. */
	if (i == BWL_WINDOW_SPIN)
		return BWL_SLICES_KEPT;
	bwl_window_empty(w, turn, want);
	bwl_swap(&w->turn, want);
	return (want & BWL_TURN_SLICE_MASK) % BWL_SLICES_KEPT;
}

#endif
