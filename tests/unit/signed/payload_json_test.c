/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A payload's JSON is parsed exactly as by jansson alone. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "signed/payload_json.h"
#include "test.h"

/* Both parsers must agree on the bytes, and on whether they are JSON. */
static void same(const char *bytes, size_t len, bool is_json)
{
	json_t *a = bwl_payload_json(bytes, len);
	json_t *b = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL);
	bool equal = a && b && json_equal(a, b);

	if (!!a != is_json || !!b != is_json || (is_json && !equal))
		fail_msg("%.200s: %s, jansson alone: %s", bytes, a ? "JSON" : "none",
			 b ? "JSON" : "none");
	json_decref(a);
	json_decref(b);
}
#define IS(s) same(s, sizeof(s) - 1, true)
#define IS_NOT(s) same(s, sizeof(s) - 1, false)

static void the_text_of_a_policy_is_that_of_its_key(void **state)
{
	(void)state;
	IS("{\"name\": \"a\", \"text\": \"version: 1\\nnode: \\\"x\\\"\\t\\\\ \\/ \\b\\f\\r\"}");
	IS("{\"text\":\"\"}");
	IS("{ \"text\" \n: \r\t\"a\" , \"b\": 1 }");
	IS("{\"text\":\"\\u00e9 \\ud83d\\ude00 caf\xc3\xa9\"}");
	IS("{\"text\":\"caf\xc3\xa9\"}");
	IS("{\"text\": 7}");
	IS("{\"texts\": \"a\"}");
}

static void a_text_elsewhere_is_none(void **state)
{
	(void)state;
	IS("{\"reason\": \"text\", \"text\": \"b\"}");
	IS("{\"reason\": \"\\\"text\\\": \\\"a\\\"\", \"text\": \"b\"}");
	IS("{\"keys\": {\"text\": \"a\"}, \"text\": \"b\"}");
	IS("{\"keys\": {\"text\": \"a\"}, \"text\": \"bwlimit-text-is-here\"}");
	IS("{\"keys\": [{\"text\": \"a\"}], \"text\": 1}");
	IS("{\"keys\": {\"text\": \"a\"}}");
	IS("[\"text\", {\"text\": \"a\"}]");
	IS("{\"text\": \"a\", \"keys\": {\"text\": \"b\"}}");
}

static void what_is_no_json_is_refused(void **state)
{
	(void)state;
	IS_NOT("");
	IS_NOT("{\"text\": \"a\", \"text\": \"b\"}");
	IS_NOT("{\"name\": 1, \"name\": 2, \"text\": \"a\"}");
	IS_NOT("{\"text\": \"a");
	IS_NOT("{\"text\": \"a\\");
	IS_NOT("{\"text\": \"a\\\"");
	IS_NOT("{\"text\": \"a\\x\"}");
	IS_NOT("{\"text\": \"a\nb\"}");
	IS_NOT("{\"text\": \"a\0b\"}");
	IS_NOT("{\"text\": \"\\u0000\"}");
	IS_NOT("{\"text\": \"\\ud83d\"}");
	IS_NOT("{\"text\": \"\xff\"}");
	IS_NOT("{\"text\": \"\xc0\x80\"}");
	IS_NOT("{\"text\": \"\xed\xa0\x80\"}");
	IS_NOT("{\"text\": \"a\"} x");
	IS_NOT("{\"text\": \"a\" \"b\": 1}");
	IS_NOT("{\"a\":\"b\"text\": \"c\"}");
}

/* The significant bytes, in random order. */
static void anything_reads_as_jansson_reads_it(void **state)
{
	static const char *const part[] = { "{",   "}",     "\"",       "\"text\"", ":", ",",
					    "\\",  "\"a\"", "[",        "]",        " ", "\n",
					    "u00", "text",  "\xc3\xa9", "\xc3",     "1", "\\\"" };
	char s[256];

	(void)state;
	srand(13);
	for (unsigned i = 0; i < 300000; i++) {
		size_t n = (size_t)snprintf(s, sizeof(s), "%s", rand() % 2 ? "{\"text\": \"" : "{");
		json_t *a, *b;

		for (unsigned k = (unsigned)rand() % 12; k; k--)
			n += (size_t)snprintf(
				s + n, sizeof(s) - n, "%s",
				part[(unsigned)rand() % (sizeof(part) / sizeof(*part))]);
		if (rand() % 2)
			n += (size_t)snprintf(s + n, sizeof(s) - n, "%s", rand() % 2 ? "}" : "\"}");
		a = bwl_payload_json(s, n);
		b = json_loadb(s, n, JSON_REJECT_DUPLICATES, NULL);
		if (!!a != !!b || (a && !json_equal(a, b)))
			fail_msg("%s reads otherwise", s);
		json_decref(a);
		json_decref(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_of_a_policy_is_that_of_its_key),
		cmocka_unit_test(a_text_elsewhere_is_none),
		cmocka_unit_test(what_is_no_json_is_refused),
		cmocka_unit_test(anything_reads_as_jansson_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
