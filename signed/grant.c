/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See grant.h. */
#include <string.h>
#include <bwl/units.h>
#include "signed/grant.h"
#include "signed/payload.h"

static int take_word(struct bwl_pol_peer *p, const char *key, const char *s, struct bwl_err *e)
{
	struct bwl_lim *l = &p->grant;

	if (!strcmp(key, "rate"))
		return bwl_parse_rate(s, &l->rate_bps, e);
	if (!strcmp(key, "burst"))
		return bwl_parse_size(s, &l->burst, e);
	if (!strcmp(key, "mode"))
		return bwl_mode_parse(s, &p->mode, e);
	if (strcmp(key, "volume"))
		return bwl_fail(e, EBADMSG, "`limit` takes rate, burst, volume and mode, not %.32s",
				key);
	l->has_volume = true;
	return bwl_parse_volume(s, &l->volume, &l->window_ns, e);
}

int bwl_grant_into(struct bwl_policy *pol, const struct bwl_signed *d, uint64_t now_boot_ns,
		   int64_t now_wall_s, struct bwl_err *e)
{
	struct bwl_pol_peer *p = bwl_policy_peer(pol, bwl_payload_text(d->body, "peer"));
	int64_t left = d->terms.not_after_s - now_wall_s;
	const char *key;
	json_t *v;
	int r = 0;

	if (!p)
		return bwl_fail(e, ENOENT, "the policy has no peer %s, named by the grant %s",
				bwl_payload_text(d->body, "peer"), d->terms.name);
	p->grant = (struct bwl_lim){ .present = true };
	json_object_foreach(json_object_get(d->body, "limit"), key, v)
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
	p->expiry_ns = left > 0 ? now_boot_ns + (uint64_t)left * 1000000000ULL : 1;
	return bwl_policy_check(pol, d->terms.name, e);
}
