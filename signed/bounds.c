// SPDX-License-Identifier: GPL-2.0-or-later
/* See bounds.h. */
#include <string.h>
#include <bwl/encode.h>
#include "signed/bounds.h"
#include "signed/payload.h"

struct bwl_bounds bwl_bounds_of(const struct bwl_signed *policy)
{
	struct bwl_bounds b = {
		.epoch = policy->terms.epoch,
		.not_after_s = policy->terms.not_after_s,
		.lease_most_ns = bwl_payload_span(policy->body, "lease_most", 0),
		.stages = bwl_payload_yes(policy->body, "stages"),
	};

	memcpy(b.policy, policy->digest, sizeof(b.policy));
	return b;
}

#define beyond(e, ...) (bwl_fail(e, EDQUOT, __VA_ARGS__), is_beyond(e))
static int is_beyond(struct bwl_err *e)
{
	if (e)
		e->id = "signed-bounds";
	return -EDQUOT;
}

static bool names(const struct bwl_signed *d, const char *key, const uint8_t digest[32])
{
	const char *s = bwl_payload_text(d->body, key);
	uint8_t named[32];

	return s && bwl_hex_decode(s, named, sizeof(named)) &&
	       !memcmp(named, digest, sizeof(named));
}

static int lease(const struct bwl_bounds *b, const struct bwl_signed *d, int64_t now_s,
		 uint64_t *ret_ns, struct bwl_err *e)
{
	uint64_t ns = bwl_payload_span(d->body, "for", 0), left;

	if (!names(d, "policy", b->policy))
		return beyond(e, "the lease %s belongs to another policy than the one in force",
			      d->terms.name);
	if (!ns || ns > b->lease_most_ns)
		return beyond(
			e,
			"the lease %s is longer than `lease_most` of the policy, which people signed",
			d->terms.name);
	/* counted from its issue, and never beyond the policy: delaying a lease gains nothing */
	left = (uint64_t)(b->not_after_s - now_s) * 1000000000ULL;
	if (now_s > d->terms.issued_s) {
		uint64_t old = (uint64_t)(now_s - d->terms.issued_s) * 1000000000ULL;

		ns = old < ns ? ns - old : 0;
	}
	if (b->not_after_s <= now_s || !ns)
		return beyond(e, "the lease %s has run out, or its policy has ended",
			      d->terms.name);
	*ret_ns = ns < left ? ns : left;
	return 0;
}

static int rollout(const struct bwl_bounds *b, const struct bwl_signed *d, struct bwl_err *e)
{
	bool to = false, from = !bwl_payload_text(d->body, "from");

	if (!b->stages)
		return beyond(e, "the rollout %s: the policy in force has no `stages`",
			      d->terms.name);
	for (size_t i = 0; i < b->nmay_hold; i++) {
		to = to || names(d, "to", b->may_hold[i]);
		from = from || names(d, "from", b->may_hold[i]);
	}
	return to && from
		       ? 0
		       : beyond(e,
				"the rollout %s names a policy that people did not sign for this tray",
				d->terms.name);
}

int bwl_bounds_check(const struct bwl_bounds *b, const struct bwl_signed *d, int64_t now_s,
		     uint64_t *ret_lease_ns, struct bwl_err *e)
{
	*ret_lease_ns = 0;
	switch (d->type) {
	case BWL_SIGNED_TIMESTAMP:
		return 0;
	case BWL_SIGNED_LEASE:
		return lease(b, d, now_s, ret_lease_ns, e);
	case BWL_SIGNED_ROLLOUT:
		return rollout(b, d, e);
	default:
		return beyond(e, "an online key may not sign a %s", bwl_signed_word(d->type));
	}
}
