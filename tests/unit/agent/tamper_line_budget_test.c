// SPDX-License-Identifier: GPL-2.0-or-later
/* How many lines signs of tampering may write, with an injected clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "agent/tamper/line_budget.h"

#define SECOND 1000000000ULL
#define DAY (86400 * SECOND)

static void a_port_that_flaps_for_a_day_writes_a_bounded_number_of_lines(void **state)
{
	unsigned long long silent, sum = 0;
	struct tamper_say s = { 0 };
	unsigned lines = 0, signs = 0;

	(void)state;
	for (uint64_t t = DAY; t < 2 * DAY; t += SECOND / 10, signs++)
		if (tamper_say(&s, t, &silent)) {
			lines++;
			sum += silent;
		}
	assert_in_range(lines, TAMPER_SAY_BURST + 287, TAMPER_SAY_BURST + 289);
	assert_int_equal(lines + sum + s.silent, signs);
}

static void what_comes_seldom_is_always_said(void **state)
{
	struct tamper_say s = { 0 };
	unsigned long long silent;

	(void)state;
	for (uint64_t t = 1; t < 30 * DAY; t += TAMPER_SAY_NS) {
		assert_true(tamper_say(&s, t, &silent));
		assert_int_equal(silent, 0);
	}
}

static void after_a_quiet_time_all_of_the_burst_is_there(void **state)
{
	struct tamper_say s = { 0 };
	unsigned long long silent;
	unsigned i;

	(void)state;
	for (i = 0; i < TAMPER_SAY_BURST; i++)
		assert_true(tamper_say(&s, DAY, &silent));
	assert_false(tamper_say(&s, DAY, &silent));
	for (i = 0; i < TAMPER_SAY_BURST; i++)
		assert_true(tamper_say(&s, 2 * DAY, &silent));
	assert_false(tamper_say(&s, 2 * DAY, &silent));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_that_flaps_for_a_day_writes_a_bounded_number_of_lines),
		cmocka_unit_test(what_comes_seldom_is_always_said),
		cmocka_unit_test(after_a_quiet_time_all_of_the_burst_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
