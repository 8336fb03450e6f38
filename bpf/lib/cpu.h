/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shares that this CPU holds (share.h): where they are, who may use them, and whether one
 * suffices for a packet.
 *
 * Programs of one CPU run one after the other, or nested if an interrupt comes in between: then
 * `busy` is set, and the inner program does without shares.
 */
#ifndef BWL_CPU_H
#define BWL_CPU_H

#include "ctx.h"
#include "share.h"

/* log2 of the number of possible CPUs, rounded up: user space sets it before loading. */
const volatile __u32 bwl_cpu_bits = 15;

/* This CPU's shares, until bwl_cpu_leave(); NULL: use none. */
static __always_inline struct bwl_cpu *bwl_cpu_enter(struct bwl_work *w)
{
	struct bwl_cpu *cpu;

	w->shares = 0;
	if (bwl_on_rt())
		return 0;
	cpu = bwl_cpu_own();
	if (!cpu || bwl_read(cpu->busy))
		return 0;
	bwl_write(cpu->busy, 1);
	w->shares = 1;
	return cpu;
}

/* The same shares, once entered. */
static __always_inline struct bwl_cpu *bwl_cpu_of(const struct bwl_work *w)
{
	return w->shares ? bwl_cpu_own() : 0;
}

static __always_inline void bwl_cpu_leave(struct bwl_cpu *cpu)
{
	bwl_write(cpu->busy, 0);
}

static __always_inline __u32 bwl_cpu_owner(const struct bwl_work *w, const struct bwl_limit *l)
{
	return bwl_share_owner(l->volume.state, w->active);
}

/* Is the limit unlimited in rate and volume? */
static __always_inline _Bool bwl_limits_nothing(const struct bwl_limit *l)
{
	return l->rate.flags & BWL_RATE_UNLIMITED && l->volume.spendable_bytes == BWL_VOLUME_NONE;
}

/* Does the CPU's share of this limit suffice for the packet? Then it is spent. */
static __always_inline _Bool bwl_cpu_spend(const struct bwl_work *w, struct bwl_share *s,
					   const struct bwl_limit *l)
{
	if (bwl_unlikely(
		    !bwl_share_has(s, &l->rate, bwl_cpu_owner(w, l), bwl_latest(w), w->charge)))
		return bwl_limits_nothing(l);
	s->bytes -= w->charge;
	return 1;
}

static __always_inline void bwl_cpu_unspend(const struct bwl_work *w, struct bwl_share *s,
					    const struct bwl_limit *l)
{
	if (!bwl_limits_nothing(l))
		s->bytes += w->charge;
}

/* The entry shared by all limits with this index: it may belong to another. */
static __always_inline struct bwl_share_entry *bwl_cpu_entry(__u32 state)
{
	__u32 index = bwl_share_index(state);

	return bpf_map_lookup_elem(&bwl_share_v1, &index);
}

/*
 * The entry, if it belongs to this limit; NULL: charge without it. If another limit's entry is
 * available, it belongs to this limit from now on, and the next packet fills it. The present
 * packet, whose peer may not come again soon, is charged without a share: with many peers in turn
 * this happens to every packet.
 */
static __always_inline struct bwl_share *bwl_cpu_claim(const struct bwl_work *w, __u32 state,
						       const struct bwl_rate *r)
{
	__u32 owner = bwl_share_owner(state, w->active);
	struct bwl_share_entry *x;

	if (!w->shares || !(r->share || r->flags & BWL_RATE_UNLIMITED))
		return 0;
	x = bwl_cpu_entry(state);
	if (!x)
		return 0;
	if (x->share.owner == owner && x->share.start_ns == r->start_ns) {
		x->filled = w->now_ns >> BWL_SHARE_IDLE_SHIFT;
		return &x->share;
	}
	/* Its own share from another policy is void already. */
	if (!((x->share.owner ^ owner) << 2) || bwl_share_free(x, w->now_ns)) {
		x->share.start_ns = r->start_ns;
		x->share.owner = owner;
		x->share.bytes = 0;
		x->filled = 0;
	}
	return 0;
}

#endif
