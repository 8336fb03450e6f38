// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which signed documents are valid, and whether another one is accepted: no disk, no clock, no
 * maps. Most important: whatever one person and the controller's key sign, in any order, allows
 * nothing beyond what two people have signed.
 */
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../signed/rig.h"
#include "agent.h"
#include "bwl/desired.h"
#include "documents/desired.h"
#include "documents/docs.h"
#include "documents/part.h"
#include "documents/store.h"
#include "journal/journal.h"
#include "signed/closing.h"

#define TWO (1U << ALICE | 1U << BOB)
#define ONE (1U << ALICE)
#define ONLINE (1U << CONTROLLER)
#define SECOND 1000000000ULL

static struct docs s;
static struct docs_clock at;
static unsigned version;

static void enrol(void)
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

static int begin(void **state)
{
	rig_keys(state);
	return 0;
}

static int end(void **state)
{
	docs_free(&s);
	return rig_no_keys(state);
}

static struct bwl_err last;
/* Returns "taken", "known", "waits", or the error's id. */
static const char *give_text(const char *text)
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

static const char *give(enum bwl_signed_type type, json_t *body, unsigned who)
{
	BWL_AUTO_FREE char *text = rig_sign(type, "hall-3", "all", body, who);

	return give_text(text);
}

/* Terms issued now. Each document has a higher version than all before it. */
static json_t *terms(const char *name, int64_t for_s)
{
	return rig_terms(name, (unsigned)bwl_memory_epoch(s.m), ++version, at.wall_s,
			 at.wall_s + for_s);
}

static char policy_text[2048];
static const char *text_of(unsigned a, unsigned b, const char *more)
{
	snprintf(
		policy_text, sizeof(policy_text),
		"version: 1\nnode: tray-7\nuplinks: [p0]\nheartbeat: 60s\n%s"
		"host_ports:\n  - { dev: pf0hpf, sources: [10.7.0.0/24] }\npeers:\n"
		"  - { name: a, addresses: [10.1.0.0/24], path: clear, via: 192.0.2.9, grant: { rate: %ukbit, burst: 32kb }, floor: { rate: 1kbit, burst: 2kb } }\n"
		"  - { name: b, addresses: [10.2.0.0/24], path: clear, via: 192.0.2.9, grant: { rate: %ukbit, burst: 32kb } }\n",
		more, a, b);
	return policy_text;
}

static json_t *policy(unsigned a, unsigned b, int64_t for_s)
{
	json_t *o = terms("base", for_s);

	json_object_set_new(o, "text", json_string(text_of(a, b, "")));
	return o;
}

static json_t *grant(const char *name, const char *peer, unsigned kbit, int64_t for_s)
{
	json_t *o = terms(name, for_s);
	char rate[32];

	snprintf(rate, sizeof(rate), "%ukbit", kbit);
	json_object_set_new(o, "peer", json_string(peer));
	json_object_set_new(o, "limit", json_pack("{s:s, s:s}", "rate", rate, "burst", "32kb"));
	json_object_set_new(o, "reason", json_string("ticket"));
	return o;
}

static json_t *revocation(const char *what, json_t *value)
{
	json_t *o = terms("now", DAY);

	json_object_set_new(o, what, value);
	json_object_set_new(o, "reason", json_string("drill"));
	return o;
}

static const char *give_time(void)
{
	return give(BWL_SIGNED_TIMESTAMP, terms("time", DAY), ONLINE);
}

static struct docs_terms now_holds;
static const struct bwl_pol_peer *peer(const char *name)
{
	struct bwl_err e = { 0 };

	docs_terms_free(&now_holds);
	if (docs_terms(&s, &now_holds, &e) && e.code != ENOENT)
		fail_msg("%s", e.text);
	return now_holds.any ? bwl_policy_peer(now_holds.holding.pol, name) : NULL;
}

static unsigned kbit(const char *name)
{
	const struct bwl_pol_peer *p = peer(name);
	bool live = p &&
		    (p->expiry_ns == BWL_NEVER_NS || p->expiry_ns > (uint64_t)at.wall_s * SECOND);
	unsigned r = live ? (unsigned)(p->grant.rate_bps / 1000) : 0;

	docs_terms_free(&now_holds);
	return r;
}

/* For how many seconds everything above the floor still holds. */
static uint64_t left(void)
{
	struct docs_end e;

	peer("a");
	e = docs_end(&s, &now_holds, &at);
	docs_terms_free(&now_holds);
	return e.at_ns > at.boot_ns ? (e.at_ns - at.boot_ns) / SECOND : 0;
}

/* Would the policy's `tamper` act on this end, now or later? */
static bool is_sign(void)
{
	struct docs_end e;

	peer("a");
	e = docs_end(&s, &now_holds, &at);
	docs_terms_free(&now_holds);
	return e.lease;
}

static void pass(unsigned sec)
{
	at.wall_s += sec;
	at.boot_ns += sec * SECOND;
}

static void one_person_tightens_and_two_widen(void **state)
{
	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), ONE), "signed-widens");
	assert_null(docs_policy(&s));
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_int_equal(kbit("a"), 100);
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(101, 100, DAY), ONE), "signed-widens");
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY + 1), ONE),
			    "signed-widens");
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(50, 100, DAY), ONE), "taken");
	assert_int_equal(kbit("a"), 50);
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), ONE), "signed-widens");
	assert_int_equal(kbit("a"), 50);
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), ONLINE),
			    "signed-untrusted");
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_int_equal(kbit("a"), 100);
}

static void what_was_kept_back_undoes_nothing(void **state)
{
	BWL_AUTO_FREE char *wide = NULL, *other = NULL, *more = NULL;
	json_t *o;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(50, 50, DAY), TWO), "taken");
	wide = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", policy(900, 900, DAY), TWO);
	o = policy(900, 900, DAY);
	json_object_set_new(o, "name", json_string("other"));
	other = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", o, TWO);
	more = rig_sign(BWL_SIGNED_GRANT, "hall-3", "all", grant("g", "a", 900, 3600), TWO);
	pass(10); /* the store withholds all of these, and one person tightens */
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(10, 10, DAY - 10), ONE), "taken");
	assert_string_equal(give_text(wide), "signed-old");
	assert_string_equal(give_text(other), "signed-old");
	assert_string_equal(give_text(more), "signed-old");
	assert_int_equal(kbit("a"), 10);
}

static void what_is_for_others_or_of_another_epoch_is_refused(void **state)
{
	BWL_AUTO_FREE char *fleet = NULL, *tray_8 = NULL, *first = NULL, *second = NULL;
	json_t *a;

	(void)state;
	enrol();
	fleet = rig_sign(BWL_SIGNED_POLICY, "hall-4", "all", policy(1, 1, DAY), TWO);
	tray_8 = rig_sign(BWL_SIGNED_POLICY, "hall-3", "tray:tray-8", policy(1, 1, DAY), TWO);
	a = policy(2, 2, DAY);
	first = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", json_deep_copy(a), TWO);
	json_object_set_new(a, "reason", json_string("another"));
	second = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", a, TWO);
	assert_string_equal(give_text(fleet), "signed-audience");
	assert_string_equal(give_text(tray_8), "signed-audience");
	assert_string_equal(give_text(first), "taken");
	assert_string_equal(give_text(first), "known");
	assert_string_equal(give_text(second), "signed-conflict");
	assert_string_equal(give(BWL_SIGNED_REVOCATION, revocation("new_epoch", json_integer(2)),
				 ONE),
			    "taken");
	assert_string_equal(give_text(first), "signed-old");
	assert_null(docs_policy(&s));
	assert_int_equal(left(), 0);
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(5, 5, DAY), ONE), "signed-widens");
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(5, 5, DAY), TWO), "taken");
}

