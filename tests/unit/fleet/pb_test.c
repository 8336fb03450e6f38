// SPDX-License-Identifier: GPL-2.0-or-later
/* Protobuf's wire format: what is written can be read, and anything else is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fleet/store/pb.h"
#include "../test.h"

static void what_is_written_is_read_back(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		int64_t v = (int64_t)test_random_scale(&seed, 64);
		unsigned n = 1 + (unsigned)(test_random(&seed) % 0x1ffffffe);
		struct bwl_pb_out o = { 0 };
		struct bwl_pb_field f;
		struct bwl_pb_in in;

		bwl_pb_put_oneof(&o, n, v);
		bwl_pb_put_bytes(&o, n, &v, 1 + round % 8);
		in = bwl_pb_in(o.at, o.len);
		assert_int_equal(bwl_pb_next(&in, &f), 1);
		assert_true(!f.is_bytes && f.number == n && (int64_t)f.v == v);
		assert_int_equal(bwl_pb_next(&in, &f), 1);
		assert_true(f.is_bytes && f.number == n && bwl_pb_len(f.bytes) == 1 + round % 8);
		assert_memory_equal(f.bytes.at, &v, 1 + round % 8);
		assert_int_equal(bwl_pb_next(&in, &f), 0);
		free(o.at);
	}
}

static void zeros_are_left_out_and_empty_messages_are_not(void **state)
{
	struct bwl_pb_out o = { 0 };
	size_t at;

	(void)state;
	bwl_pb_put_int(&o, 1, 0);
	bwl_pb_put_text(&o, 2, "");
	assert_int_equal(o.len, 0);
	at = bwl_pb_begin(&o, 3);
	bwl_pb_end(&o, at);
	assert_int_equal(o.len, 2);
	assert_memory_equal(o.at, "\x1a\x00", 2);
	free(o.at);
}

static void a_message_in_a_message_has_its_length_however_long_it_is(void **state)
{
	char text[300];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t len = 1; len < sizeof(text); len++) {
		struct bwl_pb_out o = { 0 };
		size_t at = bwl_pb_begin(&o, 1);
		struct bwl_pb_field f;
		struct bwl_pb_in in;

		bwl_pb_put_bytes(&o, 2, text, len);
		bwl_pb_end(&o, at);
		in = bwl_pb_in(o.at, o.len);
		assert_int_equal(bwl_pb_next(&in, &f), 1);
		assert_true(in.at == in.end);
		in = f.bytes;
		assert_int_equal(bwl_pb_next(&in, &f), 1);
		assert_int_equal(bwl_pb_len(f.bytes), len);
		free(o.at);
	}
}

static void what_is_no_message_is_refused(void **state)
{
	static const struct {
		const char *at;
		size_t len;
	} bad[] = {
		{ "\x08", 1 },                                           /* no value */
		{ "\x0a\x05xxxx", 6 },                                   /* bytes that end early */
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 12 }, /* 2^64 - 1 bytes */
		{ "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11 },  /* above 64 bits */
		{ "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12 },
		{ "\x00\x01", 2 }, /* field 0 */
		{ "\x0b", 1 },     /* a group */
		{ "\x0f\x01", 2 }, /* wire type 7 */
		{ "\x09"
		  "1234567",
		  8 }, /* seven of eight bytes */
		{ "\x0d"
		  "123",
		  4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct bwl_pb_in in = bwl_pb_in(bad[i].at, bad[i].len);
		struct bwl_pb_field f;

		assert_int_equal(bwl_pb_next(&in, &f), -EBADMSG);
	}
}

static void fields_of_fixed_width_are_passed_over(void **state)
{
	struct bwl_pb_in in = bwl_pb_in("\x09"
					"12345678"
					"\x15"
					"1234"
					"\x18\x07",
					16);
	struct bwl_pb_field f;

	(void)state;
	assert_int_equal(bwl_pb_next(&in, &f), 1);
	assert_true(f.number == 3 && f.v == 7);
	assert_int_equal(bwl_pb_next(&in, &f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(zeros_are_left_out_and_empty_messages_are_not),
		cmocka_unit_test(a_message_in_a_message_has_its_length_however_long_it_is),
		cmocka_unit_test(what_is_no_message_is_refused),
		cmocka_unit_test(fields_of_fixed_width_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
