/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One limit: rate and volume together. Pure. A charge can be undone as long as nobody else
 * has charged the same rate since.
 */
#ifndef BWL_LIMIT_H
#define BWL_LIMIT_H

#include "gcra.h"
#include "window.h"

/* What one packet changed in one limit; zeroed means nothing. */
struct bwl_taken {
	__u64 was;   /* the rate's word before */
	__u32 slack; /* in: bytes above the burst that may leave later, see bwl_rate_judge() */
	__u8 slice;  /* window slice the bytes belong in */
	__u8 rate, volume; /* charged */
	__u8 share;        /* by a share (cpu.h) instead */
};

/* released: of struct bwl_release. */
static __always_inline int bwl_limit_volume(const struct bwl_limit *l, struct bwl_state *s,
					    struct bwl_window *w, __u64 released, __u64 now_ns,
					    __u64 len, struct bwl_taken *t)
{
	__u64 max = l->volume.spendable_bytes;
	__u32 slice;
	int j;

	if (released != BWL_RELEASE_NONE && released < max)
		max = released;
	/*
	 * A closed release (2 bytes) is asked before the window is touched: behind it user space
	 * may be writing that (agent/ledger/release_adopt.c). What no turn could make room for is
	 * refused alike.
	 */
	if (len > max)
		return max < l->volume.spendable_bytes ? BWL_OVER_LEDGER : BWL_OVER_VOLUME;
	if (w) {
		slice = bwl_window_turn(w, l->volume.slice_ns, l->volume.epoch, now_ns);
		if (slice >= BWL_SLICES_KEPT)
			return BWL_CONTENDED;
		t->slice = slice;
		j = bwl_count_take(&w->total_bytes, max, len);
	} else {
		j = bwl_count_take(&s->used_bytes, max, len);
	}
	t->volume = j == BWL_OK;
	return j == BWL_OVER_VOLUME && max < l->volume.spendable_bytes ? BWL_OVER_LEDGER : j;
}

/* The packet passes: file its bytes under their slice. */
static __always_inline void bwl_limit_commit(struct bwl_window *w, __u64 len,
					     const struct bwl_taken *t)
{
	if (w && t->volume)
		bwl_add(&w->slice_bytes[bwl_bound(t->slice, BWL_SLICES_KEPT)], len);
}

/*
 * The packet is refused by another limit. now_ns: as it was charged. Returns the bytes that stay
 * charged.
 * The volume's counter has no time in it, and the total is at least what has passed at every
 * moment: taking one's own bytes off again is exact. The rate's word has time in it: there a
 * subtraction could give back bytes that have drained meanwhile, hence bwl_word_undo().
 */
static __always_inline __u64 bwl_limit_undo(const struct bwl_limit *l, struct bwl_state *s,
					    struct bwl_window *w, __u64 now_ns, __u64 len,
					    const struct bwl_taken *t)
{
	__u64 drained = bwl_rate_drained(&l->rate, now_ns);

	if (t->volume)
		bwl_add(w ? &w->total_bytes : &s->used_bytes, -len);
	/* The word that it left need not be remembered: it follows from the one before. */
	return t->rate && !bwl_word_undo(&s->finish_bytes, t->was,
					 drained + bwl_rate_debt(t->was, drained) + len)
		       ? len
		       : 0;
}

#endif
