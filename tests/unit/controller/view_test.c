// SPDX-License-Identifier: GPL-2.0-or-later
/* What trays say of themselves, read as strangers may have written it; and whom a leader knows. */
#include <string.h>
#include "test.h"
#include "view.h"

static const char whole[] =
	"{\"tray\": \"t\", \"epoch\": 1, \"seq\": 9,"
	" \"policy\": {\"name\": \"base\", \"version\": 4, \"since\": \"2026-11-22T05:30:00Z\","
	"  \"sha256\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"},"
	" \"taken\": {}, \"refused\": {\"policy/base\": {\"version\": 5, \"id\": \"signed-old\", \"text\": \"x\"}},"
	" \"fresh\": true, \"closed\": [], \"closed_count\": 0, \"alarms\": [], \"ledger_seq\": 3,"
	" \"checkpoint\": \"bwlimit/t\\n12\\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\","
	" \"health\": {\"passed_packets\": 100, \"dropped_packets\": 7, \"sas_down\": 1, \"lease_s\": 60}}";

static void a_status_is_read(void **state)
{
	struct tray_status s;
	struct bwl_err e = { 0 };

	(void)state;
	assert_int_equal(status_parse("t", whole, strlen(whole), &s, &e), 0);
	assert_true(s.has_policy);
	assert_int_equal(s.policy[31], 0xaa);
	assert_int_equal(s.policy_version, 4);
	assert_non_null(status_refuses(&s, "policy/base", 5));
	assert_null(status_refuses(&s, "policy/base", 4));
	assert_int_equal(s.passed, 100);
	assert_int_equal(s.dropped, 7);
	assert_int_equal(s.sas_down, 1);
	assert_true(s.has_checkpoint);
	assert_int_equal(s.size, 12);
	assert_string_equal(s.origin, "bwlimit/t");
}

static void a_status_that_is_none_is_refused_with_why(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"tray\": \"other\"}",
		"{\"tray\": \"t\", \"policy\": 7}",
		"{\"tray\": \"t\", \"policy\": {\"sha256\": \"AA\", \"version\": 1}}",
		"{\"tray\": \"t\", \"health\": {\"passed_packets\": -1}}",
		"{\"tray\": \"t\", \"health\": {\"sas_down\": 1.5}}",
		"{\"tray\": \"t\", \"refused\": []}",
		"{\"tray\": \"t\", \"refused\": {\"a\": {}, \"b\": {}, \"c\": {}, \"d\": {}, \"e\": {}}}",
		"{\"tray\": \"t\", \"checkpoint\": \"a\\n1\"}",
		"{\"tray\": \"t\", \"checkpoint\": \"a\\n01\\nAAAA\"}",
		"{\"tray\": \"t\", \"checkpoint\": \"a b\\n1\\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"}",
		"{\"tray\": \"t\", \"proof\": {\"from\": 1, \"hashes\": [\"AA==\"]}}",
		"{\"tray\": \"t\", \"tray\": \"t\"}",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct bwl_err e = { 0 };
		struct tray_status s;

		assert_int_equal(status_parse("t", bad[i], strlen(bad[i]), &s, &e), -EBADMSG);
		assert_true(*e.text);
	}
}

static struct bwl_etcd_kv kv(const char *value, int64_t mod)
{
	return (struct bwl_etcd_kv){ .value = bwl_pb_in(value, strlen(value)), .mod = mod };
}

static void what_lay_there_for_long_is_no_news(void **state)
{
	struct view v = { 0 };
	struct bwl_etcd_kv a = kv("{\"tray\": \"t\"}", 5), b = kv("{\"tray\": \"t\"}", 6),
			   gone = { .gone = true };

	(void)state;
	view_read_begin(&v);
	view_said(&v, "t", "status", &a, 100);
	view_said(&v, "t", "alive", &a, 100);
	view_read_end(&v);
	assert_int_equal(v.ntrays, 1);
	assert_true(v.tray[0]->alive && v.tray[0]->known);
	assert_int_equal(v.tray[0]->heard_ns, 0);
	view_said(&v, "t", "status", &a, 200); /* the same: by a read, after the watch */
	assert_int_equal(v.tray[0]->heard_ns, 0);
	view_said(&v, "t", "status", &b, 300);
	assert_int_equal(v.tray[0]->heard_ns, 300);
	view_said(&v, "t", "alive", &gone, 300);
	assert_false(v.tray[0]->alive);
	view_read_begin(&v); /* and nothing of it is there any more */
	view_read_end(&v);
	assert_int_equal(v.ntrays, 0);
	view_done(&v);
}

static void a_tray_that_is_new_has_said_something_now(void **state)
{
	struct view v = { 0 };
	struct bwl_etcd_kv a = kv("{\"tray\": \"t\"}", 5), alive = kv("1", 4);

	(void)state;
	view_said(&v, "t", "alive", &alive, 50);
	view_said(&v, "t", "status", &a, 100);
	assert_true(v.tray[0]->known);
	view_done(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_is_read),
		cmocka_unit_test(a_status_that_is_none_is_refused_with_why),
		cmocka_unit_test(what_lay_there_for_long_is_no_news),
		cmocka_unit_test(a_tray_that_is_new_has_said_something_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
