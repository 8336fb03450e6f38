// SPDX-License-Identifier: GPL-2.0-or-later
/* What bwlimit-sync hands over, in which order, and when again. */
#include "fake_store.h"

static void documents_are_handed_over_by_kind_and_then_by_age(void **state)
{
	static const char *const want[] = { "root/2",       "root/1",      "timestamp/1",
					    "revocation/1", "expulsion/1", "enrolment/1",
					    "policy/1",     "rollout/1",   "lease/1",
					    "grant/1" };
	struct sync s = begin();

	(void)state;
	has("policy/1", 3);
	has("grant/1", 2);
	has("lease/1", 1);
	has("rollout/1", 1);
	has("enrolment/1", 9);
	has("expulsion/1", 9);
	has("revocation/1", 9);
	has("timestamp/1", 9);
	has("root/1", 11);
	has("root/2", 10);
	steps(&s, 40);
	assert_int_equal(t.ngiven, 10);
	for (unsigned i = 0; i < 10; i++)
		assert_string_equal(t.given[i], want[i]);
	assert_int_equal(t.said[SYNC_TAKEN], 10);
	sync_done(&s);
}

static void what_closes_waits_for_no_policy_that_is_being_put_in_force(void **state)
{
	struct sync s = begin();

	(void)state;
	t.answer = GIVEN_WAIT;
	has("policy/1", 3);
	steps(&s, 5);
	assert_int_equal(t.ngiven, 1);
	has("revocation/1", 4);
	t.news = t.kv[1];
	t.news.value = bwl_pb_in("x", 1);
	t.has_news = true;
	steps(&s, 1);
	assert_int_equal(t.ngiven, 2);
	assert_string_equal(t.given[1], "revocation/1");
	assert_int_equal(t.fetches, 1); /* the watch delivered the other */
	has("grant/1", 5);
	runs(&s, 70 * SYNC_S);
	assert_int_equal(t.ngiven, 2); /* both lines to bwlimitd are busy */
	sync_done(&s);
}

static void has_big(const char *kind_and_name, int64_t mod)
{
	has(kind_and_name, mod);
	snprintf(t.key[t.n - 1], BWL_ETCD_KEY_MAX, RANGE "big/%s", kind_and_name);
	t.kv[t.n - 1].key = bwl_pb_in(t.key[t.n - 1], strlen(t.key[t.n - 1]));
}

/*
 * A fleet must not fetch megabytes in one moment. A closing document is fetched at once, however
 * large.
 */
static void a_document_in_parts_is_fetched_at_a_moment_of_the_trays_own(void **state)
{
	struct sync s = begin();

	(void)state;
	t.chance = 512;
	has_big("policy/1", 1);
	has("grant/1", 2);
	has_big("revocation/1", 3);
	runs(&s, SYNC_SPREAD_NS / 2 - SYNC_S);
	assert_int_equal(t.ngiven, 1);
	assert_string_equal(t.given[0], "revocation/1");
	runs(&s, 4 * SYNC_S);
	assert_int_equal(t.ngiven, 3);
	assert_string_equal(t.given[1], "policy/1"); /* later documents come after it */
	assert_string_equal(t.given[2], "grant/1");
	t.chance = 1023; /* another document is fetched at another moment */
	t.kv[0].mod = 4;
	t.news = t.kv[0];
	t.news.value = bwl_pb_in("x", 1);
	t.has_news = true;
	runs(&s, SYNC_SPREAD_NS - SYNC_S);
	assert_int_equal(t.ngiven, 3);
	runs(&s, 2 * SYNC_S);
	assert_int_equal(t.ngiven, 4);
	sync_done(&s);
}

static void what_is_refused_comes_again_ever_later_or_after_a_new_timestamp(void **state)
{
	struct sync s = begin();
	unsigned before;

	(void)state;
	t.answer = GIVEN_REFUSED;
	has("policy/1", 1);
	runs(&s, 3600 * SYNC_S);
	assert_in_range(t.ngiven, 5, 8);
	runs(&s, 36000 * SYNC_S);
	assert_in_range(t.ngiven, 13, 20);
	before = t.ngiven;
	t.answer = GIVEN_TAKEN;
	has("timestamp/1", 2);
	runs(&s, 70 * SYNC_S);
	assert_int_equal(t.ngiven, before + 2);
	assert_string_equal(t.given[before], "timestamp/1");
	assert_string_equal(t.given[before + 1], "policy/1");
	sync_done(&s);
}