static void after_a_grant_comes_the_floor(void **state)
{
	BWL_AUTO_FREE char *less = NULL;
	struct bwl_signed d;
	char hex[65];

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 10, 60), TWO), "signed-bounds");
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 200, 60), ONE), "signed-widens");
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 200, 60), TWO), "taken");
	assert_int_equal(kbit("a"), 200);
	/* one person grants less: when that ends or is revoked, the old grant does not come back */
	less = rig_sign(BWL_SIGNED_GRANT, "hall-3", "all", grant("g", "a", 20, 60), ONE);
	assert_string_equal(give_text(less), "taken");
	assert_int_equal(kbit("a"), 20);
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("h", "a", 30, 60), ONE), "signed-widens");
	assert_int_equal(bwl_signed_peek(less, strlen(less), &d, NULL), 0);
	bwl_hex_encode(d.digest, 32, hex);
	bwl_signed_free(&d);
	assert_string_equal(give(BWL_SIGNED_REVOCATION,
				 revocation("documents", json_pack("[s]", hex)), ONE),
			    "taken");
	assert_int_equal(kbit("a"), 0);
	assert_int_equal(kbit("b"), 100);
	pass(61);
	assert_int_equal(kbit("a"), 0);
	/* if the grant's name moved to another peer, the first peer would be open again */
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "b", 20, 60), ONE), "signed-widens");
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_int_equal(kbit("a"), 100); /* the policy was signed after the grant */
}

static void withheld_updates_end_at_the_floor_whatever_the_clock_says(void **state)
{
	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_int_equal(left(), 0); /* no signed time yet */
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 900);
	pass(300);
	assert_int_equal(left(), 600);
	at.wall_s -= 5000; /* setting the clock back gains nothing */
	assert_int_equal(left(), 600);
	at.boot_ns += 599 * SECOND;
	assert_int_equal(left(), 1);
	at.boot_ns += 2 * SECOND;
	assert_int_equal(left(), 0);
	at.wall_s = NOW + 2000;
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 900);
	pass(DAY);
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 0); /* the policy has ended */
}

/* The clock begins at 1970 because its battery died: by that clock the grant's end is far ahead. */
static void a_grant_that_ended_is_over_by_a_clock_near_1970(void **state)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *pol = NULL;
	BWL_AUTO_FREE char *text = NULL;
	struct bwl_err e = { 0 };
	size_t len;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 200, 60), TWO), "taken");
	pass(120);
	assert_string_equal(give_time(), "taken");
	at.wall_s = 5;
	at.boot_ns += SECOND;
	assert_int_equal(docs_text(&s, &at, &text, &len, &e), 0);
	assert_int_equal(bwl_policy_parse("signed", text, len, at.boot_ns, at.wall_s, &pol, &e), 0);
	assert_true(bwl_policy_peer(pol, "a")->expiry_ns <= at.boot_ns);
	assert_true(bwl_policy_peer(pol, "b")->expiry_ns == BWL_NEVER_NS);
}

/*
 * The wall clock stands still, and every quarter of an hour the store hands over the signed time of
 * the next minute.
 */
static void signed_times_that_come_late_make_no_time_slow(void **state)
{
	json_t *later[4];

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give_time(), "taken");
	for (int i = 0; i < 4; i++)
		later[i] = rig_terms("time", 1, ++version, at.wall_s + 60 * (i + 1),
				     at.wall_s + DAY);
	at.boot_ns += 890 * SECOND;
	assert_int_equal(left(), 10);
	assert_string_equal(give(BWL_SIGNED_TIMESTAMP, later[0], ONLINE), "taken");
	assert_int_equal(left(), 70); /* it was signed one minute later, not 15 */
	at.boot_ns += 60 * SECOND;
	assert_string_equal(give(BWL_SIGNED_TIMESTAMP, later[1], ONLINE), "taken");
	assert_int_equal(left(), 70);
	at.boot_ns += 890 * SECOND;
	assert_string_equal(give(BWL_SIGNED_TIMESTAMP, later[2], ONLINE), "taken");
	assert_int_equal(left(), 0);
	assert_string_equal(give(BWL_SIGNED_TIMESTAMP, later[3], ONLINE), "taken");
	assert_int_equal(left(), 0);
	at.wall_s += 1840; /* control: an honest time */
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 900);
}

static void a_clock_that_is_a_little_fast_loses_nothing(void **state)
{
	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, 3 * DAY), TWO), "taken");
	assert_string_equal(give_time(), "taken");
	for (int i = 0; i < 24; i++) {
		at.boot_ns += 3601 * SECOND;
		at.wall_s += 3600;
		assert_string_equal(give_time(), "taken");
	}
	assert_in_range(left(), 899, 900);
}

static void nothing_is_lifted_by_a_clock_that_is_behind(void **state)
{
	(void)state;
	enrol();
	assert_null(docs_why_clock_is_wrong(&s, &at, BWL_WALL_OK));
	assert_non_null(docs_why_clock_is_wrong(&s, &at, BWL_WALL_UNSYNC));
	assert_string_equal(give_time(), "taken");
	assert_null(docs_why_clock_is_wrong(&s, &at, BWL_WALL_UNSYNC));
	pass(100);
	at.wall_s -= 61;
	assert_non_null(docs_why_clock_is_wrong(&s, &at, BWL_WALL_OK));
	at.wall_s += 2;
	assert_null(docs_why_clock_is_wrong(&s, &at, BWL_WALL_OK));
	assert_non_null(docs_why_clock_is_wrong(&s, &at, BWL_WALL_OLD));
}

static void a_lease_is_what_the_controller_may_renew_and_no_longer(void **state)
{
	const struct docs_one *p;
	json_t *o, *l;
	char hex[65];

	(void)state;
	enrol();
	o = terms("base", DAY);
	json_object_set_new(o, "text", json_string(text_of(9, 9, "lease: 1h\n")));
	assert_string_equal(give(BWL_SIGNED_POLICY, json_deep_copy(o), TWO), "signed-malformed");
	json_object_set_new(o, "lease_most", json_string("10m"));
	assert_string_equal(give(BWL_SIGNED_POLICY, o, TWO), "taken");
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 0);
	p = docs_policy(&s);
	assert_non_null(p);
	for (unsigned i = 0; i < 2; i++) {
		l = terms("base", DAY);
		json_object_set_new(l, "policy", json_string(bwl_hex_encode(p->d.digest, 32, hex)));
		json_object_set_new(l, "for", json_string(i ? "10m" : "11m"));
		assert_string_equal(give(BWL_SIGNED_LEASE, l, ONLINE),
				    i ? "taken" : "signed-bounds");
	}
	assert_int_equal(left(), 600);
	pass(400);
	assert_int_equal(left(), 200);
	pass(201);
	assert_int_equal(left(), 0);
}

static json_t *leased(const char *lease, int64_t for_s)
{
	json_t *o = terms("base", for_s);

	json_object_set_new(o, "text", json_string(text_of(9, 9, "lease: 1h\n")));
	json_object_set_new(o, "lease_most", json_string(lease));
	json_object_set_new(o, "offline_for", json_string("2h"));
	return o;
}

static const char *give_lease(const char *name, size_t i, const char *span)
{
	size_t n;
	const struct bwl_digest *held = bwl_memory_held(s.m, &n);
	json_t *l = terms(name, DAY);
	char hex[65];

	assert_true(i < n);
	json_object_set_new(l, "policy", json_string(bwl_hex_encode(held[i].b, 32, hex)));
	json_object_set_new(l, "for", json_string(span));
	return give(BWL_SIGNED_LEASE, l, ONLINE);
}

