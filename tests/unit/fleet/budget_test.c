// SPDX-License-Identifier: GPL-2.0-or-later
/* How many bytes a server sends. */
#include "fleet/http/budget.h"
#include "../test.h"

#define S 1000000000ULL

static void what_is_said_in_any_time_is_at_most_what_it_may_be(void **state)
{
	struct bwl_budget b = { .at_once = 100, .a_second = 10 };
	uint64_t now_ns = 5 * S, said = 0, seed = 3;
	unsigned wait_s;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		now_ns += (seed >> 40) * 8; /* up to 134 ms */
		if (bwl_budget_has(&b, now_ns, &wait_s)) {
			bwl_budget_spend(&b, 7);
			said += 7;
		}
		/* One answer may exceed the rest of the budget. */
		assert_true(said <= 100 + 7 + (now_ns - 5 * S) * 10 / S);
	}
	assert_true(said >= (now_ns - 5 * S) * 10 / S);
}

static void who_waits_as_long_as_he_is_told_is_answered(void **state)
{
	struct bwl_budget b = { .at_once = 100, .a_second = 10 };
	unsigned wait_s = 0;

	(void)state;
	assert_true(bwl_budget_has(&b, S, &wait_s));
	bwl_budget_spend(&b, 1000);
	assert_false(bwl_budget_has(&b, S + 1, &wait_s));
	assert_false(bwl_budget_has(&b, S + (wait_s - 2) * S, &wait_s));
	assert_true(bwl_budget_has(&b, S + 1 + 91 * S, &wait_s));
}

static void what_is_not_said_is_not_kept_for_ever(void **state)
{
	struct bwl_budget b = { .at_once = 2, .a_second = 1 };
	unsigned wait_s;

	(void)state;
	assert_true(bwl_budget_has(&b, S, &wait_s));
	assert_true(bwl_budget_has(&b, 1000000 * S, &wait_s));
	bwl_budget_spend(&b, 2);
	assert_false(bwl_budget_has(&b, 1000000 * S, &wait_s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_said_in_any_time_is_at_most_what_it_may_be),
		cmocka_unit_test(who_waits_as_long_as_he_is_told_is_answered),
		cmocka_unit_test(what_is_not_said_is_not_kept_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
