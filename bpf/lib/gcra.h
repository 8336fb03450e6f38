/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The limiter: GCRA (ITU-T I.371, annex) in the byte domain. Pure: time is an argument.
 *
 * finish - drained(now) is the debt in bytes. A packet of len bytes passes when debt + len
 * is within the burst; one compare-and-swap then moves finish. drained() is monotonic and
 * continuous across policies, so no change of rate, burst or name adds tokens, and
 * passed(window) <= drained(end) - drained(start) + burst.
 */
#ifndef BWL_GCRA_H
#define BWL_GCRA_H

#include "compiler.h"
#include "../../maps/policy.h"

enum bwl_judgement {
	BWL_OK,
	BWL_OVER_RATE,
	BWL_OVER_VOLUME,
	BWL_OVER_LEDGER, /* within the volume, but the ledger has not released it */
	BWL_CONTENDED,   /* lost the race too often: refused, against the sender */
	BWL_CLOCK,       /* state ahead of the clock; it was set to full debt */
};

/*
 * Attempts at one word before a packet is refused as contended. Each failure means that another CPU
 * succeeded.
 */
#define BWL_CAS_TRIES 16

/* Bytes that have not drained yet; an idle limit has its full burst, and no more. */
static __always_inline __u64 bwl_rate_debt(__u64 finish, __u64 drained)
{
	return (__s64)(finish - drained) < 0 ? 0 : finish - drained;
}

/*
 * Judges len bytes against the state word. BWL_OK: *ret_next is the word after the packet.
 * BWL_CLOCK: it is the word that repairs the state (full debt). slack: bytes above the burst that
 * may pass because they leave later (mode shape), otherwise 0; for a peer beyond its portion of a
 * zone less than 0, bwl_rate_reserve().
 */
static __always_inline int bwl_rate_judge(const struct bwl_rate *r, __u64 finish, __u64 drained,
					  __u64 len, __u64 slack, __u64 *ret_next)
{
	__u64 debt = bwl_rate_debt(finish, drained);

	*ret_next = drained + debt + len;
	if (bwl_likely(debt + len <= r->burst_bytes + slack))
		return BWL_OK;
	if (debt <= BWL_MAX_DEBT) /* far above every burst */
		return BWL_OVER_RATE;
	*ret_next = drained + r->burst_bytes;
	return BWL_CLOCK;
}

/*
 * The reserve of a zone that is shared by weight: bytes of its burst for members within their
 * portion only. A member beyond its portion passes only while more than these are left. The sum of
 * what all portions may pass at once and what all CPUs may hold is less (bwl_portion(),
 * maps/share.h), so a member within its portion always finds room.
 */
static __always_inline __u64 bwl_rate_reserve(const struct bwl_rate *r)
{
	return r->burst_bytes - r->burst_bytes / 2;
}

/* Charges len bytes. On BWL_OK, *ret_was and *ret_next allow bwl_word_undo(). */
static __always_inline int bwl_rate_take(const struct bwl_rate *r, __u64 *word, __u64 drained,
					 __u64 len, __u64 slack, __u64 *ret_was, __u64 *ret_next)
{
	__u64 was = bwl_read(*word), next = 0, seen;
	int i, j;

	for (i = 0; i < BWL_CAS_TRIES; i++) {
		j = bwl_rate_judge(r, was, drained, len, slack, &next);
		if (j != BWL_OK && j != BWL_CLOCK)
			return j;
		seen = bwl_cas(word, was, next);
		if (bwl_likely(seen == was)) {
			*ret_was = was;
			*ret_next = next;
			return j;
		}
		was = seen;
	}
	return BWL_CONTENDED;
}

/*
 * A packet that waits longer than a quarter of that gets CE, before packets must be refused: a
 * sender in slow start learns of it only when the marked packet has left, and has sent as much
 * again by then.
 */
static __always_inline _Bool bwl_rate_crowded(const struct bwl_rate *r, __u64 debt, __u32 slack)
{
	return debt > r->burst_bytes + slack / 4;
}

/* Bytes per nanosecond, rounded up: the possible effect of rounding a departure time up. */
static __always_inline __u64 bwl_rate_jitter(const struct bwl_rate *r)
{
	return (((__u64)r->m << r->k) >> BWL_STEP_SHIFT) + 1;
}

/*
 * When a packet that left this debt behind may depart: once the debt has drained to the burst
 * less the jitter, in whole nanoseconds. A packet must fit into that burst by itself. Debt above
 * it is < 2^32 where the horizon is (bwl_rate_slack()).
 */
static __always_inline __u64 bwl_rate_delay(const struct bwl_rate *r, __u64 debt)
{
	__u64 step = ((__u64)r->m << r->k) >> 8, over;

	debt += bwl_rate_jitter(r);
	if (debt <= r->burst_bytes)
		return 0;
	over = debt - r->burst_bytes;
	return (over << (BWL_STEP_SHIFT - 8)) / (step ? step : 1) + 1;
}

/* Charges len bytes against a counter that must not exceed max. */
static __always_inline int bwl_count_take(__u64 *word, __u64 max, __u64 len)
{
	__u64 was = bwl_read(*word), seen;
	int i;

	for (i = 0; i < BWL_CAS_TRIES; i++) {
		if (was > max || len > max - was)
			return BWL_OVER_VOLUME;
		seen = bwl_cas(word, was, was + len);
		if (bwl_likely(seen == was))
			return BWL_OK;
		was = seen;
	}
	return BWL_CONTENDED;
}

/*
 * Undoes a charge, only from the exact value that it left. If another packet came between, the
 * charge stands: subtracting would let bytes through that the limit has already paid for.
 */
static __always_inline _Bool bwl_word_undo(__u64 *word, __u64 was, __u64 next)
{
	return bwl_cas(word, next, was) == next;
}

#endif
