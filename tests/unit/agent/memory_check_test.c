// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory of accepted documents is compared with what the ledger knows of it. Every way to lose
 * something is found.
 */
#include "ledger/memory_check.h"
#include "test.h"

/* Enrolment (1, 1) with number 10, after the glass was broken twice. */
static const struct ledger_row known = { .key = "signed", .spent = 10, .slice = { 1, 1, 2 } };

static const char *judge(const struct ledger_row *row, struct memory_seen s, bool enrolled,
			 bool took_over, bool began)
{
	const struct memory_known k = { row, enrolled, took_over, began };

	return memory_judge(&s, &k);
}
#define SEEN(...) ((struct memory_seen){ MEMORY_OK, { __VA_ARGS__ }, 2 })
#define NONE ((struct memory_seen){ .state = MEMORY_NONE })

static void what_goes_on_is_believed(void **state)
{
	(void)state;
	assert_null(judge(&known, SEEN(1, 1, 10), true, false, false));
	assert_null(judge(&known, SEEN(1, 1, 11), true, false, false));
	assert_null(judge(NULL, SEEN(1, 1, 1), true, false, false));
	assert_null(judge(NULL, NONE, false, false, false));
	assert_null(judge(NULL, NONE, false, true, false));
}

static void an_old_copy_is_found(void **state)
{
	(void)state;
	assert_non_null(judge(&known, SEEN(1, 1, 9), true, false, false));
	assert_non_null(judge(&known, SEEN(1, 0, 99), true, false, false));
	assert_non_null(judge(&known, SEEN(0, 7, 99), true, false, false));
}

static void one_that_was_taken_away_is_found(void **state)
{
	(void)state;
	assert_non_null(judge(&known, NONE, false, false, false));
	assert_non_null(judge(NULL, NONE, true, false, false));
}

static void a_damaged_one_is_no_memory(void **state)
{
	(void)state;
	assert_non_null(
		judge(NULL, (struct memory_seen){ .state = MEMORY_DAMAGED }, false, false, false));
}

static void a_glass_that_was_mended_is_found(void **state)
{
	struct memory_seen s = SEEN(1, 1, 12);

	(void)state;
	s.glass = 1;
	assert_non_null(judge(&known, s, true, false, false));
}

static void a_newer_enrolment_begins_anew(void **state)
{
	struct memory_seen s = SEEN(1, 2, 1);

	(void)state;
	assert_null(judge(&known, s, true, false, false));
	s.glass = 0;
	assert_null(judge(&known, s, true, false, false));
	assert_null(judge(&known, SEEN(2, 1, 1), true, false, false));
}

static void of_a_ledger_that_the_tpm_does_not_know_only_a_new_enrolment_counts(void **state)
{
	(void)state;
	assert_non_null(judge(NULL, SEEN(1, 1, 5), false, true, false));
	assert_null(judge(NULL, SEEN(1, 1, 1), false, true, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_on_is_believed),
		cmocka_unit_test(an_old_copy_is_found),
		cmocka_unit_test(one_that_was_taken_away_is_found),
		cmocka_unit_test(a_damaged_one_is_no_memory),
		cmocka_unit_test(a_glass_that_was_mended_is_found),
		cmocka_unit_test(a_newer_enrolment_begins_anew),
		cmocka_unit_test(
			of_a_ledger_that_the_tpm_does_not_know_only_a_new_enrolment_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
