// SPDX-License-Identifier: GPL-2.0-or-later
/* What the status of a tray says of a document that was published. */
#include "test.h"
#include <stdio.h>
#include <string.h>
#include "fleet/says.h"

static const struct bwl_signed doc = {
	.type = BWL_SIGNED_REVOCATION,
	.terms = { .name = "r", .version = 7, .epoch = 1 },
	.digest = { 0xab, 0xcd },
};
#define DIGEST "abcd000000000000000000000000000000000000000000000000000000000000"
#define OTHER "abcd000000000000000000000000000000000000000000000000000000000001"

static enum fleet_word says(const char *text, const char **ret_text)
{
	json_t *o = json_loads(text, JSON_DECODE_ANY, NULL);
	const json_t *refusal = NULL;
	enum fleet_word word = fleet_says(o, &doc, &refusal);
	static char kept[64];

	if (ret_text) {
		snprintf(kept, sizeof(kept), "%s",
			 json_string_value(json_object_get(refusal, "text")));
		*ret_text = kept;
	}
	json_decref(o);
	return word;
}

static void only_the_digest_that_was_signed_acknowledges(void **state)
{
	(void)state;
	assert_int_equal(
		says("{\"taken\": {\"revocation/r\": {\"version\": 7, \"sha256\": \"" DIGEST
		     "\"}}}",
		     NULL),
		FLEET_ACKNOWLEDGED);
	assert_int_equal(says("{\"taken\": {\"revocation/r\": {\"version\": 7, \"sha256\": \"" OTHER
			      "\"}}}",
			      NULL),
			 FLEET_SILENT);
	assert_int_equal(
		says("{\"taken\": {\"revocation/x\": {\"version\": 7, \"sha256\": \"" DIGEST
		     "\"}}}",
		     NULL),
		FLEET_SILENT);
	assert_int_equal(says("{\"taken\": {\"grant/r\": {\"version\": 7, \"sha256\": \"" DIGEST
			      "\"}}}",
			      NULL),
			 FLEET_SILENT);
}

static void a_refusal_is_of_that_version_alone(void **state)
{
	const char *text;

	(void)state;
	assert_int_equal(
		says("{\"refused\": {\"revocation/r\": {\"version\": 7, \"text\": \"old\"}}}",
		     &text),
		FLEET_REFUSED);
	assert_string_equal(text, "old");
	assert_int_equal(says("{\"refused\": {\"revocation/r\": {\"version\": 6}}}", NULL),
			 FLEET_SILENT);
	/* What it refused at first, and took then. */
	assert_int_equal(says("{\"refused\": {\"revocation/r\": {\"version\": 7}}, \"taken\": "
			      "{\"revocation/r\": {\"sha256\": \"" DIGEST "\"}}}",
			      NULL),
			 FLEET_ACKNOWLEDGED);
}

static void what_cannot_be_read_says_nothing(void **state)
{
	static const char *const bad[] = { "{}",
					   "[]",
					   "null",
					   "7",
					   "{\"taken\": []}",
					   "{\"taken\": {\"revocation/r\": 7}}",
					   "{\"taken\": {\"revocation/r\": {\"sha256\": 7}}}",
					   "{\"refused\": {\"revocation/r\": []}}",
					   "{\"refused\": 7}" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(says(bad[i], NULL), FLEET_SILENT);
}

static void only_that_alarm_says_that_something_is_not_in_force(void **state)
{
	static const char *const no[] = { "{}", "{\"alarms\": []}", "{\"alarms\": [7, \"floor\"]}",
					  "7" };
	json_t *o = json_loads("{\"alarms\": [\"floor\", \"not-in-force\"]}", 0, NULL);

	(void)state;
	assert_true(fleet_not_in_force(o));
	json_decref(o);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++) {
		o = json_loads(no[i], JSON_DECODE_ANY, NULL);
		assert_false(fleet_not_in_force(o));
		json_decref(o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_digest_that_was_signed_acknowledges),
		cmocka_unit_test(a_refusal_is_of_that_version_alone),
		cmocka_unit_test(what_cannot_be_read_says_nothing),
		cmocka_unit_test(only_that_alarm_says_that_something_is_not_in_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
