// SPDX-License-Identifier: GPL-2.0-or-later
/* Readers do not keep operators or other readers from running commands. */
#include <string.h>
#include "agent/command_places.h"
#include "../test.h"

static struct command_place places[COMMANDS_PLACES];

static bool begins(bool reads, bool goes_on, uid_t uid)
{
	int i = command_place(places, reads, goes_on, uid);

	if (i < 0)
		return false;
	assert_false(places[i].taken);
	places[i] = (struct command_place){ true, reads, goes_on, uid };
	return true;
}

static int start(void **state)
{
	(void)state;
	memset(places, 0, sizeof(places));
	return 0;
}

static void a_user_has_one_stream_and_it_takes_no_place_of_what_ends(void **state)
{
	(void)state;
	assert_true(begins(true, true, 1));
	assert_false(begins(true, true, 1));
	for (uid_t u = 2; u <= COMMANDS_STREAMS; u++)
		assert_true(begins(true, true, u));
	assert_false(begins(true, true, 9));
	assert_true(begins(true, false, 1));
	assert_true(begins(true, false, 1));
	assert_true(begins(true, false, 9));
}

static void a_readers_second_command_leaves_places_for_two_others(void **state)
{
	(void)state;
	assert_true(begins(true, false, 1));
	assert_true(begins(true, false, 1));
	assert_false(begins(true, false, 1));
	assert_true(begins(true, false, 2));
	assert_false(begins(true, false, 2));
	assert_true(begins(true, false, 3));
	assert_false(begins(true, false, 4));
}

static void readers_take_no_operators_place(void **state)
{
	(void)state;
	for (uid_t u = 1; u <= 20; u++) {
		begins(true, false, u);
		begins(true, true, u);
	}
	for (unsigned i = 0; i < COMMANDS_AT_ONCE - COMMANDS_READERS; i++)
		assert_true(begins(false, false, 1));
	assert_false(begins(false, false, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_user_has_one_stream_and_it_takes_no_place_of_what_ends,
				       start),
		cmocka_unit_test_setup(a_readers_second_command_leaves_places_for_two_others,
				       start),
		cmocka_unit_test_setup(readers_take_no_operators_place, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
