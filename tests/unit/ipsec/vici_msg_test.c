// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * VICI packets: encoding and decoding the bytes of strongSwan's documentation, and what is refused.
 */
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include "ipsec/vici.h"

/* The example of libcharon/plugins/vici/README.md, as a request "x". */
static const uint8_t example[] = {
	0,
	1,
	'x',
	/* key1 = value1 */
	3,
	4,
	'k',
	'e',
	'y',
	'1',
	0,
	6,
	'v',
	'a',
	'l',
	'u',
	'e',
	'1',
	/* section1 = { */
	1,
	8,
	's',
	'e',
	'c',
	't',
	'i',
	'o',
	'n',
	'1',
	/* sub-section = { */
	1,
	11,
	's',
	'u',
	'b',
	'-',
	's',
	'e',
	'c',
	't',
	'i',
	'o',
	'n',
	/* key2 = value2 */
	3,
	4,
	'k',
	'e',
	'y',
	'2',
	0,
	6,
	'v',
	'a',
	'l',
	'u',
	'e',
	'2',
	/* } */
	2,
	/* list1 = [ item1, item2 ] */
	4,
	5,
	'l',
	'i',
	's',
	't',
	'1',
	5,
	0,
	5,
	'i',
	't',
	'e',
	'm',
	'1',
	5,
	0,
	5,
	'i',
	't',
	'e',
	'm',
	'2',
	6,
	/* } */
	2,
};

static json_t *example_tree(void)
{
	return json_pack("{s:s,s:{s:{s:s},s:[s,s]}}", "key1", "value1", "section1", "sub-section",
			 "key2", "value2", "list1", "item1", "item2");
}

static void writes_the_bytes_of_the_description(void **state)
{
	json_t *tree = example_tree();
	uint8_t *out;
	size_t len;

	(void)state;
	assert_int_equal(bwl_vici_encode(BWL_VICI_REQUEST, "x", tree, &out, &len, NULL), 0);
	assert_int_equal(len, sizeof(example) + 4);
	assert_memory_equal(out, ((uint8_t[]){ 0, 0, 0, sizeof(example) }), 4);
	assert_memory_equal(out + 4, example, sizeof(example));
	free(out);
	json_decref(tree);
}

static void reads_the_bytes_of_the_description(void **state)
{
	json_t *tree = example_tree();
	struct bwl_vici_packet p;

	(void)state;
	assert_int_equal(bwl_vici_decode(example, sizeof(example), &p, NULL), 0);
	assert_int_equal(p.op, BWL_VICI_REQUEST);
	assert_string_equal(p.name, "x");
	assert_true(json_equal(p.msg, tree));
	json_decref(p.msg);
	json_decref(tree);
}

static void a_packet_cut_anywhere_is_refused_or_shorter(void **state)
{
	struct bwl_vici_packet p;
	unsigned whole = 0;

	(void)state;
	for (size_t n = 0; n < sizeof(example); n++) {
		uint8_t *exact = malloc(n ? n : 1);

		memcpy(exact, example, n);
		if (!bwl_vici_decode(exact, n, &p, NULL)) {
			whole++;
			json_decref(p.msg);
		}
		free(exact);
	}
	assert_int_equal(whole, 2); /* after the name, and after key1 */
}

static void refuse(const char *bytes, size_t len, const char *says)
{
	struct bwl_vici_packet p;
	struct bwl_err e = { 0 };

	assert_int_equal(bwl_vici_decode((const uint8_t *)bytes, len, &p, &e), -EBADMSG);
	assert_non_null(strstr(e.text, says));
	assert_null(p.msg);
}
#define REFUSE(bytes, says) refuse(bytes, sizeof(bytes) - 1, says)

