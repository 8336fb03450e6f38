// SPDX-License-Identifier: GPL-2.0-or-later
/* Rollouts: the controller chooses among the policies that people signed. */
#include "docs_rig.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_controller_chooses_among_what_people_signed),
		cmocka_unit_test(a_rollout_that_comes_again_repeats_nothing),
		cmocka_unit_test(a_policy_that_was_rolled_out_and_is_revoked_leaves_the_floor),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
