// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares one limit with another. */
#include <stdio.h>
#include <string.h>
#include <bwl/units.h>
#include "signed/widen_parts.h"

static uint64_t rate_of(const struct bwl_lim *l)
{
	return l->rate_bps == BWL_NO_RATE ? UINT64_MAX : l->rate_bps;
}

/* Without a rate the burst has no meaning. */
static uint64_t burst_of(const struct bwl_lim *l)
{
	return l->rate_bps == BWL_NO_RATE ? UINT64_MAX
	       : l->burst                 ? l->burst
					  : bwl_default_burst(l->rate_bps);
}

static uint64_t volume_of(const struct bwl_lim *l)
{
	return l->has_volume ? l->volume : UINT64_MAX;
}

static char *window_text(const struct bwl_lim *l, char buf[static BWL_UNIT_BUF])
{
	if (!l->window_ns)
		return strcpy(buf, "total");
	return bwl_format_time(l->window_ns, buf);
}

void widen_limit(struct widen *w, const char *where, const struct bwl_lim *a,
		 const struct bwl_lim *b)
{
	char x[BWL_UNIT_BUF], y[BWL_UNIT_BUF];

	if (!a->present)
		return;
	if (!b->present) {
		widen_add(w, where, "limit", "there is one", "none");
		return;
	}
	widen_number(w, where, "rate", rate_of(a), rate_of(b), bwl_format_rate);
	widen_number(w, where, "burst", burst_of(a), burst_of(b), bwl_format_size);
	widen_number(w, where, "volume", volume_of(a), volume_of(b), bwl_format_size);
	/* Windows of different lengths begin at different moments: neither limit is within the
	 * other. */
	if (a->has_volume && b->has_volume && a->window_ns != b->window_ns)
		widen_add(w, where, "window of the volume", window_text(a, x), window_text(b, y));
}
