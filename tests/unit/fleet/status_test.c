// SPDX-License-Identifier: GPL-2.0-or-later
/* A tray's status, read as untrusted input. */
#include <string.h>
#include "fleet/status/status.h"
#include "../test.h"

#define KEY "bwlimit/tray-7+b9d04bda+Abho2vsloHoOdq8wxgbQVZ6DOm5NnHCtzSRZjrdVrIWR"
#define NOTE                                                                                       \
	"bwlimit/tray-7\\n1\\naWwVwSpwTmkEvLpZR1J4ba3WsJm+o1gUh5Zilixj7Vk=\\n\\n\xe2\x80\x94 bwlimit/tray-7 udBL2uaMwx2onVRWYBq313HTRfjx+3cHh0ikVWc1eIY/IUd0j20Y/K9YFzcJmI2mcoSsRFWzEOWHV1qUhQZGuffERAI=\\n"

static const char whole[] =
	"{\"tray\": \"t\", \"epoch\": 1, \"seq\": 9, \"policy\": {\"name\": \"base\", \"version\": 4, \"since\": \"2026-11-22T05:30:00Z\",  \"sha256\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}, \"taken\": {\"policy/base\": {\"version\": 4, \"sha256\": \"abababababababababababababababababababababababababababababababab\"}}, \"refused\": {\"policy/base\": {\"version\": 5, \"id\": \"signed-old\", \"text\": \"x\\u00e4\\u0007y\"}}, \"fresh\": true, \"closed\": [], \"closed_count\": 9, \"alarms\": [\"floor\", \"not-in-force\"], \"ledger_seq\": 3, \"checkpoint\": \"" NOTE
	"\", \"log_key\": \"" KEY
	"\", \"proof\": {\"from\": 5, \"hashes\": [\"aWwVwSpwTmkEvLpZR1J4ba3WsJm+o1gUh5Zilixj7Vk=\"]}, \"health\": {\"passed_packets\": 100, \"dropped_packets\": 7, \"sas_down\": 1, \"lease_s\": 60}}";

static void a_status_is_read(void **state)
{
	struct status_taken taken;
	struct tray_status s;
	struct bwl_err e = { 0 };

	(void)state;
	assert_int_equal(status_parse("t", whole, strlen(whole), &s, &taken, &e), 0);
	assert_true(s.has_policy);
	assert_int_equal(s.policy[31], 0xaa);
	assert_int_equal(s.policy_version, 4);
	assert_non_null(status_refuses(&s, "policy/base", 5));
	assert_null(status_refuses(&s, "policy/base", 4));
	assert_string_equal(s.refused[0].id, "signed-old");
	assert_string_equal(s.refused[0].text, "x???y"); /* control characters are replaced */
	assert_int_equal(taken.n, 1);
	assert_string_equal(taken.doc[0].what, "policy/base");
	assert_int_equal(taken.doc[0].digest[31], 0xab);
	assert_string_equal(s.policy_name, "base");
	assert_true(s.fresh && s.not_in_force);
	assert_int_equal(s.alarms, 2);
	assert_int_equal(s.closed, 9);
	assert_int_equal(s.passed, 100);
	assert_int_equal(s.dropped, 7);
	assert_int_equal(s.sas_down, 1);
	assert_true(s.has_checkpoint);
	assert_int_equal(s.checkpoint.size, 1);
	assert_string_equal(s.checkpoint.origin, "bwlimit/tray-7");
	assert_string_equal(s.key.name, "bwlimit/tray-7");
	assert_int_equal(strlen(s.note), strlen(NOTE) - 5); /* each \\n is one byte in s.note */
	assert_int_equal(s.proof_from, 5);
	assert_int_equal(s.nproof, 1);
	assert_int_equal(s.ledger_seq, 3);
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
		"{\"tray\": \"t\", \"ledger_seq\": -1}",
		"{\"tray\": \"t\", \"checkpoint\": \"" NOTE "\"}",
		"{\"tray\": \"t\", \"checkpoint\": \"" NOTE "\", \"log_key\": \"x\"}",
		"{\"tray\": \"t\", \"checkpoint\": \"" NOTE "\", \"log_key\": \"PRIVATE+" KEY "\"}",
		"{\"tray\": \"t\", \"checkpoint\": \"a\\n1\\n\\n\", \"log_key\": \"" KEY "\"}",
		"{\"tray\": \"t\", \"checkpoint\": 7, \"log_key\": \"" KEY "\"}",
		"{\"tray\": \"t\", \"proof\": {\"from\": 1, \"hashes\": [\"AA==\"]}}",
		"{\"tray\": \"t\", \"taken\": {\"policy/p\": {\"version\": 1, \"sha256\": 7}}}",
		"{\"tray\": \"t\", \"alarms\": [7]}",
		"{\"tray\": \"t\", \"closed_count\": 4294967296}",
		"{\"tray\": \"t\", \"tray\": \"t\"}",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct bwl_err e = { 0 };
		struct tray_status s;

		assert_int_equal(status_parse("t", bad[i], strlen(bad[i]), &s, NULL, &e), -EBADMSG);
		assert_true(*e.text);
	}
}

static void more_than_there_may_be_is_refused(void **state)
{
	char many[STATUS_BYTES_MAX + 2] = "{\"tray\": \"t\", \"taken\": {";
	struct status_taken taken;
	struct tray_status s;
	size_t n = strlen(many);

	(void)state;
	for (unsigned i = 0; i <= STATUS_TAKEN_MAX; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n,
				      "%s\"grant/g%u\": {\"version\": 1, \"sha256\": \"%064u\"}",
				      i ? ", " : "", i, i);
	snprintf(many + n, sizeof(many) - n, "}}");
	assert_int_equal(status_parse("t", many, strlen(many), &s, &taken, NULL), -EBADMSG);
	assert_int_equal(taken.n, 0);
	memset(many, ' ', sizeof(many));
	memcpy(many, "{\"tray\": \"t\"}", 13);
	assert_int_equal(status_parse("t", many, STATUS_BYTES_MAX, &s, NULL, NULL), 0);
	assert_int_equal(status_parse("t", many, STATUS_BYTES_MAX + 1, &s, NULL, NULL), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_is_read),
		cmocka_unit_test(a_status_that_is_none_is_refused_with_why),
		cmocka_unit_test(more_than_there_may_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