/* A desk's clock that is three seconds ahead delays by a few seconds, not by a minute. */
static void what_is_dated_ahead_comes_again_within_seconds(void **state)
{
	struct sync s = begin();

	(void)state;
	t.answer = GIVEN_EARLY;
	has("policy/1", 1);
	has("grant/1", 2);
	runs(&s, 5 * SYNC_S);
	assert_in_range(t.ngiven, 3, 7);
	for (unsigned i = 0; i < t.ngiven; i++) /* the grant may be for it: it does not overtake */
		assert_string_equal(t.given[i], "policy/1");
	t.answer = GIVEN_TAKEN;
	runs(&s, 4 * SYNC_S);
	assert_int_equal(t.said[SYNC_TAKEN], 2);
	assert_string_equal(t.given[t.ngiven - 1], "grant/1");
	/* a date that is far ahead is no storm */
	t.answer = GIVEN_EARLY;
	has("policy/2", 3);
	t.ngiven = 0;
	runs(&s, 36000 * SYNC_S);
	assert_in_range(t.ngiven, 25, 40);
	sync_done(&s);
}

static void nothing_overtakes_a_document_that_could_not_be_fetched(void **state)
{
	struct sync s = begin();

	(void)state;
	has("root/1", 1);
	has("timestamp/1", 2);
	t.fetch_fails = -EBADMSG;
	runs(&s, 10 * SYNC_S);
	assert_int_equal(t.ngiven, 0);
	assert_in_range(t.opens, 4, 40); /* there is no storm */
	t.fetch_fails = 0;
	runs(&s, 5 * SYNC_S);
	assert_int_equal(t.ngiven, 2);
	assert_string_equal(t.given[0], "root/1");
	/* But a document whose parts have no end does not hold up others. */
	t.fetch_fails = -EUCLEAN;
	t.kv[0].mod = 3;
	runs(&s, 70 * SYNC_S);
	t.fetch_fails = 0;
	has("revocation/1", 4);
	runs(&s, 70 * SYNC_S);
	assert_string_equal(t.given[2], "revocation/1");
	sync_done(&s);
}

static void a_bwlimitd_that_comes_back_is_given_everything(void **state)
{
	struct sync s = begin();

	(void)state;
	has("root/1", 1);
	has("policy/1", 2);
	runs(&s, 2 * SYNC_S);
	assert_int_equal(t.ngiven, 2);
	t.pid = 0;
	has("revocation/1", 3);
	runs(&s, 70 * SYNC_S);
	assert_int_equal(t.ngiven, 2);
	assert_int_equal(t.said[SYNC_AWAY], 1);
	t.pid = 2;
	runs(&s, 3 * SYNC_S);
	assert_int_equal(t.ngiven, 5);
	assert_string_equal(t.given[2], "root/1");
	assert_string_equal(t.given[3], "revocation/1");
	sync_done(&s);
}

static void a_store_with_too_much_in_it_is_bounded_and_told(void **state)
{
	struct sync s = begin();

	(void)state;
	for (unsigned i = 0; i < ENTRIES_MAX - 1; i++) {
		char name[40];

		snprintf(name, sizeof(name), "grant/%u", i);
		has(name, i + 1);
	}
	has("root/1", 1);
	steps(&s, 2);
	assert_int_equal(s.docs.n, DOCS_MAX);
	assert_int_equal(t.said[SYNC_TROUBLE], 1);
	assert_string_equal(t.given[0], "root/1"); /* it came last, when there was no room left */
	sync_done(&s);
}

static void bytes_of_the_watch_are_bounded(void **state)
{
	static char value[BWL_DOC_INLINE_MAX];
	struct sync_docs d = { 0 };

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		char key[BWL_ETCD_KEY_MAX];
		int n = snprintf(key, sizeof(key), RANGE "doc/grant/%u", i);
		struct bwl_etcd_kv kv = { .key = bwl_pb_in(key, (size_t)n),
					  .value = bwl_pb_in(value, sizeof(value)),
					  .mod = i + 1 };

		sync_docs_put(&d, RANGE, &kv, DOCS_WATCH);
		assert_true(d.bytes <= DOCS_BYTES_MAX);
	}
	assert_int_equal(d.n, 200);
	assert_int_equal(d.bytes, DOCS_BYTES_MAX);
	sync_docs_read_begin(&d);
	sync_docs_read_end(&d);
	assert_true(d.n == 0 && d.bytes == 0);
	sync_docs_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_are_handed_over_by_kind_and_then_by_age),
		cmocka_unit_test(what_closes_waits_for_no_policy_that_is_being_put_in_force),
		cmocka_unit_test(a_document_in_parts_is_fetched_at_a_moment_of_the_trays_own),
		cmocka_unit_test(what_is_refused_comes_again_ever_later_or_after_a_new_timestamp),
		cmocka_unit_test(what_is_dated_ahead_comes_again_within_seconds),
		cmocka_unit_test(nothing_overtakes_a_document_that_could_not_be_fetched),
		cmocka_unit_test(a_bwlimitd_that_comes_back_is_given_everything),
		cmocka_unit_test(a_store_with_too_much_in_it_is_bounded_and_told),
		cmocka_unit_test(bytes_of_the_watch_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
