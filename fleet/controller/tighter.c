// SPDX-License-Identifier: GPL-2.0-or-later
/* See tighter.h. */
#include <string.h>
#include "signed/payload.h"
#include "signed/widen.h"
#include "tighter.h"

struct held {
	struct bwl_signed doc;
	struct bwl_policy *pol;
	struct bwl_holding is;
};

static bool hold(const char *bytes, size_t len, uint64_t now_ns, int64_t now_s, struct held *h)
{
	const char *text;

	*h = (struct held){ 0 };
	if (bwl_signed_peek(bytes, len, &h->doc, NULL))
		return false;
	text = bwl_payload_text(h->doc.body, "text");
	if (!text || bwl_policy_parse("policy", text, strlen(text), now_ns, now_s, &h->pol, NULL))
		return false;
	h->is = (struct bwl_holding){
		.pol = h->pol,
		.not_after_s = h->doc.terms.not_after_s,
		.offline_for_ns = bwl_payload_span(h->doc.body, "offline_for", BWL_OFFLINE_FOR_NS),
		.lease_most_ns = bwl_payload_span(h->doc.body, "lease_most", 0),
		.stages = bwl_payload_yes(h->doc.body, "stages"),
		.fresh_volume = bwl_payload_yes(h->doc.body, "fresh_volume"),
	};
	return true;
}

static void let_go(struct held *h)
{
	bwl_policy_free(h->pol);
	bwl_signed_free(&h->doc);
}

bool tighter(const char *from, size_t from_len, const uint8_t from_digest[32], const char *to,
	     size_t to_len, const uint8_t to_digest[32], uint64_t now_ns, int64_t now_s)
{
	struct held a, b = { 0 };
	struct bwl_widened w = { 0 };
	bool yes = hold(from, from_len, now_ns, now_s, &a) &&
		   !memcmp(a.doc.digest, from_digest, sizeof(a.doc.digest)) &&
		   hold(to, to_len, now_ns, now_s, &b) &&
		   !memcmp(b.doc.digest, to_digest, sizeof(b.doc.digest)) &&
		   !json_object_get(b.doc.body, "opens") && !json_object_get(b.doc.body, "lifts") &&
		   !bwl_widens(&a.is, &b.is, &w);

	bwl_widened_free(&w);
	let_go(&a);
	let_go(&b);
	return yes;
}
