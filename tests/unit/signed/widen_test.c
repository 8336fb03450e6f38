// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does a change widen? Properties over random policies, and a test of every single key: a step up
 * is found, and a step down is not mistaken for one.
 */
#include "widen_steps.h"

static void nothing_widens_itself(void **state)
{
	uint64_t s = 1;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		struct bwl_policy *p = any_policy(&s), *q = clone(p);

		assert_false(widens(p, q));
		bwl_policy_free(p);
		bwl_policy_free(q);
	}
}

/* Tries every step of a table many times, each alone. */
static void every_step(const struct named *t, size_t n, bool want)
{
	uint64_t s = 2;

	for (size_t i = 0; i < n; i++) {
		unsigned taken = 0;

		for (unsigned round = 0; round < 60; round++) {
			struct bwl_policy *p = any_policy(&s), *q = clone(p);

			if (t[i].take(q, &s)) {
				taken++;
				if (widens(p, q) != want)
					fail_msg("%s, round %u: %s", t[i].name, round,
						 want ? "not found" : "called wider");
			}
			bwl_policy_free(p);
			bwl_policy_free(q);
		}
		if (!taken)
			fail_msg("%s could never be done", t[i].name);
	}
}

static void every_single_key_mutated_upward_widens(void **state)
{
	(void)state;
	every_step(up, N(up), true);
}

static void every_single_key_mutated_downward_does_not(void **state)
{
	(void)state;
	every_step(down, N(down), false);
}

/* One person cannot widen by many small steps. */
static void narrower_and_then_narrower_is_narrower(void **state)
{
	unsigned narrow = 0, wide = 0;
	uint64_t s = 3;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		struct bwl_policy *a = any_policy(&s), *b = wander(a, &s), *c = wander(b, &s);
		bool ab = widens(a, b), bc = widens(b, c), ac = widens(a, c);

		if (!ab && !bc && ac)
			fail_msg("round %u: two steps that widen nothing widen", i);
		narrow += !ab && !bc;
		wide += ac;
		bwl_policy_free(a);
		bwl_policy_free(b);
		bwl_policy_free(c);
	}
	assert_true(narrow > 500 && wide > 100);
}

static const struct bwl_pol_peer *granted_to(const struct bwl_policy *p, const struct bwl_pfx *q)
{
	const struct bwl_pol_peer *x = owner_of(p, q);

	return x && x->grant.present ? x : NULL;
}

static double rate_for(const struct bwl_policy *p, const struct bwl_pol_peer *x, unsigned class_)
{
	double r = x->mode == BWL_MODE_MONITOR || !x->grant.rate_bps ? 1e30 : x->grant.rate_bps;

	if (x->class_[class_].present && x->class_[class_].rate_bps &&
	    x->class_[class_].rate_bps < r)
		r = x->class_[class_].rate_bps;
	for (size_t i = 0; i < p->nzones; i++)
		if (!strcmp(p->zones[i].name, x->zone) && p->zones[i].limit.rate_bps &&
		    p->zones[i].limit.rate_bps < r)
			r = p->zones[i].limit.rate_bps;
	return r;
}

static void what_does_not_widen_lets_no_packet_have_more(void **state)
{
	unsigned looked = 0;
	uint64_t s = 4;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		struct bwl_policy *a = any_policy(&s), *b = wander(a, &s);

		for (unsigned n = 0; !widens(a, b) && n < 40; n++) {
			struct bwl_pfx q = { 4,
					     32,
					     { 192, 1, test_random(&s) % 9, test_random(&s) } };
			const struct bwl_pol_peer *x = granted_to(a, &q), *y = granted_to(b, &q);
			unsigned class_ = test_random(&s) % _BWL_CLASS_MAX;

			if (!y)
				continue;
			looked++;
			if (!x || rate_for(b, y, class_) > rate_for(a, x, class_) ||
			    y->expiry_ns > x->expiry_ns ||
			    (x->path != BWL_PATH_CLEAR && y->path == BWL_PATH_CLEAR) ||
			    (x->mode != BWL_MODE_MONITOR && x->grant.has_volume &&
			     (!y->grant.has_volume || y->grant.volume > x->grant.volume)))
				fail_msg("round %u: a packet may have more", i);
		}
		bwl_policy_free(a);
		bwl_policy_free(b);
	}
	assert_true(looked > 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_widens_itself),
		cmocka_unit_test(every_single_key_mutated_upward_widens),
		cmocka_unit_test(every_single_key_mutated_downward_does_not),
		cmocka_unit_test(narrower_and_then_narrower_is_narrower),
		cmocka_unit_test(what_does_not_widen_lets_no_packet_have_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
