// SPDX-License-Identifier: GPL-2.0-or-later
/* Signed times, and the tray's own clocks beside them: until when what is in force holds. */
#include "documents/part.h"
#include "docs_rig.h"

static void withheld_updates_end_at_the_floor_whatever_the_clock_says(void **state)
{
	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_int_equal(left(), 0); /* no signed time yet */
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 900);
	pass(300);
	assert_int_equal(left(), 600);
	at.wall_s -= 5000; /* setting the clock back gains nothing */
	assert_int_equal(left(), 600);
	at.boot_ns += 599 * SECOND;
	assert_int_equal(left(), 1);
	at.boot_ns += 2 * SECOND;
	assert_int_equal(left(), 0);
	at.wall_s = NOW + 2000;
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 900);
	pass(DAY);
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 0); /* the policy has ended */
}

/* The clock begins at 1970 because its battery died: by that clock the grant's end is far ahead. */
static void a_grant_that_ended_is_over_by_a_clock_near_1970(void **state)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *pol = NULL;
	BWL_AUTO_FREE char *text = NULL;
	struct bwl_err e = { 0 };
	size_t len;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 200, 60), TWO), "taken");
	pass(120);
	assert_string_equal(give_time(), "taken");
	at.wall_s = 5;
	at.boot_ns += SECOND;
	assert_int_equal(docs_text(&s, &at, &text, &len, &e), 0);
	assert_int_equal(bwl_policy_parse("signed", text, len, at.boot_ns, at.wall_s, &pol, &e), 0);
	assert_true(bwl_policy_peer(pol, "a")->expiry_ns <= at.boot_ns);
	assert_true(bwl_policy_peer(pol, "b")->expiry_ns == BWL_NEVER_NS);
}

/*
 * The wall clock stands still, and every quarter of an hour the store hands over the signed time of
 * the next minute.
 */
static void signed_times_that_come_late_make_no_time_slow(void **state)
{
	json_t *later[4];

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give_time(), "taken");
	for (int i = 0; i < 4; i++)
		later[i] = rig_terms("time", 1, ++version, at.wall_s + 60 * (i + 1),
				     at.wall_s + DAY);
	at.boot_ns += 890 * SECOND;
	assert_int_equal(left(), 10);
	assert_string_equal(give(BWL_SIGNED_TIMESTAMP, later[0], ONLINE), "taken");
	assert_int_equal(left(), 70); /* it was signed one minute later, not 15 */
	at.boot_ns += 60 * SECOND;
	assert_string_equal(give(BWL_SIGNED_TIMESTAMP, later[1], ONLINE), "taken");
	assert_int_equal(left(), 70);
	at.boot_ns += 890 * SECOND;
	assert_string_equal(give(BWL_SIGNED_TIMESTAMP, later[2], ONLINE), "taken");
	assert_int_equal(left(), 0);
	assert_string_equal(give(BWL_SIGNED_TIMESTAMP, later[3], ONLINE), "taken");
	assert_int_equal(left(), 0);
	at.wall_s += 1840; /* control: an honest time */
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 900);
}

static void a_clock_that_is_a_little_fast_loses_nothing(void **state)
{
	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, 3 * DAY), TWO), "taken");
	assert_string_equal(give_time(), "taken");
	for (int i = 0; i < 24; i++) {
		at.boot_ns += 3601 * SECOND;
		at.wall_s += 3600;
		assert_string_equal(give_time(), "taken");
	}
	assert_in_range(left(), 899, 900);
}

static void nothing_is_lifted_by_a_clock_that_is_behind(void **state)
{
	(void)state;
	enrol();
	assert_null(docs_why_clock_is_wrong(&s, &at, BWL_WALL_OK));
	assert_non_null(docs_why_clock_is_wrong(&s, &at, BWL_WALL_UNSYNC));
	assert_string_equal(give_time(), "taken");
	assert_null(docs_why_clock_is_wrong(&s, &at, BWL_WALL_UNSYNC));
	pass(100);
	at.wall_s -= 61;
	assert_non_null(docs_why_clock_is_wrong(&s, &at, BWL_WALL_OK));
	at.wall_s += 2;
	assert_null(docs_why_clock_is_wrong(&s, &at, BWL_WALL_OK));
	assert_non_null(docs_why_clock_is_wrong(&s, &at, BWL_WALL_OLD));
}

static void what_holds_goes_on_under_the_next_root(void **state)
{
	const struct rig_root next = { 2, 1, PEOPLE, 1U << MALLORY, 2, NOW + 365 * DAY };
	BWL_AUTO_FREE char *alone = rig_root_text(&next, ONE);
	BWL_AUTO_FREE char *text = rig_root_text(&next, TWO);

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(10, 10, DAY), TWO), "taken");
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 900);
	assert_string_equal(give_text(alone), "signed-untrusted");
	assert_string_equal(give_text(text), "taken"); /* a root with another online key */
	assert_string_equal(give_text(text), "known");
	assert_int_equal(kbit("a"), 10);
	assert_int_equal(left(), 0); /* the signed time of the old key is forgotten */
	assert_int_equal(bwl_memory_whole(s.m), 0); /* and a root names no closing documents */
	assert_string_equal(give_time(), "signed-untrusted");
	assert_string_equal(give(BWL_SIGNED_TIMESTAMP, terms("time", DAY), 1U << MALLORY), "taken");
	assert_int_equal(left(), 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(withheld_updates_end_at_the_floor_whatever_the_clock_says),
		cmocka_unit_test(signed_times_that_come_late_make_no_time_slow),
		cmocka_unit_test(a_grant_that_ended_is_over_by_a_clock_near_1970),
		cmocka_unit_test(a_clock_that_is_a_little_fast_loses_nothing),
		cmocka_unit_test(nothing_is_lifted_by_a_clock_that_is_behind),
		cmocka_unit_test(what_holds_goes_on_under_the_next_root),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