static void only_a_lease_that_was_held_and_ran_out_is_a_sign(void **state)
{
	json_t *o;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, leased("10m", DAY), TWO), "taken");
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 0); /* no lease yet */
	assert_false(is_sign());
	assert_string_equal(give_lease("base", 0, "10m"), "taken");
	assert_int_equal(left(), 600);
	assert_true(is_sign());
	/* another policy: an ordinary update */
	assert_string_equal(give(BWL_SIGNED_POLICY, leased("10m", DAY), TWO), "taken");
	assert_int_equal(left(), 0);
	assert_false(is_sign());
	assert_string_equal(give_lease("base", 0, "10m"), "taken");
	assert_int_equal(left(), 600);
	/* the signed time jumps, but no time has passed on this machine */
	o = rig_terms("time", 1, ++version, at.wall_s + 1000, at.wall_s + DAY);
	at.wall_s += 1000;
	assert_string_equal(give(BWL_SIGNED_TIMESTAMP, o, ONLINE), "taken");
	assert_int_equal(left(), 0);
	assert_false(is_sign());
	/* a lease runs out; its end comes a fraction of a second after it was last looked at */
	assert_string_equal(give_lease("base", 0, "10m"), "taken");
	pass(599);
	at.boot_ns += SECOND / 2;
	assert_true(is_sign());
	at.boot_ns += SECOND / 2 - 1;
	at.wall_s++;
	assert_true(is_sign());
	pass(1);
	assert_int_equal(left(), 0);
	assert_true(is_sign());
	/* the policy's end is not the lease's end */
	assert_string_equal(give(BWL_SIGNED_POLICY, leased("10m", 300), TWO), "taken");
	assert_string_equal(give_lease("base", 0, "10m"), "taken");
	assert_int_equal(left(), 300);
	assert_false(is_sign());
}

static json_t *rollout(const char *to, const char *from, unsigned percent, bool back)
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

static void digest_hex(size_t i, char hex[static 65])
{
	size_t n;
	const struct bwl_digest *held = bwl_memory_held(s.m, &n);

	assert_true(i < n);
	bwl_hex_encode(held[i].b, 32, hex);
}

static void the_controller_chooses_among_what_people_signed(void **state)
{
	unsigned place = docs_place("salt", "tray-7");
	char from[65], to[65];
	json_t *o;

	(void)state;
	enrol();
	assert_true(place > 0 && place < 99);
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(10, 10, DAY), TWO), "taken");
	pass(1);
	o = policy(90, 5, DAY);
	json_object_set_new(o, "stages", json_true());
	assert_string_equal(give(BWL_SIGNED_POLICY, o, TWO), "waits");
	assert_int_equal(kbit("a"), 10);
	digest_hex(0, from);
	digest_hex(1, to);
	assert_string_equal(give(BWL_SIGNED_ROLLOUT, rollout(to, from, 100, false), TWO),
			    "signed-untrusted");
	assert_string_equal(give(BWL_SIGNED_ROLLOUT, rollout(to, from, place, false), ONLINE),
			    "taken");
	assert_int_equal(kbit("a"), 10);
	assert_string_equal(give(BWL_SIGNED_ROLLOUT, rollout(to, from, place + 1, false), ONLINE),
			    "taken");
	assert_int_equal(kbit("a"), 90);
	assert_string_equal(give(BWL_SIGNED_ROLLOUT, rollout(to, from, 100, true), ONLINE),
			    "taken");
	assert_int_equal(kbit("a"), 10);
	assert_int_equal(kbit("b"), 10);
	pass(1); /* tightening skips stages and ends a waiting policy */
	o = policy(3, 3, DAY - 2);
	json_object_set_new(o, "stages", json_true());
	assert_string_equal(give(BWL_SIGNED_POLICY, o, ONE), "signed-widens"); /* has stages */
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(3, 3, DAY - 2), ONE), "taken");
	assert_int_equal(kbit("a"), 3);
	assert_string_equal(give(BWL_SIGNED_ROLLOUT, rollout(to, from, 100, false), ONLINE),
			    "signed-bounds");
	assert_int_equal(kbit("a"), 3);
}

/* Gives a policy that waits for the controller and then opens b. */
static void wait_for_rollout(void)
{
	json_t *o;

	assert_string_equal(give(BWL_SIGNED_POLICY, policy(10, 10, DAY), TWO), "taken");
	pass(1);
	o = policy(90, 5, DAY);
	json_object_set_new(o, "stages", json_true());
	json_object_set_new(o, "opens", json_pack("[s]", "b"));
	assert_string_equal(give(BWL_SIGNED_POLICY, o, TWO), "waits");
}

static const json_t *choose(bool back)
{
	char from[65], to[65];

	digest_hex(0, from);
	digest_hex(1, to);
	assert_string_equal(give(BWL_SIGNED_ROLLOUT, rollout(to, from, 100, back), ONLINE),
			    "taken");
	return bwl_memory_due(s.m);
}

static void a_rollout_that_comes_again_repeats_nothing(void **state)
{
	(void)state;
	enrol();
	wait_for_rollout();
	assert_non_null(json_object_get(choose(false), "opens"));
	assert_non_null(json_object_get(bwl_memory_due(s.m), "raise"));
	assert_int_equal(kbit("a"), 90);
	bwl_memory_set_due(s.m, json_object()); /* everything due was done */
	assert_int_equal(json_object_size(choose(true)), 0);
	assert_int_equal(json_object_size(choose(false)), 0);
	assert_int_equal(kbit("a"), 90);
	/* what was closed while it waited stays closed */
	enrol();
	wait_for_rollout();
	pass(1);
	assert_string_equal(give(BWL_SIGNED_REVOCATION, revocation("peers", json_pack("[s]", "b")),
				 ONE),
			    "taken");
	assert_null(json_object_get(choose(false), "opens"));
	assert_int_equal(kbit("a"), 90);
}

/* Does the policy in the source, as the agent loads it, begin with unspent volumes? */
static bool is_fresh_in(struct agent_source *source)
{
	struct bwl_err e = { 0 };
	char *text;
	size_t len;

	if (source->ops->load(source, &text, &len, &e))
		fail_msg("%s", e.text);
	free(text);
	return source->fresh_volume;
}

static void keep_in(const char *dir)
{
	struct bwl_err e = { 0 };

	for (size_t i = 0; i < s.n; i++)
		assert_int_equal(docs_put(dir, s.one[i].d.digest, s.one[i].bytes, s.one[i].len, &e),
				 0);
	assert_int_equal(bwl_memory_keep(s.m, dir, &e), 0);
}

static void volumes_begin_unspent_once(void **state)
{
	char dir[] = "/tmp/docs_test.XXXXXX", file[64], rm[64];
	struct agent_source *source;
	struct bwl_err e = { 0 };
	json_t *o;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/policy.yaml", dir);
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	assert_int_equal(agent_source_file(file, &source, &e), 0);
	assert_int_equal(docs_source_new(source, dir, &source, &e), 0);
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(10, 10, DAY), TWO), "taken");
	keep_in(dir);
	docs_source_fresh(source, s.fresh);
	assert_false(is_fresh_in(source));
	o = policy(20, 20, DAY);
	json_object_set_new(o, "fresh_volume", json_true());
	assert_string_equal(give(BWL_SIGNED_POLICY, o, TWO), "taken");
	keep_in(dir);
	docs_source_fresh(source, s.fresh);
	assert_true(is_fresh_in(source));
	assert_string_equal(give_time(), "taken"); /* the next document ends it */
	keep_in(dir);
	docs_source_fresh(source, s.fresh);
	assert_false(is_fresh_in(source));
	/* a policy that was replaced passes nothing on to its successor */
	o = policy(30, 30, DAY);
	json_object_set_new(o, "fresh_volume", json_true());
	assert_string_equal(give(BWL_SIGNED_POLICY, o, TWO), "taken");
	docs_source_fresh(source, s.fresh);
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(40, 40, DAY), TWO), "taken");
	docs_source_fresh(source, s.fresh);
	keep_in(dir);
	assert_false(is_fresh_in(source));
	source->ops->free(source);
	assert_int_equal(system(rm), 0);
}

