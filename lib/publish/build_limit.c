// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes one limit of a policy into a generation: rate, volume, window and account. */
#include "build.h"

static uint32_t turn_epoch(const struct bwl_window *w)
{
	return (uint32_t)(w->turn >> BWL_TURN_EPOCH_SHIFT) & 0x7f;
}

/* An epoch that is neither the window's own nor the one in force, however many there have been. */
static uint32_t other_epoch(const struct bwl_window *w, uint32_t in_force)
{
	uint32_t epoch = (in_force + 1) & 0x7f;

	return epoch == turn_epoch(w) ? (epoch + 1) & 0x7f : epoch;
}

/* What a shorter window forgets is kept for as long as the longest one would have counted it. */
static void keep_past(struct bwl_past *past, uint64_t slice_ns)
{
	if (past->keep_ns < slice_ns * BWL_SLICES_KEPT)
		__atomic_store_n(&past->keep_ns, slice_ns * BWL_SLICES_KEPT, __ATOMIC_SEQ_CST);
}

static int build_window(struct bwl_ids *ids, const struct bwl_lim *lim, uint32_t state,
			const struct bwl_volume *before, struct bwl_volume *v, bool *ret_new,
			struct bwl_err *e)
{
	struct bwl_window *w;
	int r;

	v->slice_ns = (lim->window_ns + BWL_WINDOW_SLICES - 1) / BWL_WINDOW_SLICES;
	r = bwl_ids_window(ids, state, &v->window, ret_new, e);
	if (r)
		return r;
	w = &ids->p->window[v->window];
	keep_past(&w->past, before ? before->slice_ns : w->slice_ns);
	keep_past(&w->past, v->slice_ns);
	if (before && before->slice_ns)
		v->epoch = before->slice_ns == v->slice_ns ? before->epoch
							   : other_epoch(w, before->epoch);
	else
		/* the length of its slices is no longer known */
		v->epoch = other_epoch(w, turn_epoch(w));
	return 0;
}

int bwl_build_limit(struct bwl_carryover *carryover, const struct bwl_lim *lim, uint32_t state,
		    const struct bwl_volume *before, struct bwl_limit *ret, struct bwl_err *e)
{
	struct bwl_volume *v = &ret->volume;
	uint64_t rate = lim->present ? lim->rate_bps : BWL_NO_RATE;
	bool seen = (carryover->ids->window_of && carryover->ids->window_of[state]) ||
		    (carryover->known && carryover->known[state]),
	     made;
	int r = 0;

	bwl_rate_encode(&ret->rate, rate, lim->burst ? lim->burst : bwl_default_burst(rate));
	*v = (struct bwl_volume){ .spendable_bytes = BWL_VOLUME_NONE,
				  .window = BWL_NO_WINDOW,
				  .state = state };
	if (lim->present && lim->has_volume) {
		v->spendable_bytes = lim->volume;
		if (lim->window_ns)
			r = build_window(carryover->ids, lim, state, before, v, &made, e);
	}
	return r ? r : bwl_carryover_add(carryover, v, before, seen, e);
}

int bwl_build_own_limit(struct bwl_build *b, const struct bwl_lim *lim, uint32_t state,
			const struct bwl_limit *before, struct bwl_limit *ret, struct bwl_err *e)
{
	return bwl_build_limit(&b->carryover, lim, state, before ? &before->volume : NULL, ret, e);
}

/* Limits that exist once: node, zones, ports. */
int bwl_build_extra(struct bwl_build *b, enum bwl_extra_kind kind, const char *name,
		    const struct bwl_lim *lim, const struct bwl_limit *before,
		    struct bwl_limit *ret, struct bwl_err *e)
{
	uint32_t state = 0;
	int r = bwl_ids_extra(b->ids, kind, name, 0, 0, &state, e);

	if (r)
		return r;
	if (before && before->volume.state != state)
		before = NULL;
	return bwl_build_own_limit(b, lim, state, before, ret, e);
}
