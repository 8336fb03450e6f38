// SPDX-License-Identifier: GPL-2.0-or-later
/* Which server bwlimit-sync asks, when it reads, and when it writes the status. */
#include "fake_store.h"

static void all_is_read_about_once_a_minute_and_nothing_comes_twice(void **state)
{
	struct sync s = begin();

	(void)state;
	has("root/1", 1);
	has("policy/1", 2);
	for (t.chance = 0; t.chance < 1024; t.chance += 1023)
		runs(&s, 600 * SYNC_S);
	assert_in_range(t.reads, 18, 24);
	assert_int_equal(t.watches, 1);
	assert_int_equal(t.ngiven, 2);
	assert_in_range(t.alives, 119, 121);
	t.kv[1].mod = 3;
	runs(&s, 70 * SYNC_S);
	assert_int_equal(t.ngiven, 3); /* also without the watch */
	t.news = t.kv[1];              /* a late watch event */
	t.news.mod = 2;
	t.has_news = true;
	runs(&s, 2 * SYNC_S);
	assert_int_equal(t.ngiven, 3);
	t.kv[1].mod = 1; /* the store was restored */
	runs(&s, 70 * SYNC_S);
	assert_int_equal(t.ngiven, 4);
	sync_done(&s);
}

static void a_compacted_watch_is_a_full_read_and_a_new_watch(void **state)
{
	struct sync s = begin();

	(void)state;
	steps(&s, 3);
	assert_true(t.reads == 1 && t.watches == 1 && t.opens == 1);
	t.hear_says = -ESTALE;
	steps(&s, 1);
	assert_true(t.reads == 2 && t.watches == 2 && t.opens == 1);
	assert_int_equal(t.said[SYNC_CONNECTED], 1);
	sync_done(&s);
}

static void the_other_servers_are_asked_at_once_and_then_ever_later(void **state)
{
	struct sync s = begin();
	unsigned before;

	(void)state;
	t.chance = 1023;
	t.open_fails = -EHOSTUNREACH;
	steps(&s, 3);
	assert_int_equal(t.opens, 3);
	steps(&s, 3);
	assert_int_equal(t.opens, 3); /* all have failed: it waits */
	runs(&s, 60 * SYNC_S);
	before = t.opens;
	runs(&s, 60 * SYNC_S);
	/* Three attempts take 2.7 s at most, and there is no storm. */
	assert_in_range(t.opens - before, 3 * 60 / 2.8, 3 * 60 / 2.0);
	assert_int_equal(t.said[SYNC_TROUBLE], 3); /* once per server */
	t.open_fails = 0;
	before = t.opens;
	runs(&s, 3 * SYNC_S);
	assert_int_equal(t.opens, before + 1);
	assert_int_equal(t.said[SYNC_CONNECTED], 1);
	sync_done(&s);
}

static void a_server_that_is_lost_is_left_for_the_next(void **state)
{
	struct sync s = begin();

	(void)state;
	steps(&s, 2);
	assert_string_equal(t.server, "a");
	t.hear_says = -ETIMEDOUT;
	steps(&s, 2);
	assert_string_equal(t.server, "b");
	assert_true(t.said[SYNC_LOST] == 1 && t.said[SYNC_CONNECTED] == 2 && t.watches == 2);
	t.read_fails = -EHOSTUNREACH;
	runs(&s, 120 * SYNC_S);
	t.read_fails = 0;
	runs(&s, 5 * SYNC_S);
	assert_int_equal(t.said[SYNC_CONNECTED], 3);
	sync_done(&s);
}

static void a_store_that_takes_no_writes_is_read_on(void **state)
{
	struct sync s = begin();

	(void)state;
	t.alive_fails = -ENOSPC;
	has("root/1", 1);
	runs(&s, 200 * SYNC_S);
	assert_int_equal(t.opens, 1);
	assert_in_range(t.reads, 3, 5);
	assert_int_equal(t.ngiven, 1);
	assert_int_equal(t.said[SYNC_TROUBLE], 1); /* reported once */
	sync_done(&s);
}

