// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether another signed document is accepted: one person tightens, two widen. */
#include <bwl/doc.h>
#include "docs_rig.h"

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

static json_t *dated(json_t *o, int64_t at_s)
{
	char text[BWL_TIME_BUF];

	json_object_set_new(o, "issued_at", json_string(bwl_utc(at_s, -1, text)));
	return o;
}

static void a_date_ahead_outranks_nothing_that_two_people_sign(void **state)
{
	BWL_AUTO_FREE char *grant_ = NULL, *policy_ = NULL;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	pass(1);
	grant_ = rig_sign(BWL_SIGNED_GRANT, "hall-3", "all",
			  dated(grant("g", "a", 100, 3600), at.wall_s + 58), ONE);
	policy_ = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all",
			   dated(policy(100, 100, DAY), at.wall_s + 58), ONE);
	assert_string_equal(give_text(grant_), "signed-early");
	assert_string_equal(give_text(policy_), "signed-early");
	assert_int_equal(kbit("a"), 100);
	pass(10); /* a tightening by two people, and by one */
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(50, 50, DAY - 100), TWO), "taken");
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(40, 40, DAY - 200), ONE), "taken");
	pass(48); /* their time comes: judged as what it is, from now on */
	assert_string_equal(give_text(grant_), "signed-widens");
	assert_string_equal(give_text(policy_), "signed-old"); /* its version is */
	assert_int_equal(kbit("a"), 40);
	assert_int_equal(kbit("b"), 40);
	/* control: nobody signs meanwhile */
	grant_ = (free(grant_), rig_sign(BWL_SIGNED_GRANT, "hall-3", "all",
					 dated(grant("g", "a", 30, 3600), at.wall_s + 58), ONE));
	assert_string_equal(give_text(grant_), "signed-early");
	pass(58);
	assert_string_equal(give_text(grant_), "taken");
	assert_int_equal(kbit("a"), 30);
}

/*
 * A policy has its date before the second person signs it. What one person signs in between, at the
 * limit of that moment, would hold on it.
 */
static void a_policy_ends_every_grant_that_was_accepted_before_it(void **state)
{
	BWL_AUTO_FREE char *second = NULL, *late = NULL;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	pass(1);
	second = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", policy(50, 50, DAY - 1), TWO);
	pass(300);
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 100, 3600), ONE), "taken");
	late = rig_sign(BWL_SIGNED_GRANT, "hall-3", "all", grant("h", "b", 40, 3600), ONE);
	assert_string_equal(give_text(second), "taken");
	assert_int_equal(kbit("a"), 50);
	/* control: one that was signed at the same time, and came after the policy, holds on it */
	assert_string_equal(give_text(late), "taken");
	assert_int_equal(kbit("b"), 40);
	assert_int_equal(kbit("a"), 50);
}

static json_t *named_at(const char *name, unsigned ms)
{
	json_t *o = policy(100, 100, DAY);
	char text[BWL_TIME_BUF];

	json_object_set_new(o, "name", json_string(name));
	json_object_set_new(o, "issued_at", json_string(bwl_utc(at.wall_s, (int)ms, text)));
	return o;
}

static void of_two_policies_of_one_second_the_later_one_holds(void **state)
{
	BWL_AUTO_FREE char *before = NULL, *after = NULL;

	(void)state;
	enrol();
	before = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", named_at("before", 499), TWO);
	after = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", named_at("after", 501), TWO);
	assert_string_equal(give(BWL_SIGNED_POLICY, named_at("base", 500), TWO), "taken");
	assert_string_equal(give_text(before), "signed-old");
	assert_string_equal(give_text(after), "taken");
	assert_string_equal(docs_policy(&s)->d.terms.name, "after");
}

/* What closes waits for no time. */
static void a_closing_document_that_is_dated_ahead_closes_at_once(void **state)
{
	json_t *o;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	pass(1);
	o = dated(revocation("peers", json_pack("[s]", "a")), at.wall_s + 58);
	assert_string_equal(give(BWL_SIGNED_REVOCATION, o, ONE), "taken");
	pass(1);
	o = dated(revocation("peers", json_pack("[s]", "b")), at.wall_s + 61);
	assert_string_equal(give(BWL_SIGNED_REVOCATION, o, ONE), "signed-early");
}

/* A policy that somebody held back, and that is from before a tightening, does not undo it. */
static void what_tightens_stays_under_a_policy_that_was_held_back(void **state)
{
	BWL_AUTO_FREE char *back = NULL;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	pass(1);
	back = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", policy(100, 100, DAY - 1), TWO);
	pass(1);
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 1, 3600), ONE), "taken");
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("h", "b", 200, 3600), TWO), "taken");
	assert_int_equal(kbit("b"), 200);
	assert_string_equal(give_text(back), "taken");
	assert_int_equal(kbit("a"), 1);
	assert_int_equal(kbit("b"), 100); /* control: what widens does not */
	/* and when it ends, the floor comes, and not what was before it */
	pass(3600);
	assert_int_equal(kbit("a"), 0);
	/* a policy that is signed later ends it */
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(90, 90, DAY - 4000), TWO), "taken");
	assert_int_equal(kbit("a"), 90);
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

/* The policy's own limits are a: 100kbit, 32kb, no volume; b: a volume too, or no grant. */
static json_t *policy_with(const char *b)
{
	json_t *o = terms("base", DAY);
	char text[2048], *at_b;

	snprintf(text, sizeof(text), "%s", text_of(100, 100, ""));
	at_b = strstr(text, "{ name: b");
	snprintf(at_b, sizeof(text) - (size_t)(at_b - text),
		 "{ name: b, addresses: [10.2.0.0/24], path: clear, via: 192.0.2.9%s }\n", b);
	json_object_set_new(o, "text", json_string(text));
	return o;
}
#define OF_ITS_OWN ", grant: { rate: 100kbit, burst: 32kb, volume: 1gb per 1d }"

