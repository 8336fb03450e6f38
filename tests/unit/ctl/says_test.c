// SPDX-License-Identifier: GPL-2.0-or-later
/* What a tray's status tells about a document that was published. */
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

/* body: a status, without the tray's name. */
static const struct fleet_status *status_of(const char *body)
{
	static struct fleet_status st;
	char text[512];

	snprintf(text, sizeof(text), "{\"tray\": \"t\"%s%s}", *body ? ", " : "", body);
	return status_parse("t", text, strlen(text), &st.s, &st.taken, NULL) ? NULL : &st;
}

static enum fleet_word says(const char *body, const char **ret_text)
{
	const struct status_refused *refusal;
	enum fleet_word word = fleet_says(status_of(body), &doc, &refusal);

	if (ret_text)
		*ret_text = refusal ? refusal->text : NULL;
	return word;
}

static void only_the_digest_that_was_signed_acknowledges(void **state)
{
	(void)state;
	assert_int_equal(says("\"taken\": {\"revocation/r\": {\"version\": 7, \"sha256\": \"" DIGEST
			      "\"}}",
			      NULL),
			 FLEET_ACKNOWLEDGED);
	assert_int_equal(says("\"taken\": {\"revocation/r\": {\"version\": 7, \"sha256\": \"" OTHER
			      "\"}}",
			      NULL),
			 FLEET_SILENT);
	assert_int_equal(says("\"taken\": {\"revocation/x\": {\"version\": 7, \"sha256\": \"" DIGEST
			      "\"}}",
			      NULL),
			 FLEET_SILENT);
	assert_int_equal(says("\"taken\": {\"grant/r\": {\"version\": 7, \"sha256\": \"" DIGEST
			      "\"}}",
			      NULL),
			 FLEET_SILENT);
}

static void a_refusal_is_of_that_version_alone(void **state)
{
	const char *text;

	(void)state;
	assert_int_equal(
		says("\"refused\": {\"revocation/r\": {\"version\": 7, \"text\": \"old\"}}", &text),
		FLEET_REFUSED);
	assert_string_equal(text, "old");
	assert_int_equal(says("\"refused\": {\"revocation/r\": {\"version\": 6}}", NULL),
			 FLEET_SILENT);
	/* A document that it first refused and then took. */
	assert_int_equal(
		says("\"refused\": {\"revocation/r\": {\"version\": 7}}, \"taken\": {\"revocation/r\": {\"sha256\": \"" DIGEST
		     "\"}}",
		     NULL),
		FLEET_ACKNOWLEDGED);
}

static void what_cannot_be_read_says_nothing(void **state)
{
	static const char *const bad[] = { "",
					   "\"taken\": []",
					   "\"taken\": {\"revocation/r\": 7}",
					   "\"taken\": {\"revocation/r\": {\"sha256\": 7}}",
					   "\"refused\": {\"revocation/r\": []}",
					   "\"refused\": 7" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(says(bad[i], NULL), FLEET_SILENT);
	assert_null(status_of("\"taken\": []"));
}

static void only_that_alarm_says_that_something_is_not_in_force(void **state)
{
	(void)state;
	assert_true(fleet_not_in_force(status_of("\"alarms\": [\"floor\", \"not-in-force\"]")));
	assert_false(fleet_not_in_force(status_of("\"alarms\": [\"floor\"]")));
	assert_false(fleet_not_in_force(status_of("")));
	assert_false(fleet_not_in_force(NULL));
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
