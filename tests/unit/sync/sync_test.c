// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What bwlimit-sync does and when, with the test's own store, bwlimitd, clock and random numbers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "loop.h"
#include "../test.h"

#define RANGE "/b/all/"
#define MOST 3000

static struct {
	uint64_t now_ns;
	uint32_t chance;
	unsigned opens, reads, watches, alives, statuses, fetches, closes;
	char server[100];
	int open_fails, read_fails, alive_fails, status_fails, hear_says, fetch_fails;
	struct bwl_etcd_kv kv[MOST]; /* what is in the store */
	char key[MOST][BWL_ETCD_KEY_MOST];
	unsigned n;
	struct bwl_etcd_kv news; /* what the watch delivers */
	bool has_news;
	/* bwlimitd */
	long pid;
	enum given answer;
	char given[MOST][100];
	unsigned ngiven;
	bool has_status, status_waits;
	/* messages, by kind */
	unsigned said[SYNC_TROUBLE + 1];
} t;

static uint64_t now(void)
{
	return t.now_ns;
}

static uint32_t chance(void)
{
	return t.chance;
}

static int fails(int r, struct bwl_err *e)
{
	return r ? bwl_fail(e, -r, "fails %d", -r) : 0;
}

static int do_open(void *arg, const char *server, struct bwl_err *e)
{
	(void)arg;
	t.opens++;
	snprintf(t.server, sizeof(t.server), "%s", server);
	return fails(t.open_fails, e);
}

static void do_close(void *arg)
{
	(void)arg;
	t.closes++;
}

static int do_read(void *arg, struct sync_docs *d, int64_t *ret_revision, struct bwl_err *e)
{
	(void)arg;
	t.reads++;
	for (unsigned i = 0; i < t.n && !t.read_fails; i++)
		sync_docs_put(d, RANGE, &t.kv[i], DOCS_READ);
	*ret_revision = 100;
	return fails(t.read_fails, e);
}

static int do_watch(void *arg, int64_t from, uint64_t now_ns, struct bwl_err *e)
{
	(void)arg;
	(void)now_ns;
	(void)e;
	assert_int_equal(from, 101);
	t.watches++;
	return 0;
}

static int do_hear(void *arg, struct sync_docs *d, uint64_t now_ns, struct bwl_err *e)
{
	int r = t.hear_says;

	(void)arg;
	(void)now_ns;
	if (t.has_news)
		sync_docs_put(d, RANGE, &t.news, DOCS_WATCH);
	t.has_news = false;
	t.hear_says = 0;
	return r == -ESTALE ? r : fails(r, e);
}

static int do_fetch(void *arg, const char *key, bool big, uint8_t **ret, size_t *ret_len,
		    int64_t *ret_mod, struct bwl_err *e)
{
	(void)arg;
	(void)big;
	t.fetches++;
	*ret = NULL;
	for (unsigned i = 0; i < t.n && !t.fetch_fails; i++) {
		if (strcmp(t.key[i], key))
			continue;
		*ret = bwl_must(malloc(1));
		*ret_len = 1;
		*ret_mod = t.kv[i].mod;
		return 0;
	}
	return fails(t.fetch_fails ? t.fetch_fails : -ENOENT, e);
}

static int do_alive(void *arg, struct bwl_err *e)
{
	(void)arg;
	t.alives++;
	return fails(t.alive_fails, e);
}

static int do_status(void *arg, const void *at, size_t len, struct bwl_err *e)
{
	(void)arg;
	assert_memory_equal(at, "signed", len);
	t.statuses++;
	return fails(t.status_fails, e);
}

static const struct sync_store store = { .open = do_open,
					 .close = do_close,
					 .read = do_read,
					 .watch = do_watch,
					 .hear = do_hear,
					 .fetch = do_fetch,
					 .alive = do_alive,
					 .status = do_status };

static long do_who(void *arg)
{
	(void)arg;
	return t.pid;
}

static int do_give(void *arg, enum doc_lane lane, const struct bwl_doc_at *at, const void *bytes,
		   size_t len, struct bwl_err *e)
{
	(void)arg;
	(void)lane;
	assert_true(bytes && len);
	if (!t.pid)
		return fails(-ENOENT, e);
	snprintf(t.given[t.ngiven++], 100, "%s/%s", bwl_doc_kind_name(at->kind), at->name);
	return 0;
}

static enum given do_look(void *arg, enum doc_lane lane, struct bwl_err *why)
{
	(void)arg;
	(void)lane;
	bwl_fail(why, EPERM, "no");
	return t.answer;
}

static ssize_t do_agent_status(void *arg, uint64_t cosigned, void *to, size_t most)
{
	(void)cosigned;
	(void)arg;
	assert_true(most >= 6);
	memcpy(to, "signed", 6);
	return t.status_waits ? -EAGAIN : t.has_status ? 6 : 0;
}