/* limit: JSON */
static json_t *grant_of(const char *name, const char *to, const char *limit, int64_t for_s)
{
	json_t *o = grant(name, to, 1, for_s);

	json_object_set_new(o, "limit", json_loads(limit, 0, NULL));
	return o;
}

#define LARGE "{\"rate\":\"90mbit\",\"burst\":\"64kb\",\"volume\":\"10tb\",\"mode\":\"monitor\"}"

static void b_is_of_the_policy_but_for(unsigned rate)
{
	const struct bwl_pol_peer *p;

	assert_int_equal(kbit("b"), rate);
	p = peer("b");
	assert_int_equal(p->grant.burst, 32 << 10);
	assert_true(p->grant.has_volume);
	assert_int_equal(p->grant.volume, 1 << 30);
	assert_int_equal(p->mode, BWL_MODE_POLICE);
}

static void what_a_grant_does_not_name_is_the_policys_and_no_other_grants(void **state)
{
	BWL_AUTO_FREE char *large = NULL;
	struct bwl_signed d;
	char hex[65];

	(void)state;
	for (int i = 0; i < 3; i++) { /* the first one is over, is revoked, or holds */
		enrol();
		assert_string_equal(give(BWL_SIGNED_POLICY, policy_with(OF_ITS_OWN), TWO), "taken");
		free(large);
		large = rig_sign(BWL_SIGNED_GRANT, "hall-3", "all",
				 grant_of("t1", "b", LARGE, 3600), TWO);
		assert_string_equal(give_text(large), "taken");
		assert_int_equal(kbit("b"), 90000);
		assert_int_equal(bwl_signed_peek(large, strlen(large), &d, NULL), 0);
		bwl_hex_encode(d.digest, 32, hex);
		bwl_signed_free(&d);
		if (i == 0)
			pass(7200);
		else if (i == 1)
			assert_string_equal(give(BWL_SIGNED_REVOCATION,
						 revocation("documents", json_pack("[s]", hex)),
						 ONE),
					    "taken");
		assert_string_equal(give(BWL_SIGNED_GRANT,
					 grant_of("t2", "b", "{\"rate\":\"200kbit\"}", 3600), TWO),
				    "taken");
		b_is_of_the_policy_but_for(200);
		/* a newer version of the first name likewise */
		assert_string_equal(give(BWL_SIGNED_GRANT,
					 grant_of("t1", "b", "{\"rate\":\"50kbit\"}", 3600), TWO),
				    "taken");
		b_is_of_the_policy_but_for(50);
	}
}

/* What was accepted stays readable, whatever grant a later policy has. */
static void a_grant_without_a_rate_is_nothing_where_the_policy_has_none(void **state)
{
	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy_with(OF_ITS_OWN), TWO), "taken");
	assert_string_equal(give(BWL_SIGNED_GRANT,
				 grant_of("g", "b", "{\"volume\":\"1mb per 1d\"}", 3600), ONE),
			    "taken");
	assert_string_equal(give(BWL_SIGNED_GRANT, grant_of("h", "a", "{}", 3600), ONE), "taken");
	/* signed in the same second: what tightens belongs to it */
	assert_string_equal(give(BWL_SIGNED_POLICY, policy_with(""), ONE), "taken");
	assert_int_equal(kbit("a"), 100);
	assert_false(peer("b")->grant.present);
	assert_string_equal(give(BWL_SIGNED_GRANT,
				 grant_of("i", "b", "{\"volume\":\"1mb per 1d\"}", 3600), TWO),
			    "signed-malformed");
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
	at_type = strstr(text, "type: revocation");
	memcpy(at_type, "type: quarantine", strlen("type: quarantine"));
	assert_int_not_equal(docs_judge(&s, text, strlen(text), &at, &d, &e), 0);
	assert_string_equal(e.id, "signed-malformed");
	assert_non_null(strstr(e.text, "`type`"));
	free(text);
	/* none of it is remembered, closes or tightens anything, and nothing waits for it */
	assert_int_equal(bwl_memory_seq(s.m), seq);
	assert_int_equal(docs_missing(&s, missing, 1), 0);
	assert_int_equal(left(), 899);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_person_tightens_and_two_widen),
		cmocka_unit_test(what_was_kept_back_undoes_nothing),
		cmocka_unit_test(a_date_ahead_outranks_nothing_that_two_people_sign),
		cmocka_unit_test(a_policy_ends_every_grant_that_was_accepted_before_it),
		cmocka_unit_test(what_tightens_stays_under_a_policy_that_was_held_back),
		cmocka_unit_test(of_two_policies_of_one_second_the_later_one_holds),
		cmocka_unit_test(a_closing_document_that_is_dated_ahead_closes_at_once),
		cmocka_unit_test(what_is_for_others_or_of_another_epoch_is_refused),
		cmocka_unit_test(of_a_newer_version_nothing_is_taken_by_half),
		cmocka_unit_test(after_a_grant_comes_the_floor),
		cmocka_unit_test(what_a_grant_does_not_name_is_the_policys_and_no_other_grants),
		cmocka_unit_test(a_grant_without_a_rate_is_nothing_where_the_policy_has_none),
		cmocka_unit_test(who_breaks_glass_stands_at_the_tray),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