/* Loads dir without the bytes of the last document, then with all of them again. */
static void what_is_left_without_it(const char *dir, bool is_policy_left)
{
	const uint8_t *gone = s.one[s.n - 1].d.digest;
	char path[256], hex[65];
	struct docs_terms t;
	struct bwl_err e = { 0 };
	struct docs on_disk;

	keep_in(dir);
	snprintf(path, sizeof(path), "%s/" DOCS_DIR "/%s", dir, bwl_hex_encode(gone, 32, hex));
	assert_true(docs_is_kept(dir, gone));
	assert_int_equal(unlink(path), 0);
	assert_false(docs_is_kept(dir, gone));
	assert_int_equal(docs_load(dir, &at, &on_disk, &e), 0);
	assert_int_equal(docs_policy(&on_disk) != NULL, is_policy_left);
	assert_int_equal(docs_terms(&on_disk, &t, &e), is_policy_left ? -ENODATA : -ENOENT);
	assert_int_equal(docs_end(&on_disk, &t, &at).at_ns, 0);
	docs_terms_free(&t);
	docs_free(&on_disk);
	keep_in(dir);
	assert_int_equal(docs_load(dir, &at, &on_disk, &e), 0);
	assert_int_equal(docs_terms(&on_disk, &t, &e), 0);
	docs_terms_free(&t);
	docs_free(&on_disk);
}

static void a_document_whose_bytes_are_gone_leaves_the_floor(void **state)
{
	char dir[] = "/tmp/docs_test.XXXXXX", rm[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 20, 60), ONE), "taken");
	what_is_left_without_it(dir, true); /* otherwise a would have 100 */
	enrol();
	wait_for_rollout();
	choose(false);
	what_is_left_without_it(dir, false);
	enrol();
	wait_for_rollout();
	what_is_left_without_it(dir, false); /* the missing one may be the chosen one */
	assert_int_equal(system(rm), 0);
}

static void who_reads_while_documents_come_reads_one_moment(void **state)
{
	char dir[] = "/tmp/docs_test.XXXXXX", rm[64];
	unsigned read = 0;
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 20, 60), ONE), "taken");
	keep_in(dir);
	pid = fork();
	if (!pid) {
		for (unsigned i = 0; i < 300; i++) {
			if (strcmp(give(BWL_SIGNED_GRANT, grant("g", "a", 20, 60), ONE), "taken"))
				_exit(1);
			keep_in(dir);
			docs_sweep(dir, &s);
		}
		_exit(0);
	}
	assert_true(pid > 0);
	while (!waitpid(pid, &status, WNOHANG)) {
		struct docs on_disk;
		struct docs_terms t;
		struct bwl_err e = { 0 };

		if (docs_load(dir, &at, &on_disk, &e)) {
			assert_int_equal(e.code, EAGAIN);
			continue;
		}
		if (docs_terms(&on_disk, &t, &e))
			fail_msg("%s", e.text);
		read++;
		docs_terms_free(&t);
		docs_free(&on_disk);
	}
	assert_int_equal(status, 0);
	assert_true(read);
	assert_int_equal(system(rm), 0);
}

static void a_policy_that_was_rolled_out_and_is_revoked_leaves_the_floor(void **state)
{
	char hex[65];

	(void)state;
	enrol();
	wait_for_rollout();
	choose(false);
	assert_int_equal(kbit("a"), 90);
	digest_hex(1, hex);
	assert_string_equal(give(BWL_SIGNED_REVOCATION,
				 revocation("documents", json_pack("[s]", hex)), ONE),
			    "taken");
	assert_null(docs_policy(&s));
	choose(true); /* people signed the old policy, too */
	assert_int_equal(kbit("a"), 10);
}

static void a_policy_has_its_lease_when_it_is_chosen(void **state)
{
	json_t *o;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, leased("10m", DAY), TWO), "taken");
	assert_string_equal(give_time(), "taken");
	pass(1);
	o = leased("20m", DAY);
	json_object_set_new(o, "stages", json_true());
	assert_string_equal(give(BWL_SIGNED_POLICY, o, TWO), "waits");
	assert_string_equal(give_lease("base.from", 0, "10m"), "taken");
	assert_string_equal(give_lease("base", 1, "20m"), "taken");
	assert_string_equal(give_lease("base.from", 0, "11m"), "signed-bounds"); /* its own limit */
	assert_int_equal(left(), 600);
	choose(false);
	assert_int_equal(left(), 1200);
	assert_true(is_sign());
	choose(true);
	assert_int_equal(left(), 600);
	pass(601); /* this lease runs out, the other policy's does not */
	assert_int_equal(left(), 0);
	assert_true(is_sign());
	choose(false);
	assert_int_equal(left(), 599);
	pass(599);
	assert_true(is_sign());
	choose(true); /* a lease that ran out while another policy held is no sign */
	assert_int_equal(left(), 0);
	assert_false(is_sign());
}

static void what_opens_was_signed_after_what_closed(void **state)
{
	json_t *early, *late;
	const json_t *due;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(10, 10, DAY), TWO), "taken");
	early = policy(10, 10, DAY);
	json_object_set_new(early, "opens", json_pack("[s]", "a"));
	pass(5);
	assert_string_equal(give(BWL_SIGNED_REVOCATION, revocation("peers", json_pack("[s]", "a")),
				 ONE),
			    "taken");
	assert_string_equal(give(BWL_SIGNED_POLICY, early, TWO), "signed-old");
	pass(5);
	late = policy(10, 10, DAY - 10);
	json_object_set_new(late, "opens", json_pack("[s]", "a"));
	assert_string_equal(give(BWL_SIGNED_POLICY, json_deep_copy(late), ONE), "signed-widens");
	assert_string_equal(give(BWL_SIGNED_POLICY, late, TWO), "taken");
	due = bwl_memory_due(s.m);
	assert_string_equal(json_string_value(json_array_get(json_object_get(due, "opens"), 0)),
			    "a");
	/* it does not open what was closed on the tray after that moment (due.c) */
	assert_int_equal(json_integer_value(json_object_get(due, "signed")), at.wall_s);
	/* a revocation comes before the opening was done */
	assert_string_equal(give(BWL_SIGNED_REVOCATION, revocation("all", json_true()), ONE),
			    "taken");
	assert_int_equal(json_object_size(bwl_memory_due(s.m)), 0);
}

/* A map that cannot be read, and a map without any names. */
static void a_revocation_that_closes_nothing_is_not_acknowledged(void **state)
{
	BWL_AUTO_FREE char *text = NULL;
	struct bwl_ctl ctl = { 0 };
	struct bwl_pins pins = { .few = true, .ctl = &ctl };
	struct documents v = { .pins = &pins };
	struct bwl_err e = { 0 };
	struct bwl_signed d;

	(void)state;
	enrol();
	assert_int_equal(setenv("BWLIMIT_JOURNAL_DIR", "", 1), 0);
	for (unsigned i = 0; i < _BWL_PIN_MAX; i++)
		pins.fd[i] = -1;
	text = rig_sign(BWL_SIGNED_REVOCATION, "hall-3", "all",
			revocation("peers", json_pack("[s]", "a")), ONE);
	assert_int_equal(bwl_signed_peek(text, strlen(text), &d, &e), 0);
	assert_int_not_equal(docs_close(&v, &d, &e), 0);
	assert_non_null(strstr(e.text, "cannot close a: "));
	pins.few = false; /* the peer is missing, but a later policy may have it */
	assert_int_equal(docs_close(&v, &d, &e), 0);
	bwl_signed_free(&d);
	unsetenv("BWLIMIT_JOURNAL_DIR");
}

