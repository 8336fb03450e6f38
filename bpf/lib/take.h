/* SPDX-License-Identifier: GPL-2.0-only */
/* Charges a packet to one limit, by a share or exactly, and undoes that. */
#ifndef BWL_TAKE_H
#define BWL_TAKE_H

#include "again.h"
#include "cpu.h"
#include "ctx.h"
#include "limit.h"

/*
 * rate_reason: for a limit that also has a volume, the next reason is the volume's
 * (BWL_ASSERT_PAIR). Global: the verifier assumes that any reason may be returned, and walks the
 * code after a refusal once instead of once for each reason.
 */
BWL_GLOBAL int bwl_over(__u32 judgement, __u32 rate_reason)
{
	switch (judgement) {
	case BWL_OVER_RATE:
		return rate_reason;
	case BWL_OVER_VOLUME:
		return rate_reason + 1;
	case BWL_OVER_LEDGER:
		return BWL_R_LEDGER;
	case BWL_CLOCK:
		return BWL_R_CLOCK;
	default:
		return BWL_R_CONTENDED;
	}
}

/*
 * What the packet has charged to one limit. One byte, because it is kept per limit and the stack is
 * small.
 */
enum bwl_how {
	BWL_HOW_SLICE = 15, /* of the window */
	BWL_HOW_RATE = 16,
	BWL_HOW_VOLUME = 32,
	BWL_HOW_SHARE = 64, /* by the CPU's share only */
	BWL_HOW_LOST = 128, /* refused, and the charge could not be undone */
};
#define BWL_HOW_SHIFT 8            /* in bwl_take()'s result: above the judgement */
#define BWL_NOT_NOTED (1ULL << 33) /* next to slack: a refusal holds for this packet only */
/* 1ULL << 34: BWL_NOT_AROUND (again.h) */
#define BWL_RESERVED (1ULL << 35) /* no slack, and a zone's reserve is for others */
#define BWL_DEBT 0xffffffffULL    /* slack for bytes that are charged in any case */

static __always_inline _Bool bwl_asked_of(struct bwl_asked *a, const struct bwl_work *w,
					  const struct bwl_limit *l, __u64 slack)
{
	*a = (struct bwl_asked){ .rate = &l->rate, .slack = (__u32)slack };
	if (slack & BWL_RESERVED)
		a->slack = -bwl_rate_reserve(&l->rate);
	a->state = bwl_state_of(l->volume.state);
	if (!a->state)
		return 0;
	a->now_ns = w->now_ns;
	a->len = w->charge;
	a->owner = bwl_cpu_owner(w, l);
	a->cpu_bits = bwl_cpu_bits;
	/* What is charged in any case, a portion, has none; and this frame stays at 96 bytes. */
	if (l->volume.spendable_bytes == BWL_VOLUME_NONE || slack == BWL_DEBT)
		return 1;
	a->limit = l;
	a->window = bwl_window_of(&l->volume);
	a->released = bwl_released(l->volume.state);
	return !l->volume.slice_ns || a->window;
}

/*
 * Charges len bytes. Returns the judgement and, above it, what was charged (enum bwl_how);
 * *ret_was: the rate's word before. A refusal has charged nothing, unless BWL_HOW_LOST is set.
 */
BWL_GLOBAL __u32 bwl_take(const struct bwl_work *w, const struct bwl_limit *l, __u32 len,
			  __u64 slack, __u64 *ret_was)
{
	struct bwl_asked a;
	struct bwl_taken t;
	__u32 lost = 0;
	__u64 end;
	int j;

	if (!w || !l || !ret_was || !bwl_asked_of(&a, w, l, slack))
		return BWL_CONTENDED;
	j = bwl_ask_once(&a, len, &t, &end, &lost);
	*ret_was = t.was;
	if (j != BWL_OK)
		return lost ? j | BWL_HOW_LOST << BWL_HOW_SHIFT : j;
	return (t.slice | t.rate * BWL_HOW_RATE | t.volume * BWL_HOW_VOLUME) << BWL_HOW_SHIFT;
}

/* How many bytes to take for the CPU's share; 0: charge the packet without a share. */
BWL_GLOBAL __u32 bwl_wants(const struct bwl_work *w, const struct bwl_limit *l, struct bwl_share *s)
{
	struct bwl_asked a;

	if (!w || !l || !s || !bwl_asked_of(&a, w, l, 0))
		return 0;
	a.share = s;
	return bwl_share_wants(&a);
}

/*
 * Fills the CPU's share and pays this packet from it. n: the bytes taken and, above them,
 * bwl_take()'s enum bwl_how; was: from bwl_take(). Returns the packet's place, the byte count at
 * which it has drained.
 */
BWL_GLOBAL __u64 bwl_fill(const struct bwl_work *w, const struct bwl_limit *l, struct bwl_share *s,
			  __u64 n, __u64 was)
{
	struct bwl_taken t = {};
	struct bwl_asked a;
	__u64 drained;
	__u32 how = n >> 32;

	if (!w || !l || !s || !bwl_asked_of(&a, w, l, 0))
		return 0;
	a.share = s;
	t.slice = how & BWL_HOW_SLICE;
	t.volume = !!(how & BWL_HOW_VOLUME);
	drained = bwl_rate_drained(&l->rate, w->now_ns);
	bwl_share_fill(&a, n, &t, drained + bwl_rate_debt(was, drained) + (__u32)n);
	s->bytes -= w->charge;
	return bwl_share_place(s);
}

/* Like bwl_over(), and notes the refusal. */
BWL_GLOBAL int bwl_refuse(struct bwl_work *w, const struct bwl_limit *l, __u32 judgement,
			  __u32 rate_reason, __u64 slack)
{
	int r = bwl_over(judgement & 255, rate_reason);

	if (!w || !l)
		return r;
	if (judgement >> BWL_HOW_SHIFT)
		w->lost += w->charge;
	if (!(slack & BWL_NOT_NOTED))
		bwl_note_refusal(w, l, judgement & 255, r, slack);
	return r;
}

/* Undoes a charge. Returns the bytes that stay charged. */
BWL_GLOBAL __u32 bwl_undo(const struct bwl_work *w, const struct bwl_limit *l, __u32 how, __u64 was)
{
	struct bwl_taken t = { .was = was };
	struct bwl_state *s;

	if (!w || !l || !(how & (BWL_HOW_RATE | BWL_HOW_VOLUME)))
		return 0;
	s = bwl_state_of(l->volume.state);
	if (!s)
		return w->charge;
	t.rate = !!(how & BWL_HOW_RATE);
	t.volume = !!(how & BWL_HOW_VOLUME);
	return bwl_limit_undo(l, s, bwl_window_of(&l->volume), w->now_ns, w->charge, &t);
}

/* The packet passes all limits: windows learn which slice its bytes belong to. */
static __always_inline void bwl_commit(const struct bwl_work *w, const struct bwl_limit *l,
				       __u32 how)
{
	struct bwl_taken t = { .slice = how & BWL_HOW_SLICE, .volume = 1 };

	if (how & BWL_HOW_VOLUME && l->volume.slice_ns)
		bwl_limit_commit(bwl_window_of(&l->volume), w->charge, &t);
}

#endif
