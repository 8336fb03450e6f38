// SPDX-License-Identifier: GPL-2.0-or-later
/* Where headers end: no byte of the payload is taken. */
#include "tests/unit/test.h"
#include <string.h>
#include "tap/headers.h"

#define FRAME 300

/* Makes a frame of 300 bytes: head, then payload. */
static size_t of(const uint8_t *head, size_t n)
{
	uint8_t frame[FRAME];

	memset(frame, 0xee, sizeof(frame));
	memcpy(frame, head, n);
	return tap_headers(frame, sizeof(frame));
}
#define OF(...) of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))
#define MACS 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
#define IPV4(ihl, fragment, protocol)                                                              \
	0x40 | (ihl), 0, 1, 0, 0, 0, (fragment) >> 8, (fragment)&0xff, 64, protocol, 0, 0, 10, 7,  \
		0, 2, 10, 101, 0, 9
#define IPV6(next)                                                                                 \
	0x60, 0, 0, 0, 1, 0, next, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, \
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2
#define TCP(words) 0, 80, 1, 187, 0, 0, 0, 0, 0, 0, 0, 0, (words) << 4, 16, 0, 0, 0, 0, 0, 0

static void headers_end_where_the_payload_begins(void **state)
{
	(void)state;
	assert_int_equal(OF(MACS, 8, 0, IPV4(5, 0, 6), TCP(5)), 14 + 20 + 20);
	assert_int_equal(OF(MACS, 8, 0, IPV4(5, 0, 6), TCP(8)), 14 + 20 + 32);
	assert_int_equal(OF(MACS, 8, 0, IPV4(5, 0, 6), TCP(1)), 14 + 20 + 20);
	assert_int_equal(OF(MACS, 8, 0, IPV4(5, 0, 17), 0, 80, 0, 53), 14 + 20 + 8);
	assert_int_equal(OF(MACS, 8, 0, IPV4(5, 0, 17), 0, 80, 0x12, 0xb7), 14 + 20 + 8 + 12);
	assert_int_equal(OF(MACS, 8, 0, IPV4(5, 0, 1)), 14 + 20 + 8);
	assert_int_equal(OF(MACS, 8, 0, IPV4(15, 0, 253)), 14 + 60);
	assert_int_equal(OF(MACS, 0x81, 0, 0, 5, 8, 0, IPV4(5, 0, 17)), 14 + 4 + 20 + 8);
	assert_int_equal(OF(MACS, 0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0, IPV4(5, 0, 17)),
			 14 + 8 + 20 + 8);
	assert_int_equal(OF(MACS, 0x86, 0xdd, IPV6(17)), 14 + 40 + 8);
	assert_int_equal(OF(MACS, 0x86, 0xdd, IPV6(0), 6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			    0, TCP(5)),
			 14 + 40 + 16 + 20);
}

static void of_what_is_not_known_nothing_is_a_header(void **state)
{
	(void)state;
	assert_int_equal(OF(MACS, 0x88, 0xcc), 14);
	assert_int_equal(OF(MACS, 0x81, 0, 0, 5, 0x81, 0, 0, 5, 0x81, 0, 0, 5, 8, 0), 14 + 8);
	assert_int_equal(OF(MACS, 8, 0, IPV4(5, 0, 253)), 14 + 20);
	/* later fragments are payload from the first byte on */
	assert_int_equal(OF(MACS, 8, 0, IPV4(5, 1, 17)), 14 + 20);
	assert_int_equal(OF(MACS, 8, 0, IPV4(5, 0x2000, 17)), 14 + 20 + 8);
	assert_int_equal(OF(MACS, 0x86, 0xdd, IPV6(44), 17, 0, 0, 8, 0, 0, 0, 0), 14 + 40 + 8);
	assert_int_equal(OF(MACS, 0x86, 0xdd, IPV6(44), 17, 0, 0, 1, 0, 0, 0, 0), 14 + 40 + 8 + 8);
	/* an endless chain of extension headers */
	assert_in_range(OF(MACS, 0x86, 0xdd, IPV6(60), 60, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0,
			   0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 0,
			   0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0,
			   0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0),
			14 + 40 + 64, 14 + 40 + 64);
}

static void a_frame_that_is_cut_has_no_more_than_it_has(void **state)
{
	static const uint8_t frame[] = { MACS, 0x81, 0, 0, 5, 0x86, 0xdd, IPV6(0), 6,
					 0,    0,    0, 0, 0, 0,    0,    TCP(5) };

	(void)state;
	for (size_t n = 0; n <= sizeof(frame); n++) {
		uint8_t copy[sizeof(frame)];

		memcpy(copy, frame, n);
		assert_int_equal(tap_headers(copy, n), n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_end_where_the_payload_begins),
		cmocka_unit_test(of_what_is_not_known_nothing_is_a_header),
		cmocka_unit_test(a_frame_that_is_cut_has_no_more_than_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
