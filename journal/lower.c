// SPDX-License-Identifier: GPL-2.0-or-later
/* Applies limits that were lowered by hand to a policy: see record.h. */
#include <string.h>
#include "record.h"

#define SECOND 1000000000ULL

/*
 * Each window lies within one of the longer window: the smaller volume in the longer window
 * satisfies both.
 */
static void lower_volume(struct bwl_lim *l, const struct bwl_journal_limits *j)
{
	if (!(j->set & BWL_JS_VOLUME) || j->set & BWL_JS_UNLIMITED)
		return;
	if (!l->has_volume) {
		l->has_volume = true;
		l->volume = j->volume;
		l->window_ns = j->window_ns;
		return;
	}
	if (j->volume < l->volume)
		l->volume = j->volume;
	if (!l->window_ns || !j->window_ns)
		l->window_ns = 0;
	else if (j->window_ns > l->window_ns)
		l->window_ns = j->window_ns;
}

static void lower_rate(struct bwl_lim *l, uint64_t rate_bps)
{
	if (rate_bps != BWL_NO_RATE && (l->rate_bps == BWL_NO_RATE || l->rate_bps > rate_bps))
		l->rate_bps = rate_bps;
}

static void lower(struct bwl_lim *l, const struct bwl_journal_limits *j)
{
	if (j->set & BWL_JS_RATE)
		lower_rate(l, j->rate_bps);
	if (j->set & BWL_JS_BURST && j->burst &&
	    j->burst < (l->burst ? l->burst : bwl_default_burst(l->rate_bps)))
		l->burst = j->burst;
	lower_volume(l, j);
}

static void lower_expiry(struct bwl_pol_peer *q, const struct bwl_closed_limit *x,
			 uint64_t now_boot_ns, uint64_t now_wall_s, bool wall_ok)
{
	uint64_t left_s, end_ns;

	if (!(x->lim.set & BWL_JS_EXPIRY) || !x->lim.expiry_s)
		return;
	left_s = x->lim.expiry_s > now_wall_s && now_wall_s >= x->wall_s && wall_ok
			 ? x->lim.expiry_s - now_wall_s
			 : 0;
	end_ns = left_s < (1ULL << 33) ? now_boot_ns + left_s * SECOND : BWL_NEVER_NS;
	if (end_ns < q->expiry_ns)
		q->expiry_ns = end_ns;
}

static void lower_peer(struct bwl_pol_peer *q, const struct bwl_closed_limit *x,
		       uint64_t now_boot_ns, uint64_t now_wall_s, bool wall_ok)
{
	if (!q->grant.present)
		return;
	if (x->lim.set & BWL_JS_ACCEPT && !q->accept_none) {
		if (!q->accept.present)
			q->accept = bwl_default_accept(&q->grant);
		q->accept.present = true;
		lower_rate(&q->accept, x->lim.accept_bps);
	}
	lower(&q->grant, &x->lim);
	/* The default accept limit has no rate if the grant has none: so it follows the grant. */
	if (q->accept.has_volume && q->accept.rate_bps == BWL_NO_RATE)
		lower_rate(&q->accept, bwl_default_accept(&q->grant).rate_bps);
	if (q->floor.present && q->grant.rate_bps != BWL_NO_RATE)
		lower_rate(&q->floor, q->grant.rate_bps);
	if (x->lim.set & BWL_JS_MODE && !bwl_mode_enforces(q->mode) && x->lim.mode < _BWL_MODE_MAX)
		q->mode = (uint8_t)x->lim.mode;
	lower_expiry(q, x, now_boot_ns, now_wall_s, wall_ok);
}

size_t bwl_closed_lower(const struct bwl_closed *c, struct bwl_policy *pol, uint64_t now_boot_ns,
			uint64_t now_wall_s, bool wall_ok)
{
	size_t i, z, n = 0;

	for (i = 0; i < c->nlimits; i++) {
		const struct bwl_closed_limit *x = &c->limit[i];
		struct bwl_pol_peer *q = x->zone ? NULL : bwl_policy_peer(pol, x->name);

		if (q)
			lower_peer(q, x, now_boot_ns, now_wall_s, wall_ok);
		n += q != NULL;
		for (z = 0; x->zone && z < pol->nzones; z++) {
			if (strncmp(pol->zones[z].name, x->name, BWL_NAME_LEN))
				continue;
			pol->zones[z].limit.present = true;
			lower(&pol->zones[z].limit, &x->lim);
			n++;
		}
	}
	return n;
}
