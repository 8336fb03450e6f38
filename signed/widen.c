// SPDX-License-Identifier: GPL-2.0-or-later
/* See widen.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/doc.h>
#include <bwl/effects.h>
#include <bwl/units.h>
#include "signed/widen_parts.h"

struct bwl_holding bwl_holding_of(const struct bwl_policy *pol)
{
	return (struct bwl_holding){ .pol = pol,
				     .not_after_s = INT64_MAX,
				     .offline_for_ns = UINT64_MAX,
				     .lease_most_ns = UINT64_MAX,
				     .stages = true };
}

/*
 * widen_places() judges new names: whatever they have belonged to another peer before, or to
 * nobody.
 */
static void peers(struct widen *w)
{
	BWL_AUTO_FREE const struct bwl_pol_peer **a = widen_sorted(w->from);

	for (size_t i = 0; i < w->to->npeers; i++) {
		const struct bwl_pol_peer *b = &w->to->peers[i],
					  *was = widen_same(a, w->from->npeers, b);

		if (was && widen_is_open(b))
			widen_peer(w, was, b);
	}
}

static void closed(struct widen *w, const struct bwl_holding *from, const struct bwl_holding *to)
{
	for (size_t i = 0; i < from->nclosed; i++) {
		bool stays = false;

		for (size_t k = 0; !stays && k < to->nclosed; k++)
			stays = !strcmp(from->closed[i], to->closed[k]);
		if (!stays)
			widen_add(w, from->closed[i], "revocation", "closed", "open");
	}
}

static char *moment(uint64_t s, char *buf)
{
	char t[BWL_TIME_BUF];

	snprintf(buf, BWL_UNIT_BUF, "%.*s", BWL_UNIT_BUF - 1, bwl_utc((int64_t)s, -1, t));
	return buf;
}

static uint64_t end(int64_t s)
{
	return s == INT64_MAX ? UINT64_MAX : s < 0 ? 0 : (uint64_t)s;
}

bool bwl_widens(const struct bwl_holding *from, const struct bwl_holding *to,
		struct bwl_widened *ret)
{
	struct widen w = { from->pol, to->pol, ret, to };

	*ret = (struct bwl_widened){ 0 };
	widen_number(&w, "", "not_after", end(from->not_after_s), end(to->not_after_s), moment);
	widen_number(&w, "", "offline_for", from->offline_for_ns, to->offline_for_ns,
		     bwl_format_time);
	widen_number(&w, "", "lease_most", from->lease_most_ns, to->lease_most_ns, bwl_format_time);
	if (to->pol->lease_ns && to->lease_most_ns < from->lease_most_ns &&
	    bwl_effect_action(to->pol, BWL_TAMPER_lease) == BWL_ACTION_DESTROY)
		widen_add(&w, "", "lease_most", "as it is", "shorter: keys are destroyed");
	if (to->stages && !from->stages)
		widen_add(&w, "", "stages", "no", "chosen by the controller");
	if (to->fresh_volume)
		widen_add(&w, "", "fresh_volume", "volumes as they are spent", "unspent");
	closed(&w, from, to);
	widen_node(&w);
	widen_places(&w);
	peers(&w);
	widen_hops(&w);
	return ret->n;
}
