/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tray with its documents and its clock, and documents that are signed for it. */
#ifndef BWL_TEST_DOCS_RIG_H
#define BWL_TEST_DOCS_RIG_H

#include "../signed/rig.h"
#include <errno.h>
#include <bwl/cleanup.h>
#include "documents/docs.h"

#define TWO (1U << ALICE | 1U << BOB)
#define ONE (1U << ALICE)
#define ONLINE (1U << CONTROLLER)
#define SECOND 1000000000ULL

static struct docs s;
static struct docs_clock at;
static unsigned version;

static inline void enrol(void)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	BWL_AUTO_FREE char *text = rig_root_text(&rig_root_1, PEOPLE);
	json_t *o = rig_terms("tray-7", 1, 1, NOW - 60, NOW + 300 * DAY);
	struct bwl_err e = { 0 };
	char hex[65], *enrolment;

	json_object_set_new(o, "tray", json_string("tray-7"));
	json_object_set_new(o, "root", json_string(bwl_hex_encode(bwl_root_digest(root), 32, hex)));
	enrolment = rig_sign(BWL_SIGNED_ENROLMENT, "hall-3", "tray:tray-7", o, TWO);
	docs_free(&s);
	version = 1;
	at = (struct docs_clock){ .boot_ns = 1000 * SECOND, .wall_s = NOW };
	if (bwl_memory_enrol("/nonexistent", text, strlen(text), enrolment, strlen(enrolment), NOW,
			     &s.m, &e))
		fail_msg("%s", e.text);
	free(enrolment);
}

static inline int begin(void **state)
{
	rig_keys(state);
	return 0;
}

static inline int end(void **state)
{
	docs_free(&s);
	return rig_no_keys(state);
}

static struct bwl_err last;
/* Returns "taken", "known", "waits", or the error's id. */
static inline const char *give_text(const char *text)
{
	struct docs_verdict v;
	const char *said = "taken";
	int r;

	last = (struct bwl_err){ 0 };
	r = docs_judge(&s, text, strlen(text), &at, &v, &last);
	if (r)
		return last.id ? last.id : last.text;
	if (v.known)
		said = "known";
	else if (docs_take(&s, &v, text, strlen(text), &at, &last))
		said = last.text;
	else if (v.waits)
		said = "waits";
	docs_verdict_free(&v);
	return said;
}

static inline const char *give(enum bwl_signed_type type, json_t *body, unsigned who)
{
	BWL_AUTO_FREE char *text = rig_sign(type, "hall-3", "all", body, who);

	return give_text(text);
}

/* Terms issued now. Each document has a higher version than all before it. */
static inline json_t *terms(const char *name, int64_t for_s)
{
	return rig_terms(name, (unsigned)bwl_memory_epoch(s.m), ++version, at.wall_s,
			 at.wall_s + for_s);
}

static char policy_text[2048];
static inline const char *text_of(unsigned a, unsigned b, const char *more)
{
	snprintf(
		policy_text, sizeof(policy_text),
		"version: 1\n"
		"node: tray-7\n"
		"uplinks: [p0]\n"
		"heartbeat: 60s\n"
		"%shost_ports:\n"
		"  - { dev: pf0hpf, sources: [10.7.0.0/24] }\n"
		"peers:\n"
		"  - { name: a, addresses: [10.1.0.0/24], path: clear, via: 192.0.2.9, grant: { rate: %ukbit, burst: 32kb }, floor: { rate: 1kbit, burst: 2kb } }\n"
		"  - { name: b, addresses: [10.2.0.0/24], path: clear, via: 192.0.2.9, grant: { rate: %ukbit, burst: 32kb } }\n",
		more, a, b);
	return policy_text;
}

static inline json_t *policy(unsigned a, unsigned b, int64_t for_s)
{
	json_t *o = terms("base", for_s);

	json_object_set_new(o, "text", json_string(text_of(a, b, "")));
	return o;
}