static void who_is_not_waited_for_is_not_told_that_it_is_in_force(void **state)
{
	char said[512] = "";
	int fd[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	docs_answer_unsettled(fd[0]);
	assert_true(read(fd[1], said, sizeof(said) - 1) > 0);
	assert_non_null(strstr(said, "\"error\""));
	assert_non_null(strstr(said, "\"not-in-force\""));
	close(fd[1]);
}

static void what_holds_goes_on_under_the_next_root(void **state)
{
	const struct rig_root next = { 2, 1, PEOPLE, 1U << MALLORY, 2, NOW + 365 * DAY };
	BWL_AUTO_FREE char *alone = rig_root_text(&next, ONE);
	BWL_AUTO_FREE char *text = rig_root_text(&next, TWO);

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(10, 10, DAY), TWO), "taken");
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 900);
	assert_string_equal(give_text(alone), "signed-untrusted");
	assert_string_equal(give_text(text), "taken"); /* a root with another online key */
	assert_string_equal(give_text(text), "known");
	assert_int_equal(kbit("a"), 10);
	assert_int_equal(left(), 0); /* the signed time of the old key is forgotten */
	assert_int_equal(bwl_memory_whole(s.m), 0); /* and a root names no closing documents */
	assert_string_equal(give_time(), "signed-untrusted");
	assert_string_equal(give(BWL_SIGNED_TIMESTAMP, terms("time", DAY), 1U << MALLORY), "taken");
	assert_int_equal(left(), 900);
}

/* The entry of a signed time that names this document. Takes ownership of nothing. */
static json_t *named(const char *text, int64_t issued_s)
{
	struct bwl_signed d;
	struct bwl_closing c;
	json_t *o;

	assert_int_equal(bwl_signed_peek(text, strlen(text), &d, NULL), 0);
	c = (struct bwl_closing){ .type = d.type,
				  .epoch = d.terms.epoch,
				  .version = d.terms.version,
				  .issued_s = issued_s ? issued_s : d.terms.issued_s,
				  .audience = d.audience };
	strcpy(c.name, d.terms.name);
	memcpy(c.digest, d.digest, sizeof(c.digest));
	o = bwl_closing_json(&c);
	bwl_signed_free(&d);
	return o;
}

static const char *give_time_naming(unsigned root, json_t *one)
{
	json_t *o = terms("time", DAY);

	json_object_set_new(o, "root", json_integer(root));
	json_object_set_new(o, "closing", one ? json_pack("[o]", one) : json_array());
	return give(BWL_SIGNED_TIMESTAMP, o, ONLINE);
}

static char *closing_of(enum bwl_signed_type type, const char *name, const char *audience,
			const char *peer)
{
	json_t *o = terms(name, 30 * DAY);

	json_object_set_new(o, "reason", json_string("drill"));
	if (type == BWL_SIGNED_EXPULSION)
		json_object_set_new(o, "tray", json_string("tray-9"));
	else
		json_object_set_new(o, "peers", json_pack("[s]", peer));
	return rig_sign(type, "hall-3", audience, o, ONE);
}

static char *closing(enum bwl_signed_type type, const char *name, const char *audience)
{
	return closing_of(type, name, audience, "b");
}

/*
 * A store that hands over times but withholds one document gains no more than one that withholds
 * everything.
 */
static void a_time_that_names_what_does_not_come_is_as_none(void **state)
{
	static const enum bwl_signed_type types[] = { BWL_SIGNED_REVOCATION, BWL_SIGNED_EXPULSION };
	char missing[4][DOCS_KEY];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		BWL_AUTO_FREE char *text = NULL;

		enrol();
		assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
		assert_string_equal(give_time_naming(1, NULL), "taken");
		assert_int_equal(left(), 900);
		text = closing(types[i], "it", i ? "all" : "tray:tray-7");
		/* the time may arrive before the document: nothing falls to the floor */
		pass(10);
		assert_string_equal(give_time_naming(1, named(text, 0)), "taken");
		assert_int_equal(left(), 890);
		assert_int_equal(docs_missing(&s, missing, 4), 1);
		assert_string_equal(missing[0], i ? "expulsion/it" : "revocation/it");
		for (unsigned k = 0; k < 20; k++) { /* it is named each minute and never comes */
			pass(60);
			assert_string_equal(give_time_naming(1, named(text, 0)), "taken");
		}
		assert_int_equal(left(), 0);
		assert_string_equal(give_text(text), "taken");
		assert_int_equal(docs_missing(&s, NULL, 0), 0);
		assert_int_equal(left(), 900);
	}
}

