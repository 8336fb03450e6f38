// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Leases of the policies that may be in force, for as long as people allowed (`lease_most`),
 * renewed after a third of that: lead.h. During a rollout there are two such policies, and each has
 * its lease.
 */
#include <stdio.h>
#include <string.h>
#include "bwl/encode.h"
#include "lead.h"
#include "rollout.h"

#define LEASE_MIN_S 3

static int publish(struct lead *l, const struct view_policy *p, const uint8_t digest[32],
		   const char *key_name, uint64_t for_s, int64_t now_s, uint64_t version,
		   struct bwl_err *e)
{
	char hex[65], span[24];
	struct lead_document d = {
		.type = BWL_SIGNED_LEASE,
		.tray = p->tray,
		.key_name = key_name,
		.name = p->name,
		.audience = p->audience,
		.version = version,
		.now_s = now_s,
		.not_after_s = now_s + (int64_t)for_s,
	};

	snprintf(span, sizeof(span), "%llus", (unsigned long long)for_s);
	d.more = json_pack("{s:s, s:s}", "policy", bwl_hex_encode(digest, 32, hex), "for", span);
	return lead_publish(l, &d, NULL, 0, e);
}

/*
 * For how long leases hold, for the policy before a rollout and for the new one; 0: it needs none.
 */
struct spans {
	uint64_t from_s, to_s;
};

static uint64_t span(bool holds, uint64_t most_s)
{
	return holds && most_s >= LEASE_MIN_S ? most_s : 0;
}

static struct spans spans_of(const struct rollout *ro, const struct view_policy *p)
{
	bool from = ro && ro->has_from && ro->phase != ROLLOUT_DONE;
	bool to = !ro || ro->phase == ROLLOUT_GOING || ro->phase == ROLLOUT_DONE;

	return (struct spans){ span(from, from ? ro->from_lease_s : 0),
			       span(to, p->lease_most_ns / CTRL_S) };
}

static uint64_t shorter(const struct spans *s)
{
	return s->from_s && (!s->to_s || s->from_s < s->to_s) ? s->from_s : s->to_s;
}

static int renew(struct lead *l, const struct rollout *ro, struct view_policy *p,
		 const struct spans *s, uint64_t now_ns, int64_t now_s, struct bwl_err *e)
{
	char from_key[BWL_DOC_NAME_MAX + 8];
	int r = 0;

	snprintf(from_key, sizeof(from_key), "%s.from", p->name);
	/* The version is twice the clock: the two leases of one second have different versions. */
	if (s->from_s)
		r = publish(l, p, ro->from, from_key, s->from_s, now_s, (uint64_t)now_s * 2, e);
	if (!r && s->to_s)
		r = publish(l, p, p->digest, p->name, s->to_s, now_s, (uint64_t)now_s * 2 + 1, e);
	if (!r)
		p->leased_ns = now_ns;
	return r;
}

int lead_leases(struct lead *l, uint64_t now_ns, int64_t now_s, struct bwl_err *e)
{
	for (size_t i = 0; i < l->v->npolicies && !lead_is_late(l); i++) {
		struct view_policy *p = l->v->policy[i];
		const struct rollout *ro = p->ok ? lead_rollout_of(l, p) : NULL;
		struct spans s = spans_of(ro, p);
		uint64_t s_ns = shorter(&s) * CTRL_S;
		int r;

		if (!p->ok || !s_ns || p->terms.not_after_s <= now_s ||
		    (p->leased_ns && now_ns - p->leased_ns < s_ns / 3))
			continue;
		r = renew(l, ro, p, &s, now_ns, now_s, e);
		if (r)
			return r;
	}
	return 0;
}