static const struct sync_agent agent = {
	.who = do_who, .give = do_give, .look = do_look, .status = do_agent_status
};

static void do_say(void *arg, const struct sync_says *s)
{
	(void)arg;
	t.said[s->word]++;
}

static const char *const servers[] = { "a", "b", "c" };

static struct sync begin(void)
{
	memset(&t, 0, sizeof(t));
	t.now_ns = 1000 * SYNC_S;
	t.pid = 1;
	t.answer = GIVEN_TAKEN;
	return (struct sync){ .servers = servers,
			      .nservers = 3,
			      .store = &store,
			      .agent = &agent,
			      .now_ns = now,
			      .chance = chance,
			      .say = do_say };
}

static void has(const char *kind_and_name, int64_t mod)
{
	snprintf(t.key[t.n], BWL_ETCD_KEY_MOST, RANGE "doc/%s", kind_and_name);
	t.kv[t.n] = (struct bwl_etcd_kv){ .key = bwl_pb_in(t.key[t.n], strlen(t.key[t.n])),
					  .mod = mod };
	t.n++;
}

static void steps(struct sync *s, unsigned n)
{
	while (n--)
		sync_step(s);
}

/* Runs the loop as main() does, until that much time has passed. */
static void runs(struct sync *s, uint64_t ns)
{
	uint64_t end_ns = t.now_ns + ns;

	while (t.now_ns < end_ns) {
		uint64_t next_ns = sync_step(s);

		assert_true(next_ns >= t.now_ns);
		t.now_ns = next_ns > t.now_ns ? next_ns : t.now_ns + 1;
	}
}

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
	snprintf(t.key[t.n - 1], BWL_ETCD_KEY_MOST, RANGE "big/%s", kind_and_name);
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

static void a_store_with_too_much_in_it_is_bounded_and_told(void **state)
{
	struct sync s = begin();

	(void)state;
	for (unsigned i = 0; i < MOST - 1; i++) {
		char name[40];

		snprintf(name, sizeof(name), "grant/%u", i);
		has(name, i + 1);
	}
	has("root/1", 1);
	steps(&s, 2);
	assert_int_equal(s.docs.n, DOCS_MOST);
	assert_int_equal(t.said[SYNC_TROUBLE], 1);
	assert_string_equal(t.given[0], "root/1"); /* it came last, when there was no room left */
	sync_done(&s);
}

static void bytes_of_the_watch_are_bounded(void **state)
{
	static char value[BWL_DOC_INLINE_MOST];
	struct sync_docs d = { 0 };

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		char key[BWL_ETCD_KEY_MOST];
		int n = snprintf(key, sizeof(key), RANGE "doc/grant/%u", i);
		struct bwl_etcd_kv kv = { .key = bwl_pb_in(key, (size_t)n),
					  .value = bwl_pb_in(value, sizeof(value)),
					  .mod = i + 1 };

		sync_docs_put(&d, RANGE, &kv, DOCS_WATCH);
		assert_true(d.bytes <= DOCS_BYTES_MOST);
	}
	assert_int_equal(d.n, 200);
	assert_int_equal(d.bytes, DOCS_BYTES_MOST);
	sync_docs_read_begin(&d);
	sync_docs_read_end(&d);
	assert_true(d.n == 0 && d.bytes == 0);
	sync_docs_done(&d);
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
		cmocka_unit_test(documents_are_handed_over_by_kind_and_then_by_age),
		cmocka_unit_test(what_closes_waits_for_no_policy_that_is_being_put_in_force),
		cmocka_unit_test(a_document_in_parts_is_fetched_at_a_moment_of_the_trays_own),
		cmocka_unit_test(all_is_read_about_once_a_minute_and_nothing_comes_twice),
		cmocka_unit_test(a_compacted_watch_is_a_full_read_and_a_new_watch),
		cmocka_unit_test(the_other_servers_are_asked_at_once_and_then_ever_later),
		cmocka_unit_test(a_server_that_is_lost_is_left_for_the_next),
		cmocka_unit_test(a_store_that_takes_no_writes_is_read_on),
		cmocka_unit_test(a_status_that_was_refused_is_said_again_within_5_s),
		cmocka_unit_test(what_is_refused_comes_again_ever_later_or_after_a_new_timestamp),
		cmocka_unit_test(nothing_overtakes_a_document_that_could_not_be_fetched),
		cmocka_unit_test(a_bwlimitd_that_comes_back_is_given_everything),
		cmocka_unit_test(status_is_written_at_most_twice_a_minute),
		cmocka_unit_test(status_is_written_at_once_after_a_document_was_taken_or_refused),
		cmocka_unit_test(a_store_with_too_much_in_it_is_bounded_and_told),
		cmocka_unit_test(bytes_of_the_watch_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
