/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bit/s to the data plane's step per 2^40 ns and back; what is left of a limit. */
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

void bwl_rate_encode(struct bwl_rate *r, uint64_t rate_bps, uint64_t burst)
{
	r->m = 0;
	r->k = 0;
	r->ce_from = 0;
	r->_pad = 0;
	r->flags = rate_bps == BWL_NO_RATE ? BWL_RATE_UNLIMITED : 0;
	if (rate_bps != BWL_NO_RATE)
		encode_step(rate_bps, &r->m, &r->k);
	r->burst_bytes = burst ? burst - 1 : 0;
}

/* The shortest decimal that encodes to the same step: what the operator most likely wrote. */
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
		ret->burst = r->burst_bytes + 1;
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

		/* Slices that the next packet would empty no longer count. */
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
