// SPDX-License-Identifier: GPL-2.0-or-later
/* See grant.h. */
#include <string.h>
#include <bwl/units.h>
#include "signed/grant.h"
#include "signed/payload.h"

static int take_word(struct bwl_pol_peer *p, const char *key, const char *s, struct bwl_err *e)
{
	struct bwl_lim *l = &p->grant;

	if (!strcmp(key, "rate") && !strcmp(s, "unlimited"))
		return l->rate_bps = BWL_NO_RATE, 0;
	if (!strcmp(key, "rate"))
		return bwl_parse_rate(s, &l->rate_bps, e);
	if (!strcmp(key, "burst"))
		return bwl_parse_size(s, &l->burst, e);
	if (!strcmp(key, "mode"))
		return bwl_mode_parse(s, &p->mode, e);
	if (strcmp(key, "volume"))
		return bwl_fail(e, EBADMSG, "`limit` takes rate, burst, volume and mode, not %.32s",
				key);
	l->has_volume = strcmp(s, "none");
	if (!l->has_volume)
		return 0;
	return bwl_parse_volume(s, &l->volume, &l->window_ns, e);
}

bool bwl_grant_fits(const struct bwl_policy *pol, const struct bwl_signed *d)
{
	const struct bwl_pol_peer *p = bwl_policy_peer(pol, bwl_payload_text(d->body, "peer"));

	return p &&
	       (p->grant.present || json_object_get(json_object_get(d->body, "limit"), "rate"));
}

static uint64_t default_burst(const struct bwl_lim *l, uint8_t mode)
{
	return mode == BWL_MODE_SHAPE ? bwl_default_burst_shape(l->rate_bps)
				      : bwl_default_burst(l->rate_bps);
}

/* Not named. The default for the rate before becomes that for the new one, as with `grant`. */
static void settle_burst(struct bwl_pol_peer *p, const struct bwl_lim *was, uint8_t was_mode)
{
	struct bwl_lim *l = &p->grant;

	if (l->rate_bps == BWL_NO_RATE || was->rate_bps == BWL_NO_RATE ||
	    l->burst == default_burst(was, was_mode) || l->burst > default_burst(l, p->mode))
		l->burst = 0;
}

int bwl_grant_into(struct bwl_policy *pol, const struct bwl_signed *d, uint64_t now_boot_ns,
		   int64_t now_wall_s, struct bwl_err *e)
{
	struct bwl_pol_peer *p = bwl_policy_peer(pol, bwl_payload_text(d->body, "peer"));
	json_t *limit = json_object_get(d->body, "limit");
	int64_t left = d->terms.not_after_s - now_wall_s;
	struct bwl_lim was;
	const char *key;
	uint8_t was_mode;
	json_t *v;
	int r = 0;

	if (!p)
		return bwl_fail(e, ENOENT, "the policy has no peer %s, named by the grant %s",
				bwl_payload_text(d->body, "peer"), d->terms.name);
	if (!bwl_grant_fits(pol, d))
		return bwl_fail(e, ENOENT,
				"`limit`: rate is missing: peer %s has no grant in the policy",
				p->name);
	was = p->grant;
	was_mode = p->mode;
	p->grant.present = true;
	json_object_foreach(limit, key, v)
	{
		const char *s = json_string_value(v);

		if (!r)
			r = s ? take_word(p, key, s, e)
			      : bwl_fail(e, EBADMSG, "`limit`, %.32s: must be text", key);
	}
	if (r && e)
		e->id = "signed-malformed";
	if (r)
		return r;
	if (json_object_get(limit, "rate") && !json_object_get(limit, "burst"))
		settle_burst(p, &was, was_mode);
	p->expiry_ns = left > 0 ? now_boot_ns + (uint64_t)left * 1000000000ULL : 1;
	return bwl_policy_check(pol, d->terms.name, e);
}
