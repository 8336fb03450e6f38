/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU's share of a limit (maps/share.h). Pure. It is filled by one compare-and-swap on the
 * limit's word, which charges it like a packet of that size, and spent by plain arithmetic, because
 * no other CPU touches it.
 *
 * In any window the CPUs pass at most what they held when it began, plus what they took in it. The
 * first is at most what all of them may hold, the second rate * T + burst_bytes; the limit's burst
 * is the sum of both.
 *
 * A share is filled only within the burst: packets charged to it depart at once. Packets that wait
 * for their time (modes shape and mark with fq, over the burst) are charged exactly. A share of
 * those would be a range of places in the queue. The rest of one, when the next is taken, could not
 * be moved to a later place, because then more than the burst would depart at once, nor be dropped,
 * because a flow of mixed sizes would lose a range with every large packet.
 */
#ifndef BWL_SHARE_H
#define BWL_SHARE_H

#include "limit.h"
#include "../../maps/share.h"

/* Does the share belong to this limit as it is now: not to another policy, grant, peer or slice? */
static __always_inline _Bool bwl_share_is(const struct bwl_share *s, const struct bwl_rate *r,
					  __u32 owner, __u64 now_ns)
{
	return s->start_ns == r->start_ns && s->owner == owner && now_ns < s->until_ns;
}

static __always_inline _Bool bwl_share_has(const struct bwl_share *s, const struct bwl_rate *r,
					   __u32 owner, __u64 now_ns, __u32 len)
{
	return s->bytes >= len && bwl_share_is(s, r, owner, now_ns);
}

/* The position of its next byte, in the bytes of bwl_rate_drained(). */
static __always_inline __u64 bwl_share_place(const struct bwl_share *s)
{
	return s->end_bytes - s->bytes;
}

/* The end of the slice to which bytes are charged now. */
static __always_inline __u64 bwl_slice_end(const struct bwl_volume *v, __u64 now_ns)
{
	return v->slice_ns ? (now_ns / v->slice_ns + 1) * v->slice_ns : ~0ULL;
}

/* A limit, the CPU's share of it, and the packet. */
struct bwl_asked {
	const struct bwl_rate *rate;
	const struct bwl_limit *limit; /* of the volume, NULL: there is none */
	struct bwl_state *state;
	struct bwl_window *window; /* NULL: none */
	struct bwl_share *share;   /* NULL: none */
	__u64 released;            /* of struct bwl_release */
	__u64 now_ns;
	__u64 slack; /* as for bwl_rate_judge() */
	__u32 len, owner, cpu_bits;
};

/* What is left of the volume, or ~0: an estimate, used only for the size of a share. */
static __always_inline __u64 bwl_volume_left(const struct bwl_asked *a)
{
	__u64 max, used;

	if (!a->limit)
		return ~0ULL;
	max = a->limit->volume.spendable_bytes;
	if (a->released != BWL_RELEASE_NONE && a->released < max)
		max = a->released;
	used = a->window ? bwl_read(a->window->total_bytes) : bwl_read(a->state->used_bytes);
	return used < max ? max - used : 0;
}

/* How much the CPU may hold. */
static __always_inline __u32 bwl_share_most(const struct bwl_asked *a)
{
	__u64 most = a->rate->share ? 1U << (a->rate->share & 31) : 0, left;

	if (a->rate->flags & BWL_RATE_UNLIMITED)
		most = 1U << BWL_SHARE_MAX;
	left = bwl_volume_left(a) >> (BWL_SHARE_VOLUME_SHIFT + (a->cpu_bits & 15));
	if (most > left)
		most = left;
	return most < 1U << BWL_SHARE_MIN ? 0 : most;
}

/*
 * How many bytes to take, so that the CPU holds as much as it may: all or nothing, because a part
 * would be gone with the next packet. 0: the packet is charged without a share.
 */
static __always_inline __u32 bwl_share_wants(const struct bwl_asked *a)
{
	__u32 most, holds;

	if (!a->share)
		return 0;
	most = bwl_share_most(a);
	holds = bwl_share_is(a->share, a->rate, a->owner, a->now_ns) ? a->share->bytes : 0;
	return a->len > most || holds >= most ? 0 : most - holds;
}

/* Charges rate, then volume: both or neither. *ret_lost: bytes that stay charged nevertheless. */
static __always_inline int bwl_ask_once(const struct bwl_asked *a, __u32 len, struct bwl_taken *t,
					__u64 *ret_end, __u32 *ret_lost)
{
	__u64 drained = bwl_rate_drained(a->rate, a->now_ns);
	int j;

	*t = (struct bwl_taken){ .slack = a->slack };
	*ret_end = drained;
	if (!(a->rate->flags & BWL_RATE_UNLIMITED)) {
		j = bwl_rate_take(a->rate, &a->state->finish_bytes, drained, len, a->slack, &t->was,
				  ret_end);
		if (j != BWL_OK)
			return j;
		t->rate = 1;
	}
	if (!a->limit)
		return BWL_OK;
	j = bwl_limit_volume(a->limit, a->state, a->window, a->released, a->now_ns, len, t);
	if (j != BWL_OK && t->rate && !bwl_word_undo(&a->state->finish_bytes, t->was, *ret_end))
		*ret_lost += len;
	return j;
}

/* n more bytes were charged for it: t and end as bwl_ask_once() left them. */
static __always_inline void bwl_share_fill(const struct bwl_asked *a, __u32 n,
					   const struct bwl_taken *t, __u64 end)
{
	struct bwl_share *s = a->share;

	if (t->volume)
		bwl_limit_commit(a->window, n, t);
	if (!bwl_share_is(s, a->rate, a->owner, a->now_ns))
		s->bytes = 0;
	s->bytes += n;
	s->start_ns = a->rate->start_ns;
	s->until_ns = a->limit ? bwl_slice_end(&a->limit->volume, a->now_ns) : ~0ULL;
	s->end_bytes = end;
	s->owner = a->owner;
}

/*
 * The entry belongs to another limit: may this one take it over? Only if nothing is lost, or the
 * other has not filled it for a second.
 */
static __always_inline _Bool bwl_share_free(const struct bwl_share_entry *x, __u64 now_ns)
{
	return !x->share.bytes || (__s32)((__u32)(now_ns >> BWL_SHARE_IDLE_SHIFT) - x->filled) > 1;
}

#endif
