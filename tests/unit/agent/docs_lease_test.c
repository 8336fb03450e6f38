// SPDX-License-Identifier: GPL-2.0-or-later
/* Leases: for how long the controller renews a policy, and whose end is a sign of tampering. */
#include "docs_rig.h"

/* Would the policy's `tamper` act on this end, now or later? */
static bool is_sign(void)
{
	struct docs_end e;

	peer("a");
	e = docs_end(&s, &now_holds, &at);
	docs_terms_free(&now_holds);
	return e.lease;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lease_is_what_the_controller_may_renew_and_no_longer),
		cmocka_unit_test(only_a_lease_that_was_held_and_ran_out_is_a_sign),
		cmocka_unit_test(a_policy_has_its_lease_when_it_is_chosen),
		cmocka_unit_test(a_lease_that_went_with_its_key_is_no_sign),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