static inline json_t *grant(const char *name, const char *peer, unsigned kbit, int64_t for_s)
{
	json_t *o = terms(name, for_s);
	char rate[32];

	snprintf(rate, sizeof(rate), "%ukbit", kbit);
	json_object_set_new(o, "peer", json_string(peer));
	json_object_set_new(o, "limit", json_pack("{s:s, s:s}", "rate", rate, "burst", "32kb"));
	json_object_set_new(o, "reason", json_string("ticket"));
	return o;
}

static inline json_t *revocation(const char *what, json_t *value)
{
	json_t *o = terms("now", DAY);

	json_object_set_new(o, what, value);
	json_object_set_new(o, "reason", json_string("drill"));
	return o;
}

static inline const char *give_time(void)
{
	return give(BWL_SIGNED_TIMESTAMP, terms("time", DAY), ONLINE);
}

static struct docs_terms now_holds;
static inline const struct bwl_pol_peer *peer(const char *name)
{
	struct bwl_err e = { 0 };

	docs_terms_free(&now_holds);
	if (docs_terms(&s, &now_holds, &e) && e.code != ENOENT)
		fail_msg("%s", e.text);
	return now_holds.any ? bwl_policy_peer(now_holds.holding.pol, name) : NULL;
}

static inline unsigned kbit(const char *name)
{
	const struct bwl_pol_peer *p = peer(name);
	bool live = p &&
		    (p->expiry_ns == BWL_NEVER_NS || p->expiry_ns > (uint64_t)at.wall_s * SECOND);
	unsigned r = live ? (unsigned)(p->grant.rate_bps / 1000) : 0;

	docs_terms_free(&now_holds);
	return r;
}

/* For how many seconds everything above the floor still holds. */
static inline uint64_t left(void)
{
	struct docs_end e;

	peer("a");
	e = docs_end(&s, &now_holds, &at);
	docs_terms_free(&now_holds);
	return e.at_ns > at.boot_ns ? (e.at_ns - at.boot_ns) / SECOND : 0;
}

static inline void pass(unsigned sec)
{
	at.wall_s += sec;
	at.boot_ns += sec * SECOND;
}

static inline json_t *rollout(const char *to, const char *from, unsigned percent, bool back)
{
	json_t *o = terms("stage", DAY);

	json_object_set_new(o, "to", json_string(to));
	json_object_set_new(o, "from", json_string(from));
	json_object_set_new(o, "percent", json_integer(percent));
	json_object_set_new(o, "salt", json_string("salt"));
	if (back)
		json_object_set_new(o, "back", json_true());
	return o;
}

static inline void digest_hex(size_t i, char hex[static 65])
{
	size_t n;
	const struct bwl_digest *held = bwl_memory_held(s.m, &n);

	assert_true(i < n);
	bwl_hex_encode(held[i].b, 32, hex);
}

/* Gives a policy that waits for the controller and then opens b. */
static inline void wait_for_rollout(void)
{
	json_t *o;

	assert_string_equal(give(BWL_SIGNED_POLICY, policy(10, 10, DAY), TWO), "taken");
	pass(1);
	o = policy(90, 5, DAY);
	json_object_set_new(o, "stages", json_true());
	json_object_set_new(o, "opens", json_pack("[s]", "b"));
	assert_string_equal(give(BWL_SIGNED_POLICY, o, TWO), "waits");
}

static inline const json_t *choose(bool back)
{
	char from[65], to[65];

	digest_hex(0, from);
	digest_hex(1, to);
	assert_string_equal(give(BWL_SIGNED_ROLLOUT, rollout(to, from, 100, back), ONLINE),
			    "taken");
	return bwl_memory_due(s.m);
}

static inline const char *give_time_naming(unsigned root, json_t *one)
{
	json_t *o = terms("time", DAY);

	json_object_set_new(o, "root", json_integer(root));
	json_object_set_new(o, "closing", one ? json_pack("[o]", one) : json_array());
	return give(BWL_SIGNED_TIMESTAMP, o, ONLINE);
}

static inline json_t *enrolment_of(const char *who)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	json_t *o = terms(who, 300 * DAY);
	char hex[65];

	json_object_set_new(o, "tray", json_string(who));
	json_object_set_new(o, "root", json_string(bwl_hex_encode(bwl_root_digest(root), 32, hex)));
	return o;
}

#endif