/* Meanwhile leases are still renewed: etcd refuses only what takes room. */
static void a_status_that_was_refused_is_said_again_within_5_s(void **state)
{
	struct sync s = begin();

	(void)state;
	t.has_status = true;
	t.status_fails = -ENOSPC;
	runs(&s, 200 * SYNC_S);
	assert_int_equal(t.opens, 1);
	assert_int_equal(t.said[SYNC_TROUBLE], 1); /* reported once */
	t.status_fails = 0;
	t.statuses = 0;
	runs(&s, 6 * SYNC_S);
	assert_int_equal(t.statuses, 1);
	sync_done(&s);
}

static void status_is_written_at_most_twice_a_minute(void **state)
{
	struct sync s = begin();

	(void)state;
	runs(&s, 100 * SYNC_S);
	assert_int_equal(t.statuses, 0);
	t.has_status = true;
	runs(&s, 600 * SYNC_S);
	assert_in_range(t.statuses, 19, 21);
	t.status_waits = true; /* the status is written when the answer comes */
	t.statuses = 0;
	runs(&s, 60 * SYNC_S);
	assert_int_equal(t.statuses, 0);
	t.status_waits = false;
	steps(&s, 1);
	assert_int_equal(t.statuses, 1);
	sync_done(&s);
}

/* The publisher waits for the status, except for a signed time, which all trays get at once. */
static void status_is_written_at_once_after_a_document_was_taken_or_refused(void **state)
{
	struct sync s = begin();

	(void)state;
	t.has_status = true;
	runs(&s, 5 * SYNC_S);
	t.statuses = 0;
	t.news = (struct bwl_etcd_kv){ .key = bwl_pb_in(RANGE "doc/grant/1",
							strlen(RANGE "doc/grant/1")),
				       .value = bwl_pb_in("x", 1),
				       .mod = 199 };
	t.has_news = true;
	steps(&s, 3);
	assert_int_equal(t.statuses, 1);
	t.statuses = 0;
	t.now_ns += SYNC_NEWS_NS;
	t.answer = GIVEN_REFUSED;
	t.news = (struct bwl_etcd_kv){ .key = bwl_pb_in(RANGE "doc/grant/2",
							strlen(RANGE "doc/grant/2")),
				       .value = bwl_pb_in("x", 1),
				       .mod = 200 };
	t.has_news = true;
	steps(&s, 3);
	assert_int_equal(t.statuses, 1);
	/* A status that is already being written lacks the document, so another one follows. */
	t.answer = GIVEN_TAKEN;
	s.status_ns = t.now_ns;
	t.status_waits = true;
	steps(&s, 1);
	t.news.mod = 201;
	t.has_news = true;
	steps(&s, 3);
	t.status_waits = false;
	t.statuses = 0;
	runs(&s, 2 * SYNC_S);
	assert_int_equal(t.statuses, 2);
	t.statuses = 0;
	t.news = (struct bwl_etcd_kv){ .key = bwl_pb_in(RANGE "doc/timestamp/time",
							strlen(RANGE "doc/timestamp/time")),
				       .value = bwl_pb_in("x", 1),
				       .mod = 202 };
	t.has_news = true;
	runs(&s, 2 * SYNC_S);
	assert_int_equal(t.statuses, 0);
	sync_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_read_about_once_a_minute_and_nothing_comes_twice),
		cmocka_unit_test(a_compacted_watch_is_a_full_read_and_a_new_watch),
		cmocka_unit_test(the_other_servers_are_asked_at_once_and_then_ever_later),
		cmocka_unit_test(a_server_that_is_lost_is_left_for_the_next),
		cmocka_unit_test(a_store_that_takes_no_writes_is_read_on),
		cmocka_unit_test(a_status_that_was_refused_is_said_again_within_5_s),
		cmocka_unit_test(status_is_written_at_most_twice_a_minute),
		cmocka_unit_test(status_is_written_at_once_after_a_document_was_taken_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
