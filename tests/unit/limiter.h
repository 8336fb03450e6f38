/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the limiter's tests: the limiter itself with a hook at every atomic operation, where another
 * CPU's packet may come in between; random numbers; and the exact bound.
 */
#ifndef BWL_TEST_LIMITER_H
#define BWL_TEST_LIMITER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/tables.h>
#include "bpf/lib/compiler.h"

/* Called before each compare-and-swap, swap and addition. */
static void (*test_between)(void) __attribute__((unused));

static inline void test_yield(void)
{
	if (test_between)
		test_between();
}

#undef bwl_cas
#define bwl_cas(p, old, new) (test_yield(), __sync_val_compare_and_swap(p, old, new))
#undef bwl_swap
#define bwl_swap(p, v) (test_yield(), __sync_lock_test_and_set(p, v))
#undef bwl_add
#define bwl_add(p, v) (test_yield(), (void)__sync_fetch_and_add(p, v))

#include "bpf/lib/limit.h"

typedef __int128 i128;

static uint64_t seed = 1;

/* splitmix64: the same numbers in every run. */
static inline uint64_t rnd(void)
{
	uint64_t z = (seed += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline uint64_t rnd_below(uint64_t n)
{
	return n ? rnd() % n : 0;
}

/* lo .. hi; every magnitude is equally likely. */
static inline uint64_t rnd_scale(uint64_t lo, uint64_t hi)
{
	unsigned bits = 64 - (unsigned)__builtin_clzll(hi | 1);
	uint64_t v;

	do
		v = rnd() >> (64 - (1 + rnd_below(bits)));
	while (v < lo || v > hi);
	return v;
}

/*
 * The bound without rounding. The unit is 1/(8 * 10^9) bytes, in which a rate in bit/s times
 * nanoseconds is a whole number. allowed is the integral of the configured rate. A window from
 * packet i to packet j may pass allowed(j) - allowed(i) + burst. The largest excess over all
 * windows that end at j is a prefix sum minus the smallest prefix before it.
 */
#define TICKS 8000000000LL

struct bound {
	i128 sum, lowest;
	bool any;
};

static inline i128 allowed_by(uint64_t rate_bps, uint64_t ns)
{
	return (i128)rate_bps * ns;
}

/* Bytes over the bound (rounded up) in the worst window that ends with this packet. */
static inline i128 bound_pass(struct bound *b, i128 allowed, uint64_t len, uint64_t burst)
{
	i128 over;

	if (!b->any || b->sum - allowed < b->lowest)
		b->lowest = b->sum - allowed;
	b->any = true;
	b->sum += (i128)len * TICKS;
	over = b->sum - allowed - b->lowest - (i128)burst * TICKS;
	return over > 0 ? (over + TICKS - 1) / TICKS : 0;
}

/* One limit, exactly, like bwl_ask_once() of bpf/lib/share.h. t: zeroed except for its slack. */
static inline int limit_take(const struct bwl_limit *l, struct bwl_state *s, struct bwl_window *w,
			     uint64_t released, uint64_t now_ns, uint64_t len, struct bwl_taken *t)
{
	__u64 next;
	int j = BWL_OK;

	if (!(l->rate.flags & BWL_RATE_UNLIMITED)) {
		j = bwl_rate_take(&l->rate, &s->finish_bytes, bwl_rate_drained(&l->rate, now_ns),
				  len, t->slack, &t->was, &next);
		t->rate = j == BWL_OK;
	}
	return j == BWL_OK && l->volume.spendable_bytes != BWL_VOLUME_NONE
		       ? bwl_limit_volume(l, s, w, released, now_ns, len, t)
		       : j;
}

#endif
