// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This tray's own keys: when they are destroyed, and when an attempt is undone. The clock is the
 * test's.
 */
#include "../test.h"
#include "key_order.h"

#define S 1000000000ULL

static struct key_order k;

static int nothing(void **state)
{
	(void)state;
	k = (struct key_order){ 0 };
	return 0;
}

/* One attempt at that moment. */
static void try_at(uint64_t now_ns, bool left)
{
	assert_true(key_order_is_due(&k, now_ns));
	key_order_begin(&k);
	key_order_end(&k, left, now_ns);
}

static void what_a_disk_refuses_is_tried_each_minute_until_it_is_done(void **state)
{
	(void)state;
	assert_false(key_order_is_due(&k, 5 * S));
	key_order_give(&k, KEYS_EXPELLED);
	try_at(5 * S, true);
	assert_false(key_order_is_due(&k, 5 * S));
	assert_false(key_order_is_due(&k, 65 * S - 1));
	try_at(65 * S, true);
	try_at(125 * S, false);
	assert_false(key_order_is_due(&k, 1000000 * S));
}

static void who_is_enrolled_again_loses_no_new_key_to_a_try_that_waited(void **state)
{
	(void)state;
	key_order_give(&k, KEYS_EXPELLED);
	try_at(5 * S, true);
	key_order_take_back(&k, KEYS_EXPELLED);
	assert_false(key_order_is_due(&k, 65 * S));
	assert_false(key_order_is_due(&k, 1000000 * S));
	/* before the first try, too */
	key_order_give(&k, KEYS_EXPELLED);
	key_order_take_back(&k, KEYS_EXPELLED);
	assert_false(key_order_is_due(&k, 1000000 * S));
	/* and while an attempt goes on */
	key_order_give(&k, KEYS_EXPELLED);
	key_order_begin(&k);
	key_order_take_back(&k, KEYS_EXPELLED);
	key_order_end(&k, true, 5 * S);
	assert_false(key_order_is_due(&k, 1000000 * S));
}

static void what_is_ordered_after_that_waits_for_no_try_of_before(void **state)
{
	(void)state;
	key_order_give(&k, KEYS_EXPELLED);
	try_at(5 * S, true);
	key_order_take_back(&k, KEYS_EXPELLED);
	key_order_give(&k, KEYS_EXPELLED); /* expelled again */
	try_at(6 * S, true);
	key_order_give(&k, KEYS_EXPELLED); /* and again, within the minute */
	try_at(7 * S, false);
	/* an order that comes during an attempt gets its own attempt */
	key_order_give(&k, KEYS_EXPELLED);
	key_order_begin(&k);
	key_order_give(&k, KEYS_EXPELLED);
	key_order_end(&k, false, 8 * S);
	try_at(8 * S, false);
	assert_false(key_order_is_due(&k, 1000000 * S));
}

static void an_enrolment_takes_back_nothing_that_the_policy_ordered(void **state)
{
	(void)state;
	key_order_give(&k, KEYS_TAMPER);
	key_order_give(&k, KEYS_EXPELLED);
	try_at(5 * S, true);
	key_order_take_back(&k, KEYS_EXPELLED);
	assert_false(key_order_is_due(&k, 65 * S - 1));
	try_at(65 * S, false);
	assert_false(key_order_is_due(&k, 1000000 * S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_a_disk_refuses_is_tried_each_minute_until_it_is_done,
				       nothing),
		cmocka_unit_test_setup(who_is_enrolled_again_loses_no_new_key_to_a_try_that_waited,
				       nothing),
		cmocka_unit_test_setup(what_is_ordered_after_that_waits_for_no_try_of_before,
				       nothing),
		cmocka_unit_test_setup(an_enrolment_takes_back_nothing_that_the_policy_ordered,
				       nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
