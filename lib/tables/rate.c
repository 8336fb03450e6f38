// SPDX-License-Identifier: GPL-2.0-or-later
/* From bit/s to the data plane's step per 2^40 ns and back; CPUs' shares; the rest of a limit. */
#include <time.h>
#include <bpf/libbpf.h>
#include <bwl/tables.h>

/* Bytes per 2^40 ns, rounded down. */
static uint64_t step_of(uint64_t rate_bps)
{
	return (uint64_t)(((unsigned __int128)rate_bps << (BWL_STEP_SHIFT - 3)) / 1000000000U);
}

static void encode_step(uint64_t rate_bps, uint32_t *m, uint8_t *k)
{
	uint64_t step = step_of(rate_bps);

	*k = 0;
	while (step >> 24) {
		step >>= 1;
		(*k)++;
	}
	*m = (uint32_t)step;
}

/* CPUs that a packet might use, including those that are plugged in later. */
static unsigned possible_cpus(void)
{
	int n = libbpf_num_possible_cpus();

	return n > 0 ? (unsigned)n : 0;
}

uint32_t bwl_cpu_bits(void)
{
	unsigned n = possible_cpus();
	uint32_t bits = 0;

	while (bits < 15 && 1U << bits < n)
		bits++;
	return n ? bits : 15;
}

uint64_t bwl_late_most_ns(void)
{
	struct timespec t;

	/* 0: programs read the exact clock */
	return clock_getres(CLOCK_MONOTONIC_COARSE, &t)
		       ? 0
		       : 2 * ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
}

/*
 * Depends only on the burst: limits with the same burst have the same shares, whatever else
 * changes.
 */
static uint8_t share_of(uint64_t burst, unsigned cpus)
{
	uint8_t share = BWL_SHARE_MAX;

	if (!cpus || burst < BWL_SHARE_BURST_MIN)
		return 0;
	while (((uint64_t)cpus << share) > burst / BWL_SHARE_PART)
		share--;
	return share < BWL_SHARE_MIN ? 0 : share;
}

/* The most that all CPUs together may hold. */
static uint64_t held_at_most(const struct bwl_rate *r, unsigned cpus)
{
	return r->share ? (uint64_t)cpus << r->share : 0;
}

void bwl_rate_encode_for(struct bwl_rate *r, uint64_t rate_bps, uint64_t burst, unsigned cpus)
{
	r->m = 0;
	r->k = 0;
	r->ce_from = 0;
	r->share = rate_bps == BWL_NO_RATE ? 0 : share_of(burst, cpus);
	r->flags = rate_bps == BWL_NO_RATE ? BWL_RATE_UNLIMITED : 0;
	if (rate_bps != BWL_NO_RATE)
		encode_step(rate_bps, &r->m, &r->k);
	r->burst_bytes = (burst ? burst - 1 : 0) - held_at_most(r, cpus);
}

void bwl_rate_encode(struct bwl_rate *r, uint64_t rate_bps, uint64_t burst)
{
	bwl_rate_encode_for(r, rate_bps, burst, possible_cpus());
}

uint64_t bwl_rate_burst(const struct bwl_rate *r)
{
	return r->burst_bytes + 1 + held_at_most(r, possible_cpus());
}

/*
 * drained() continues from its value: a change of rate or burst adds no tokens. A limit that was
 * not in force starts in full debt: neither a boot nor a new name gives a burst. What CPUs held of
 * a larger burst may have passed a moment ago without a trace in the word: it counts as debt.
 */
void bwl_rate_follow_for(struct bwl_rate *r, const struct bwl_rate *old, __u64 *word,
			 uint64_t now_ns, unsigned cpus)
{
	uint64_t before, after, drained;
	__u64 was = __atomic_load_n(word, __ATOMIC_SEQ_CST);

	r->start_ns = now_ns;
	if (!old || old->flags & BWL_RATE_UNLIMITED) {
		r->base_bytes = was - r->burst_bytes;
		return;
	}
	drained = bwl_rate_drained(old, now_ns);
	before = held_at_most(old, cpus);
	after = held_at_most(r, cpus);
	r->base_bytes = drained;
	if (before <= after)
		return;
	/*
	 * A word that has drained is moved to now. For the limit in force until then, whose packets
	 * still charge it, that changes nothing; from here on it counts as debt.
	 */
	while ((int64_t)(was - drained) < 0 &&
	       !__atomic_compare_exchange_n(word, &was, drained, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST))
		;
	r->base_bytes -= before - after;
}

void bwl_rate_follow(struct bwl_rate *r, const struct bwl_rate *old, __u64 *word, uint64_t now_ns)
{
	bwl_rate_follow_for(r, old, word, now_ns, possible_cpus());
}

/* The shortest decimal that gives the same step: most likely what the operator wrote. */
uint64_t bwl_rate_decode(const struct bwl_rate *r)
{
	unsigned __int128 exact;
	uint64_t bps, unit, candidate;
	uint32_t m;
	uint8_t k;

	if (r->flags & BWL_RATE_UNLIMITED)
		return BWL_NO_RATE;
	exact = ((unsigned __int128)r->m << r->k) * 1000000000U;
	bps = (uint64_t)((exact + (1ULL << (BWL_STEP_SHIFT - 3)) - 1) >> (BWL_STEP_SHIFT - 3));
	for (unit = 100000000000000ULL; unit; unit /= 10) {
		candidate = (bps + unit - 1) / unit * unit;
		encode_step(candidate, &m, &k);
		if (m == r->m && k == r->k)
			return candidate;
	}
	return bps;
}

void bwl_limit_left(const struct bwl_pins *p, const struct bwl_rate *r, const struct bwl_volume *v,
		    uint32_t state, uint64_t now_ns, struct bwl_left *ret)
{
	const volatile struct bwl_state *s = &p->state[state];
	int64_t debt;

	*ret = (struct bwl_left){ 0 };
	if (!(r->flags & BWL_RATE_UNLIMITED)) {
		debt = (int64_t)(s->finish_bytes - bwl_rate_drained(r, now_ns));
		ret->debt = debt > 0 ? (uint64_t)debt : 0;
		ret->burst = bwl_rate_burst(r);
	}
	if (!v || v->spendable_bytes == BWL_VOLUME_NONE)
		return;
	ret->has_volume = true;
	ret->volume = v->spendable_bytes;
	ret->used = s->used_bytes;
	if (v->slice_ns && v->window < p->schema.max_windows) {
		const volatile struct bwl_window *w = &p->window[v->window];
		uint64_t turn = w->turn & BWL_TURN_SLICE_MASK, now = now_ns / v->slice_ns;
		unsigned i, back;

		/* Slices that the next packet would empty are not counted. */
		ret->window_ns = v->slice_ns * BWL_WINDOW_SLICES / 1000 * 1000;
		ret->used = w->total_bytes;
		if ((w->turn & ~BWL_TURN_LOCK) >> BWL_TURN_EPOCH_SHIFT != (v->epoch & 0x7f))
			return;
		for (i = 0; i < BWL_SLICES_KEPT; i++) {
			back = (unsigned)((turn % BWL_SLICES_KEPT + BWL_SLICES_KEPT - i) %
					  BWL_SLICES_KEPT);
			if (now > turn && now - turn + back >= BWL_SLICES_KEPT)
				ret->used -= w->slice_bytes[i] < ret->used ? w->slice_bytes[i]
									   : ret->used;
		}
	}
}
