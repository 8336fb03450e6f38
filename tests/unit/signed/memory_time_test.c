// SPDX-License-Identifier: GPL-2.0-or-later
/* The signed time only rises, until a root without the online key that signed it. */
#include "memory_rig.h"

static void wall_time_is_never_below_the_newest_signed_time(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();

	(void)state;
	assert_int_equal(bwl_memory_whole(m), 0); /* no time was ever seen */
	assert_null(give_time(m, 1, NOW + 100));
	again(&m);
	assert_int_equal(bwl_memory_now(m, NOW), NOW + 100);
	assert_int_equal(bwl_memory_now(m, 0), NOW + 100); /* a clock without a battery */
	assert_int_equal(bwl_memory_now(m, NOW + 101), NOW + 101);
	assert_int_equal(bwl_memory_whole(m), 0);
	bwl_memory_set_whole(m);
	assert_int_equal(bwl_memory_keep(m, dir, &(struct bwl_err){ 0 }), 0);
	again(&m);
	assert_int_equal(bwl_memory_whole(m), NOW + 100);
	/* what has ended by that time is over, whatever the clock says */
	assert_null(give_time(m, 2, NOW + DAY));
	assert_string_equal(give_policy(m, "base", 1, 1, "a"), "signed-expired");
	/* an older time does not set it back */
	assert_string_equal(give_time(m, 1, NOW + 100), "signed-old");
	assert_int_equal(bwl_memory_newest(m), NOW + DAY);
	assert_int_equal(bwl_memory_whole(m), NOW + 100);
}

static void a_stolen_online_key_is_got_over_by_the_next_root(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	struct rig_root w = rig_root_1;
	struct bwl_err e = { 0 };
	char *text;

	(void)state;
	assert_null(give_policy(m, "base", 1, 5, "a"));
	assert_null(give_time(m, 1000000, NOW + 100 * 365 * DAY));
	w.version = 2;
	text = rig_root_text(&w, PEOPLE); /* the same online key: nothing is forgotten */
	assert_int_equal(bwl_memory_next_root(m, text, strlen(text), &e), 0);
	assert_int_equal(bwl_memory_newest(m), NOW + 100 * 365 * DAY);
	free(text);
	w = (struct rig_root){ 3, 1, PEOPLE, 1U << MALLORY, 2, NOW + DAY };
	text = rig_root_text(&w, 1U << ALICE);
	assert_int_not_equal(bwl_memory_next_root(m, text, strlen(text), &e), 0);
	free(text);
	text = rig_root_text(&w, PEOPLE);
	assert_int_equal(bwl_memory_next_root(m, text, strlen(text), &e), 0);
	assert_int_equal(bwl_memory_keep(m, dir, &e), 0);
	free(text);
	again(&m);
	assert_int_equal(bwl_memory_newest(m), NOW - DAY);
	assert_string_equal(give_time(m, 2000000, NOW + 300), "signed-untrusted");
	assert_null(give(m, BWL_SIGNED_TIMESTAMP, rig_terms("time", 1, 1, NOW, NOW + DAY),
			 1U << MALLORY));
	assert_string_equal(give_policy(m, "base", 1, 4, "a"), "signed-old"); /* people's stay */
}

/* Another online key stays, but it is not known which of the two signed what. */
static void an_online_key_that_goes_takes_along_what_it_said(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	struct rig_root w = { 2, 1, PEOPLE, 1U << CONTROLLER | 1U << MALLORY, 2, NOW + DAY };
	struct bwl_err e = { 0 };
	char *text = rig_root_text(&w, PEOPLE);

	(void)state;
	assert_null(give_time(m, 1, NOW + 100));
	assert_int_equal(bwl_memory_next_root(m, text, strlen(text), &e), 0);
	assert_int_equal(bwl_memory_newest(m), NOW + 100); /* with one more key */
	free(text);
	assert_null(give(m, BWL_SIGNED_TIMESTAMP,
			 rig_terms("time", 1, 1000000, NOW + 3000 * DAY, NOW + 3001 * DAY),
			 1U << MALLORY));
	w = (struct rig_root){ 3, 1, PEOPLE, 1U << CONTROLLER, 2, NOW + DAY };
	text = rig_root_text(&w, PEOPLE);
	assert_int_equal(bwl_memory_next_root(m, text, strlen(text), &e), 0);
	free(text);
	assert_int_equal(bwl_memory_newest(m), NOW - DAY);
	assert_null(give_time(m, 2, NOW + 200));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wall_time_is_never_below_the_newest_signed_time),
		cmocka_unit_test(a_stolen_online_key_is_got_over_by_the_next_root),
		cmocka_unit_test(an_online_key_that_goes_takes_along_what_it_said),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