static void what_is_named_and_not_for_this_tray_is_not_waited_for(void **state)
{
	BWL_AUTO_FREE char *other = NULL, *label = NULL, *old = NULL, *newer = NULL;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	other = closing(BWL_SIGNED_REVOCATION, "it", "tray:tray-8,label:rack=4");
	assert_string_equal(give_time_naming(1, named(other, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
	/* an older version than the tray's is not missing; a newer one is */
	old = closing(BWL_SIGNED_REVOCATION, "now", "all");
	newer = closing(BWL_SIGNED_REVOCATION, "now", "all");
	assert_string_equal(give_text(old), "taken");
	assert_string_equal(give_text(newer), "taken");
	assert_string_equal(give_time_naming(1, named(old, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
	label = closing(BWL_SIGNED_REVOCATION, "now", "all");
	assert_string_equal(give_time_naming(1, named(label, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 1);
	/* its epoch is over */
	assert_string_equal(give(BWL_SIGNED_REVOCATION, revocation("new_epoch", json_integer(2)),
				 ONE),
			    "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
}

static void enrol_anew(const char *label, const char *more)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	json_t *o = terms("tray-7", 300 * DAY);
	char hex[65];

	json_object_set_new(o, "tray", json_string("tray-7"));
	json_object_set_new(o, "root", json_string(bwl_hex_encode(bwl_root_digest(root), 32, hex)));
	json_object_set_new(o, "labels", json_pack("[s, s*]", label, more));
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, o, TWO), "taken");
}

static void a_label_names_the_trays_that_had_it_then(void **state)
{
	BWL_AUTO_FREE char *label = NULL;

	(void)state;
	enrol();
	enrol_anew("rack=3", NULL);
	pass(10);
	label = closing(BWL_SIGNED_REVOCATION, "it", "label:rack=3");
	assert_string_equal(give_time_naming(1, named(label, at.wall_s - 11)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
	assert_string_equal(give_time_naming(1, named(label, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 1);
}

/*
 * The store hides one person's revocation. Another person's revocation with the same name closes
 * something else and does not count as the first.
 */
static void a_later_one_that_says_something_else_takes_no_place(void **state)
{
	BWL_AUTO_FREE char *first = NULL, *other = NULL, *again = NULL;
	char missing[1][DOCS_KEY];

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give_time_naming(1, NULL), "taken");
	pass(10);
	first = closing_of(BWL_SIGNED_REVOCATION, "it", "all", "b");
	other = closing_of(BWL_SIGNED_REVOCATION, "it", "all", "nobody");
	assert_string_equal(give_text(other), "taken");
	for (unsigned k = 0; k < 20; k++) {
		assert_string_equal(give_time_naming(1, named(first, 0)), "taken");
		assert_int_equal(docs_missing(&s, missing, 1), 1);
		assert_string_equal(missing[0], "revocation/it");
		pass(60);
	}
	assert_int_equal(left(), 0);
	assert_string_equal(give_text(first), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
	assert_string_equal(give_time_naming(1, named(other, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
	again = closing_of(BWL_SIGNED_REVOCATION, "it", "all", "b");
	assert_string_equal(give_text(again), "taken");
	assert_string_equal(give_text(first), "signed-old");
}

/* A store that hides the revocation of a label gains nothing from an enrolment in between. */
static void an_enrolment_anew_ends_nothing_that_a_label_owes(void **state)
{
	BWL_AUTO_FREE char *label = NULL, *other = NULL;

	(void)state;
	enrol();
	enrol_anew("rack=3", NULL);
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give_time_naming(1, NULL), "taken");
	pass(10);
	label = closing(BWL_SIGNED_REVOCATION, "it", "label:rack=3");
	other = closing(BWL_SIGNED_REVOCATION, "it", "label:row=b");
	pass(10);
	enrol_anew("row=b", "rack=3"); /* before a time names the revocation */
	for (unsigned k = 0; k < 20; k++) {
		assert_string_equal(give_time_naming(1, named(label, 0)), "taken");
		assert_int_equal(docs_missing(&s, NULL, 0), 1);
		pass(60);
	}
	assert_int_equal(left(), 0);
	enrol_anew("rack=3", "row=b"); /* and afterwards */
	assert_int_equal(docs_missing(&s, NULL, 0), 1);
	assert_string_equal(give_time_naming(1, named(other, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0); /* signed before the tray had that label */
	enrol_anew("row=b", NULL);
	enrol_anew("row=b", "rack=3"); /* it lacked rack=3 in between */
	assert_string_equal(give_time_naming(1, named(label, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
}

static void a_root_that_does_not_come_is_missed(void **state)
{
	const struct rig_root next = { 2, 1, PEOPLE, 1U << CONTROLLER, 2, NOW + 365 * DAY };
	BWL_AUTO_FREE char *text = rig_root_text(&next, TWO), *gone = NULL;
	char missing[1][DOCS_KEY];

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give_time_naming(2, NULL), "taken");
	assert_int_equal(docs_missing(&s, missing, 1), 1);
	assert_string_equal(missing[0], "root, version 2");
	assert_int_equal(left(), 0);
	assert_string_equal(give_text(text), "taken");
	assert_int_equal(left(), 900);
	/* a controller with the old root may name a document whose signers no longer count */
	gone = closing(BWL_SIGNED_REVOCATION, "it", "all");
	assert_string_equal(give_time_naming(1, named(gone, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
}

static json_t *expulsion(const char *who)
{
	json_t *o = terms(who, 30 * DAY);

	json_object_set_new(o, "tray", json_string(who));
	json_object_set_new(o, "reason", json_string("stolen"));
	return o;
}

static json_t *enrolment_of(const char *who)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	json_t *o = terms(who, 300 * DAY);
	char hex[65];

	json_object_set_new(o, "tray", json_string(who));
	json_object_set_new(o, "root", json_string(bwl_hex_encode(bwl_root_digest(root), 32, hex)));
	return o;
}

/* A document of a future version: with a key, or of a type, that is not known here. */
static void of_a_newer_version_nothing_is_taken_by_half(void **state)
{
	static const enum bwl_signed_type types[] = { BWL_SIGNED_ENROLMENT, BWL_SIGNED_REVOCATION,
						      BWL_SIGNED_POLICY, BWL_SIGNED_GRANT };
	char missing[1][DOCS_KEY];
	struct docs_verdict d;
	struct bwl_err e = { 0 };
	uint64_t seq;
	char *text, *at_type;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give_time_naming(1, NULL), "taken");
	pass(1);
	seq = bwl_memory_seq(s.m);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		json_t *o = types[i] == BWL_SIGNED_ENROLMENT ? enrolment_of("tray-7")
			    : types[i] == BWL_SIGNED_POLICY  ? policy(50, 50, DAY)
							     : terms("it", DAY);

		if (types[i] == BWL_SIGNED_REVOCATION)
			json_object_set_new(o, "all", json_true());
		if (types[i] == BWL_SIGNED_GRANT) {
			json_object_set_new(o, "peer", json_string("a"));
			json_object_set_new(o, "limit", json_pack("{s:s}", "rate", "1mbit"));
		}
		json_object_set_new(o, "reason", json_string("drill"));
		if (types[i] == BWL_SIGNED_ENROLMENT)
			json_object_del(o, "reason");
		json_object_set_new(o, "of_the_future", json_string("x"));
		text = rig_sign(types[i], "hall-3", "all", o, TWO);
		assert_int_not_equal(docs_judge(&s, text, strlen(text), &at, &d, &e), 0);
		assert_string_equal(e.id, "signed-malformed");
		assert_non_null(strstr(e.text, "of_the_future"));
		assert_non_null(strstr(e.text, "not known"));
		free(text);
	}
	/* an unknown type: whatever it contains and whoever signed it */
	text = rig_sign(BWL_SIGNED_REVOCATION, "hall-3", "all", terms("it", DAY), TWO);
	at_type = strstr(text, "vnd.bwlimit.revocation");
	memcpy(at_type, "vnd.bwlimit.quarantine", strlen("vnd.bwlimit.quarantine"));
	assert_int_not_equal(docs_judge(&s, text, strlen(text), &at, &d, &e), 0);
	assert_string_equal(e.id, "signed-malformed");
	assert_non_null(strstr(e.text, "payloadType"));
	free(text);
	/* none of it is remembered, closes or tightens anything, and nothing waits for it */
	assert_int_equal(bwl_memory_seq(s.m), seq);
	assert_int_equal(docs_missing(&s, missing, 1), 0);
	assert_int_equal(left(), 899);
}

static const struct bwl_ctl *maps;
static unsigned destroyed, destroyed_open, spared;

/* Replaces the thread's function (--wrap), and counts calls before the maps are closed. */
void __wrap_agent_destroy_keys(enum key_order_why why);
void __wrap_agent_destroy_keys(enum key_order_why why)
{
	assert_int_equal(why, KEYS_EXPELLED);
	destroyed++;
	destroyed_open += !maps->seq || maps->revoked_all != maps->seq;
}

void __wrap_agent_spare_keys(void);
void __wrap_agent_spare_keys(void)
{
	spared++;
}

static void close_by(struct documents *v, json_t *body, unsigned who)
{
	BWL_AUTO_FREE char *doc = rig_sign(BWL_SIGNED_EXPULSION, "hall-3", "all", body, who);
	struct docs_verdict d;
	struct bwl_err e = { 0 };

	if (docs_judge(&v->docs, doc, strlen(doc), &at, &d, &e) || docs_close(v, &d.d, &e))
		fail_msg("%s", e.text);
	if (docs_take(&v->docs, &d, doc, strlen(doc), &at, &e))
		fail_msg("%s", e.text);
	docs_verdict_free(&d);
}

static void keys_are_destroyed_after_the_maps_are_closed_and_again_at_the_next_start(void **state)
{
	struct bwl_ctl ctl = { 0 };
	struct bwl_pins pins = { .ctl = &ctl };
	struct documents v = { .pins = &pins };

	(void)state;
	enrol();
	assert_int_equal(setenv("BWLIMIT_JOURNAL_DIR", "", 1), 0);
	for (unsigned i = 0; i < _BWL_PIN_MAX; i++)
		pins.fd[i] = -1;
	maps = &ctl;
	destroyed = destroyed_open = 0;
	v.docs = s;
	pass(1);
	docs_destroy_again(&v);
	close_by(&v, expulsion("tray-7"), ONE);
	docs_destroy_again(&v);
	assert_int_equal(destroyed, 0); /* one person can close, but not destroy keys */
	assert_true(ctl.seq && ctl.revoked_all == ctl.seq);
	ctl = (struct bwl_ctl){ 0 };
	close_by(&v, expulsion("tray-7"), TWO);
	assert_int_equal(destroyed, 1);
	assert_int_equal(destroyed_open, 0);
	docs_destroy_again(&v); /* after a kill it is done at the next start */
	assert_int_equal(destroyed, 2);
	docs_spare_keys(&v); /* the tray is still expelled */
	assert_int_equal(spared, 0);
	s = v.docs;
	pass(10); /* enrolled again: a waiting attempt must not destroy the new key */
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("tray-7"), TWO), "taken");
	v.docs = s;
	docs_spare_keys(&v);
	assert_int_equal(spared, 1);
	docs_destroy_again(&v);
	assert_int_equal(destroyed, 2);
	s = v.docs;
	unsetenv("BWLIMIT_JOURNAL_DIR");
}

/* There is no signed policy yet: the accepted policy file says which peers are that tray. */
static void who_is_expelled_under_another_name_is_closed_before_the_first_policy(void **state)
{
	static const char text[] =
		"version: 1\nnode: tray-7\nuplinks: [p0]\nheartbeat: 60s\n"
		"ipsec: { id: tray-7, local: 192.0.2.7, ca: site.pem }\n"
		"host_ports:\n  - { dev: pf0hpf, sources: [10.7.0.0/24] }\npeers:\n"
		"  - { name: old-rack, addresses: [10.1.0.0/24], via: 192.0.2.9, grant: { rate: 1mbit }, ipsec: { remote: 192.0.2.3, id: tray-9 } }\n"
		"  - { name: b, addresses: [10.2.0.0/24], via: 192.0.2.9, grant: { rate: 1mbit }, ipsec: { remote: 192.0.2.4, id: tray-4 } }\n";
	static const char *const file[] = { "log", "end", BWL_ACCEPTED };
	char dir[] = "/tmp/bwl-docs-XXXXXX";
	BWL_AUTO_FREE char *doc = NULL;
	struct bwl_ctl ctl = { 0 };
	struct bwl_pins pins = { .ctl = &ctl };
	struct agent a = { .state_dir = dir };
	struct documents v = { .a = &a, .pins = &pins };
	enum bwl_journal_state was;
	struct bwl_err e = { 0 };
	struct bwl_signed d;
	struct bwl_journal j;

	(void)state;
	enrol();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(setenv("BWLIMIT_JOURNAL_DIR", dir, 1), 0);
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	if (bwl_accepted_keep(dir, "file", text, strlen(text), &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < _BWL_PIN_MAX; i++)
		pins.fd[i] = -1;
	v.docs = s;
	doc = rig_sign(BWL_SIGNED_EXPULSION, "hall-3", "all", expulsion("tray-9"), ONE);
	assert_int_equal(bwl_signed_peek(doc, strlen(doc), &d, &e), 0);
	if (docs_close(&v, &d, &e))
		fail_msg("%s", e.text);
	bwl_journal_look(dir, &j);
	assert_true(bwl_closed_name_is(&j.closed, "tray-9"));
	assert_true(bwl_closed_name_is(&j.closed, "old-rack"));
	assert_false(bwl_closed_name_is(&j.closed, "b"));
	/* closed as of the moment of signing, so that a document signed later can open it */
	assert_int_equal(j.closed.name[0].wall_s, at.wall_s);
	bwl_journal_free(&j);
	bwl_signed_free(&d);
	unsetenv("BWLIMIT_JOURNAL_DIR");
	for (unsigned i = 0; i < 3; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%s", dir, file[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
}

static bool is_due(const char *name)
{
	const json_t *list = json_object_get(bwl_memory_due(s.m), "opens"), *v;
	size_t i;

	json_array_foreach(list, i, v) if (!strcmp(json_string_value(v), name)) return true;
	return false;
}

static void who_is_expelled_has_nothing_until_it_is_enrolled_again(void **state)
{
	BWL_AUTO_FREE char *before = NULL;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, 2 * DAY), TWO), "taken");
	before = rig_sign(BWL_SIGNED_ENROLMENT, "hall-3", "all", enrolment_of("a"), TWO);
	pass(1);
	assert_string_equal(give(BWL_SIGNED_EXPULSION, expulsion("a"), ONE), "taken");
	assert_int_equal(kbit("a"), 0);
	assert_false(peer("a")->floor.present);
	assert_int_equal(kbit("b"), 100);
	pass(1);
	/* neither a later policy nor a grant opens a; and widening for a is still noticed */
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(101, 100, DAY), ONE), "signed-widens");
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(90, 100, DAY), ONE), "taken");
	assert_int_equal(kbit("a"), 0);
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 300, 3600), TWO), "taken");
	assert_int_equal(kbit("a"), 0);
	/* nor does an enrolment that is older, one person's, or another tray's */
	assert_string_equal(give_text(before), "taken");
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("a"), ONE), "signed-untrusted");
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("b"), TWO), "taken");
	assert_int_equal(kbit("a"), 0);
	assert_false(is_due("a"));
	pass(1);
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("a"), TWO), "taken");
	assert_int_equal(kbit("a"), 300);
	assert_true(is_due("a")); /* still to be opened in the maps and the journal */
	assert_false(is_due("b"));
}

