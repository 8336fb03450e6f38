/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leases of the policies that may be in force, for as long as people allowed (`lease_most`),
 * renewed after a third of that: lead.h. While a rollout goes on two policies are, and each has its
 * lease.
 */
#include <stdio.h>
#include <string.h>
#include "bwl/encode.h"
#include "lead.h"
#include "rollout.h"

#define LEASE_LEAST_NS (3 * CTRL_S)

static int publish(struct lead *l, const struct view_policy *p, const uint8_t digest[32],
		   const char *key_name, int64_t now_s, uint64_t version, struct bwl_err *e)
{
	int64_t for_s = (int64_t)(p->lease_most_ns / CTRL_S);
	char hex[65], span[24];
	struct lead_document d = {
		.type = BWL_SIGNED_LEASE,
		.tray = p->tray,
		.key_name = key_name,
		.name = p->name,
		.audience = p->audience,
		.version = version,
		.now_s = now_s,
		.not_after_s = now_s + for_s,
	};

	snprintf(span, sizeof(span), "%llds", (long long)for_s);
	d.more = json_pack("{s:s, s:s}", "policy", bwl_hex_encode(digest, 32, hex), "for", span);
	return lead_publish(l, &d, NULL, 0, e);
}

static int renew(struct lead *l, struct view_policy *p, uint64_t now_ns, int64_t now_s,
		 struct bwl_err *e)
{
	const struct rollout *ro = lead_rollout_of(l, p);
	bool of_to = !ro || ro->phase == ROLLOUT_GOING || ro->phase == ROLLOUT_DONE;
	bool of_from = ro && ro->has_from && ro->phase != ROLLOUT_DONE;
	char from_key[BWL_DOC_NAME_MOST + 8];
	int r = 0;

	snprintf(from_key, sizeof(from_key), "%s.from", p->name);
	/* Twice the clock: two leases within a second have two versions. */
	if (of_from)
		r = publish(l, p, ro->from, from_key, now_s, (uint64_t)now_s * 2, e);
	if (!r && of_to)
		r = publish(l, p, p->digest, p->name, now_s, (uint64_t)now_s * 2 + 1, e);
	if (!r)
		p->leased_ns = now_ns;
	return r;
}

int lead_leases(struct lead *l, uint64_t now_ns, int64_t now_s, struct bwl_err *e)
{
	for (size_t i = 0; i < l->v->npolicies && !lead_is_late(l); i++) {
		struct view_policy *p = l->v->policy[i];
		int r;

		if (!p->ok || p->lease_most_ns < LEASE_LEAST_NS || p->terms.not_after_s <= now_s ||
		    (p->leased_ns && now_ns - p->leased_ns < p->lease_most_ns / 3))
			continue;
		r = renew(l, p, now_ns, now_s, e);
		if (r)
			return r;
	}
	return 0;
}
