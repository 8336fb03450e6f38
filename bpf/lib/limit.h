/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One limit: rate and volume together. Pure. A charge can be undone as long as nobody else has
 * charged the same rate since.
 */
#ifndef BWL_LIMIT_H
#define BWL_LIMIT_H

#include "gcra.h"
#include "window.h"

/* What one packet changed in one limit; all zero: nothing. */
struct bwl_taken {
	__u64 was;         /* the rate's word before */
	__u64 slack;       /* in: bytes above the burst that may pass, see bwl_rate_judge() */
	__u8 slice;        /* window slice to which the bytes belong */
	__u8 rate, volume; /* charged */
	__u8 _pad[5];
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
	 * A closed release (2 bytes) is checked before the window is touched: user space may be
	 * writing the window meanwhile (agent/ledger/release_adopt.c). A packet that no turn could
	 * make room for is refused the same way.
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

/* bytes: a smaller burst is charged only by the clock, to the byte */
#define BWL_COLD_BURST_MIN (1ULL << 17)

/* For bwl_limit_try(): */
struct bwl_cold {
	__u64 now_ns, least_ns; /* now is between them, or equal to either */
	__u64 released;         /* of struct bwl_release */
	__u32 len;
};

/*
 * The slice of the later time; BWL_SLICES_KEPT: nobody has turned the window to it yet, by the
 * clock.
 */
static __always_inline __u32 bwl_limit_slice(const struct bwl_volume *v, struct bwl_window *w,
					     const struct bwl_cold *c)
{
	__u64 turn;

	if (!w)
		return BWL_SLICES_KEPT;
	turn = bwl_read(w->turn);
	if (turn & BWL_TURN_LOCK ||
	    !bwl_window_is_current(turn, bwl_window_want(v->slice_ns, v->epoch, c->now_ns)))
		return BWL_SLICES_KEPT;
	return (turn & BWL_TURN_SLICE_MASK) % BWL_SLICES_KEPT;
}

/*
 * One attempt, which waits for nobody and turns no window, by two times that enclose now: the debt
 * is recorded by the later one and judged by the earlier one, so nothing passes that would not pass
 * by the true time. An idle limit has a burst that is smaller by what drains between them. false:
 * the exact time is needed; nothing was charged, or only the rate (t->rate).
 */
static __always_inline _Bool bwl_limit_try(const struct bwl_limit *l, struct bwl_state *s,
					   struct bwl_window *w, const struct bwl_cold *c,
					   struct bwl_taken *t)
{
	__u64 drained = bwl_rate_drained(&l->rate, c->now_ns), max = l->volume.spendable_bytes;
	__u64 *word = &s->used_bytes, next = 0, unsure, used;

	*t = (struct bwl_taken){ .was = bwl_read(s->finish_bytes) };
	if (!(l->rate.flags & BWL_RATE_UNLIMITED)) {
		if (c->least_ns < l->rate.start_ns || l->rate.burst_bytes < BWL_COLD_BURST_MIN)
			return 0;
		unsure = drained - bwl_rate_drained(&l->rate, c->least_ns);
		if (unsure > l->rate.burst_bytes / 4 ||
		    bwl_rate_judge(&l->rate, t->was, drained, c->len, -unsure, &next) != BWL_OK ||
		    bwl_cas(&s->finish_bytes, t->was, next) != t->was)
			return 0;
		t->rate = 1;
	}
	if (max == BWL_VOLUME_NONE)
		return 1;
	if (c->released != BWL_RELEASE_NONE && c->released < max)
		max = c->released;
	if (l->volume.slice_ns) {
		t->slice = bwl_limit_slice(&l->volume, w, c);
		if (t->slice >= BWL_SLICES_KEPT)
			goto back;
		word = &w->total_bytes;
	}
	used = bwl_read(*word);
	t->volume = used <= max && c->len <= max - used &&
		    bwl_cas(word, used, used + c->len) == used;
	if (bwl_likely(t->volume))
		return 1;
back:
	if (t->rate && bwl_word_undo(&s->finish_bytes, t->was, next))
		t->rate = 0;
	return 0;
}

/* The packet passes: add its bytes to their slice. */
static __always_inline void bwl_limit_commit(struct bwl_window *w, __u64 len,
					     const struct bwl_taken *t)
{
	if (w && t->volume)
		bwl_add(&w->slice_bytes[bwl_bound(t->slice, BWL_SLICES_KEPT)], len);
}

/*
 * Another limit refuses the packet. now_ns: as when it was charged. Returns the bytes that stay
 * charged.
 * The volume's counter has no time in it, and the total is always at least what has passed:
 * subtracting one's own bytes is exact. The rate's word has time in it: a subtraction could return
 * bytes that have drained meanwhile, hence bwl_word_undo().
 */
static __always_inline __u64 bwl_limit_undo(const struct bwl_limit *l, struct bwl_state *s,
					    struct bwl_window *w, __u64 now_ns, __u64 len,
					    const struct bwl_taken *t)
{
	__u64 drained = bwl_rate_drained(&l->rate, now_ns);

	if (t->volume)
		bwl_add(w ? &w->total_bytes : &s->used_bytes, -len);
	/* The word that it left need not be stored: it follows from the previous one. */
	return t->rate && !bwl_word_undo(&s->finish_bytes, t->was,
					 drained + bwl_rate_debt(t->was, drained) + len)
		       ? len
		       : 0;
}

#endif