static void a_tray_that_is_expelled_has_nothing_itself(void **state)
{
	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 900);
	pass(1);
	assert_string_equal(give(BWL_SIGNED_EXPULSION, expulsion("tray-7"), ONE), "taken");
	assert_null(docs_policy(&s));
	assert_int_equal(left(), 0);
	pass(1);
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("tray-7"), TWO), "taken");
	assert_int_equal(kbit("a"), 100);
	assert_int_equal(left(), 898);
}

/* One person's signature closes; the second signature on the same document destroys the keys. */
static void the_second_signature_of_an_expulsion_is_acted_on_once(void **state)
{
	json_t *o;

	(void)state;
	enrol();
	pass(1);
	o = expulsion("tray-7");
	assert_string_equal(give(BWL_SIGNED_EXPULSION, json_deep_copy(o), ONE), "taken");
	assert_string_equal(give(BWL_SIGNED_EXPULSION, json_deep_copy(o), ONE), "known");
	assert_string_equal(give(BWL_SIGNED_EXPULSION, json_deep_copy(o), TWO), "taken");
	assert_string_equal(give(BWL_SIGNED_EXPULSION, o, TWO), "known");
}

static void a_lease_that_went_with_its_key_is_no_sign(void **state)
{
	const struct rig_root next = { 2, 1, PEOPLE, 1U << MALLORY, 2, NOW + 365 * DAY };
	BWL_AUTO_FREE char *text = rig_root_text(&next, TWO);

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, leased("10m", DAY), TWO), "taken");
	assert_string_equal(give_time(), "taken");
	assert_string_equal(give_lease("base", 0, "10m"), "taken");
	assert_int_equal(left(), 600);
	assert_true(is_sign());
	assert_string_equal(give_text(text), "taken");
	assert_int_equal(left(), 0);
	assert_false(is_sign());
	pass(601); /* the new key has not signed a lease yet */
	assert_int_equal(left(), 0);
	assert_false(is_sign());
}

static void who_breaks_glass_stands_at_the_tray(void **state)
{
	json_t *o;

	(void)state;
	enrol();
	o = policy(10, 10, DAY);
	json_object_set_new(o, "break_glass", json_true());
	assert_string_equal(give(BWL_SIGNED_POLICY, o, TWO), "signed-bounds");
}