static void refuses_what_is_no_message_and_says_why(void **state)
{
	char deep[1 + 3 * 64];

	(void)state;
	REFUSE("", "unknown kind");
	REFUSE("\x08", "unknown kind");
	REFUSE("\x00", "no name");
	REFUSE("\x00\x02"
	       "a",
	       "no name");
	REFUSE("\x00\x02"
	       "a\x00",
	       "no name");
	REFUSE("\x01\x07", "unknown kind of element");
	REFUSE("\x01\x02", "never started");
	REFUSE("\x01\x01\x01"
	       "a",
	       "has no end");
	REFUSE("\x01\x03\x05"
	       "a",
	       "name is cut off");
	REFUSE("\x01\x03\x01"
	       "a\x00\x05"
	       "b",
	       "value is cut off");
	REFUSE("\x01\x05\x00\x01"
	       "a",
	       "outside of a list");
	REFUSE("\x01\x06", "outside of a list");
	REFUSE("\x01\x04\x01"
	       "a\x03\x01"
	       "b\x00\x00\x06",
	       "not an item");
	REFUSE("\x01\x04\x01"
	       "a\x05\x00\x01"
	       "b",
	       "list has no end");
	deep[0] = BWL_VICI_RESPONSE;
	for (size_t i = 0; i < 64; i++)
		memcpy(deep + 1 + 3 * i,
		       "\x01\x01"
		       "a",
		       3);
	refuse(deep, sizeof(deep), "nested deeper");
}

static void bytes_that_are_no_text_are_read_in_hexadecimal(void **state)
{
	static const uint8_t der[] = { 1, 3, 4, 'd', 'a', 't', 'a', 0, 3, 0x30, 0x82, 0x00 };
	struct bwl_vici_packet p;

	(void)state;
	assert_int_equal(bwl_vici_decode(der, sizeof(der), &p, NULL), 0);
	assert_string_equal(bwl_vici_text(p.msg, "data"), "0x308200");
	json_decref(p.msg);
}

static void of_two_values_of_one_name_the_first_counts(void **state)
{
	static const uint8_t twice[] = { 1, 3, 1, 'a', 0, 1, '1', 3, 1, 'a', 0, 1, '2' };
	struct bwl_vici_packet p;

	(void)state;
	assert_int_equal(bwl_vici_decode(twice, sizeof(twice), &p, NULL), 0);
	assert_int_equal(bwl_vici_number(p.msg, "a"), 1);
	assert_int_equal(bwl_vici_number(p.msg, "b"), 0);
	assert_string_equal(bwl_vici_text(NULL, "a"), "");
	json_decref(p.msg);
}

static void what_charon_would_refuse_is_not_written(void **state)
{
	char *big = malloc(BWL_VICI_MAX), name[300];
	json_t *many = json_object(), *list = json_array(), *one = json_object();
	struct bwl_err e;
	uint8_t *out;
	size_t len;

	(void)state;
	memset(big, 'x', 65536);
	json_object_set_new(one, "value", json_stringn(big, 65536));
	assert_int_equal(bwl_vici_encode(BWL_VICI_REQUEST, "c", one, &out, &len, &e), -EMSGSIZE);
	for (size_t i = 0; i < 9; i++)
		json_array_append_new(list, json_stringn(big, 65535));
	json_object_set_new(many, "list", list);
	assert_int_equal(bwl_vici_encode(BWL_VICI_REQUEST, "c", many, &out, &len, &e), -EMSGSIZE);
	json_object_clear(one);
	json_object_set_new(one, "number", json_integer(1));
	assert_int_equal(bwl_vici_encode(BWL_VICI_REQUEST, "c", one, &out, &len, &e), -EMSGSIZE);
	memset(name, 'n', 256);
	name[256] = 0;
	assert_int_equal(bwl_vici_encode(BWL_VICI_REQUEST, name, NULL, &out, &len, &e), -EMSGSIZE);
	json_decref(one);
	json_decref(many);
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_the_bytes_of_the_description),
		cmocka_unit_test(reads_the_bytes_of_the_description),
		cmocka_unit_test(a_packet_cut_anywhere_is_refused_or_shorter),
		cmocka_unit_test(refuses_what_is_no_message_and_says_why),
		cmocka_unit_test(bytes_that_are_no_text_are_read_in_hexadecimal),
		cmocka_unit_test(of_two_values_of_one_name_the_first_counts),
		cmocka_unit_test(what_charon_would_refuse_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