/* A document that the holder of one person's key and the controller's key could sign. */
static json_t *random_document(uint64_t *r, enum bwl_signed_type *ret)
{
	static const enum bwl_signed_type types[] = { BWL_SIGNED_POLICY,     BWL_SIGNED_POLICY,
						      BWL_SIGNED_POLICY,     BWL_SIGNED_GRANT,
						      BWL_SIGNED_GRANT,      BWL_SIGNED_ROLLOUT,
						      BWL_SIGNED_REVOCATION, BWL_SIGNED_TIMESTAMP };
	static const char *const spans[] = { "1m", "15m", "1h" };
	int64_t for_s = (int64_t)(test_random(r) % (2 * DAY)) + 1;
	unsigned a = (unsigned)(test_random(r) % 300) + 1, b = (unsigned)(test_random(r) % 300) + 1;
	char from[65], to[65];
	json_t *o;
	size_t n;

	*ret = types[test_random(r) % (sizeof(types) / sizeof(types[0]))];
	bwl_memory_held(s.m, &n);
	switch (*ret) {
	case BWL_SIGNED_POLICY:
		o = policy(a, b, for_s);
		if (test_random(r) % 3 == 0)
			json_object_set_new(o, "stages", json_true());
		if (test_random(r) % 3 == 0)
			json_object_set_new(o, "name", json_string("other"));
		break;
	case BWL_SIGNED_GRANT:
		o = grant(test_random(r) % 2 ? "g" : "h", test_random(r) % 2 ? "a" : "b", a, for_s);
		break;
	case BWL_SIGNED_ROLLOUT:
		digest_hex(test_random(r) % n, from);
		digest_hex(test_random(r) % n, to);
		return rollout(to, from, (unsigned)(test_random(r) % 100) + 1,
			       test_random(r) % 4 == 0);
	case BWL_SIGNED_REVOCATION:
		o = revocation("peers", json_pack("[s]", "b"));
		break;
	default:
		return terms("time", DAY);
	}
	if (*ret != BWL_SIGNED_REVOCATION && test_random(r) % 3 == 0)
		json_object_set_new(o, "offline_for", json_string(spans[test_random(r) % 3]));
	return o;
}

static void hold_now(struct docs_terms *ret)
{
	struct bwl_err e = { 0 };

	if (docs_terms(&s, ret, &e) && e.code != ENOENT)
		fail_msg("%s", e.text);
}

static bool is_wider(const struct docs_terms *was)
{
	struct docs_terms is;
	struct bwl_widened w;
	bool wider;

	hold_now(&is);
	wider = is.any && bwl_widens(&was->holding.h, &is.holding.h, &w);
	if (is.any)
		bwl_widened_free(&w);
	docs_terms_free(&is);
	return wider;
}

static void nothing_that_one_person_and_the_controller_sign_raises_a_limit(void **state)
{
	uint64_t seed = 13, r = seed;
	unsigned taken = 0, refused = 0, chosen = 0;

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct docs_terms two[2] = { 0 };
		json_t *o;

		enrol();
		assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 200, DAY), TWO), "taken");
		hold_now(&two[0]);
		pass(1);
		o = policy(150, 150, DAY); /* a policy that the controller may choose */
		json_object_set_new(o, "stages", json_true());
		assert_string_equal(give(BWL_SIGNED_POLICY, o, TWO), "waits");
		{
			char from[65], to[65];

			digest_hex(0, from);
			digest_hex(1, to);
			assert_string_equal(give(BWL_SIGNED_ROLLOUT, rollout(to, from, 100, false),
						 ONLINE),
					    "taken");
			hold_now(&two[1]);
			assert_string_equal(give(BWL_SIGNED_ROLLOUT, rollout(to, from, 1, true),
						 ONLINE),
					    "taken");
		}
		for (unsigned i = 0; i < 25; i++) {
			enum bwl_signed_type type;
			const char *said;

			pass((unsigned)(test_random(&r) % 100));
			o = random_document(&r, &type);
			said = give(type, o,
				    bwl_signed_role(type) == BWL_ROLE_ONLINE ? ONLINE : ONE);
			taken += !strcmp(said, "taken");
			refused += !strcmp(said, "signed-widens");
			chosen += type == BWL_SIGNED_ROLLOUT && !strcmp(said, "taken");
			if (is_wider(&two[0]) && is_wider(&two[1]))
				fail_msg(
					"seed %llu, round %u, document %u: wider than what two signed",
					(unsigned long long)seed, round, i);
		}
		docs_terms_free(&two[0]);
		docs_terms_free(&two[1]);
	}
	print_message("%u taken, %u refused because they widen, %u rollouts\n", taken, refused,
		      chosen);
	assert_true(taken > 100 && refused > 100 && chosen > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_person_tightens_and_two_widen),
		cmocka_unit_test(what_was_kept_back_undoes_nothing),
		cmocka_unit_test(what_is_for_others_or_of_another_epoch_is_refused),
		cmocka_unit_test(of_a_newer_version_nothing_is_taken_by_half),
		cmocka_unit_test(after_a_grant_comes_the_floor),
		cmocka_unit_test(withheld_updates_end_at_the_floor_whatever_the_clock_says),
		cmocka_unit_test(signed_times_that_come_late_make_no_time_slow),
		cmocka_unit_test(a_grant_that_ended_is_over_by_a_clock_near_1970),
		cmocka_unit_test(a_clock_that_is_a_little_fast_loses_nothing),
		cmocka_unit_test(nothing_is_lifted_by_a_clock_that_is_behind),
		cmocka_unit_test(a_lease_is_what_the_controller_may_renew_and_no_longer),
		cmocka_unit_test(only_a_lease_that_was_held_and_ran_out_is_a_sign),
		cmocka_unit_test(the_controller_chooses_among_what_people_signed),
		cmocka_unit_test(a_rollout_that_comes_again_repeats_nothing),
		cmocka_unit_test(volumes_begin_unspent_once),
		cmocka_unit_test(a_document_whose_bytes_are_gone_leaves_the_floor),
		cmocka_unit_test(who_reads_while_documents_come_reads_one_moment),
		cmocka_unit_test(a_policy_that_was_rolled_out_and_is_revoked_leaves_the_floor),
		cmocka_unit_test(a_policy_has_its_lease_when_it_is_chosen),
		cmocka_unit_test(what_opens_was_signed_after_what_closed),
		cmocka_unit_test(a_revocation_that_closes_nothing_is_not_acknowledged),
		cmocka_unit_test(
			who_is_expelled_under_another_name_is_closed_before_the_first_policy),
		cmocka_unit_test(
			keys_are_destroyed_after_the_maps_are_closed_and_again_at_the_next_start),
		cmocka_unit_test(who_is_not_waited_for_is_not_told_that_it_is_in_force),
		cmocka_unit_test(what_holds_goes_on_under_the_next_root),
		cmocka_unit_test(a_time_that_names_what_does_not_come_is_as_none),
		cmocka_unit_test(what_is_named_and_not_for_this_tray_is_not_waited_for),
		cmocka_unit_test(a_label_names_the_trays_that_had_it_then),
		cmocka_unit_test(a_later_one_that_says_something_else_takes_no_place),
		cmocka_unit_test(an_enrolment_anew_ends_nothing_that_a_label_owes),
		cmocka_unit_test(a_root_that_does_not_come_is_missed),
		cmocka_unit_test(who_is_expelled_has_nothing_until_it_is_enrolled_again),
		cmocka_unit_test(a_tray_that_is_expelled_has_nothing_itself),
		cmocka_unit_test(the_second_signature_of_an_expulsion_is_acted_on_once),
		cmocka_unit_test(a_lease_that_went_with_its_key_is_no_sign),
		cmocka_unit_test(who_breaks_glass_stands_at_the_tray),
		cmocka_unit_test(nothing_that_one_person_and_the_controller_sign_raises_a_limit),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
