// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"
#include <string.h>
#include "bwl/prefix.h"

static void prefixes_are_read_and_written(void **state)
{
	static const struct {
		const char *text;
		uint8_t family, len;
		const char *back;
	} good[] = {
		{ "10.0.0.0/24", 4, 24, "10.0.0.0/24" },
		{ "10.0.0.1", 4, 32, "10.0.0.1" },
		{ "10.0.0.1/32", 4, 32, "10.0.0.1" },
		{ "0.0.0.0/0", 4, 0, "0.0.0.0/0" },
		{ "128.0.0.0/1", 4, 1, "128.0.0.0/1" },
		{ "::/0", 6, 0, "::/0" },
		{ "fd00::1", 6, 128, "fd00::1" },
		{ "fd00:0:0:7::/64", 6, 64, "fd00:0:0:7::/64" },
		{ "FD00::/8", 6, 8, "fd00::/8" },
		{ "2001:db8::8000:0/97", 6, 97, "2001:db8::8000:0/97" },
		{ "::ffff:0:0/95", 6, 95, NULL },
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct bwl_pfx p;
		struct bwl_err e = { 0 };
		int r = bwl_pfx_parse(good[i].text, &p, &e);

		if (!good[i].back) {
			assert_int_not_equal(r, 0); /* a bit is set after the prefix length */
			continue;
		}
		if (r)
			fail_msg("%s: %s", good[i].text, e.text);
		assert_int_equal(p.family, good[i].family);
		assert_int_equal(p.len, good[i].len);
		assert_string_equal(bwl_pfx_format(&p, buf, sizeof(buf)), good[i].back);
	}
}

static void wrong_prefixes_are_refused(void **state)
{
	static const struct {
		const char *text, *fragment, *hint;
	} bad[] = {
		{ "", "is not a prefix", "" },
		{ "10.0.0", "is not a prefix", "" },
		{ "10.0.0.0.0", "is not a prefix", "" },
		{ "256.0.0.1", "is not a prefix", "" },
		{ "10.0.0.010", "is not a prefix", "" },
		{ "host.example", "is not a prefix", "" },
		{ "fe80::1%eth0", "is not a prefix", "" },
		{ " 10.0.0.1", "is not a prefix", "" },
		{ "/24", "is not a prefix", "" },
		{ "10.0.0.0/", "0 to 32", "" },
		{ "10.0.0.0/33", "0 to 32", "" },
		{ "10.0.0.0/-1", "0 to 32", "" },
		{ "10.0.0.0/+8", "0 to 32", "" },
		{ "10.0.0.0/08", "0 to 32", "" },
		{ "10.0.0.0/8/8", "0 to 32", "" },
		{ "10.0.0.0/0x8", "0 to 32", "" },
		{ "10.0.0.0/255.0.0.0", "0 to 32", "" },
		{ "10.0.0.0/4294967304", "0 to 32", "" },
		{ "fd00::/129", "0 to 128", "" },
		{ "fd00::/1000", "0 to 128", "" },
		{ "10.0.0.1/24", "bits set after", "the prefix is 10.0.0.0/24" },
		{ "fd00::1/64", "bits set after", "the prefix is fd00::/64" },
		{ "10.0.0.0/0", "bits set after", "the prefix is 0.0.0.0/0" },
		{ "::ffff:192.0.2.1", "write it as IPv4", "" },
		{ "::ffff:10.0.0.0/104", "write it as IPv4", "" },
		{ "1111:2222:3333:4444:5555:6666:7777:8888:9999:1111:2222:3333:4444",
		  "is not a prefix", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct bwl_pfx p = { .family = 9 };
		struct bwl_err e = { 0 };

		if (!bwl_pfx_parse(bad[i].text, &p, &e))
			fail_msg("'%s' was accepted", bad[i].text);
		assert_int_equal(p.family, 9);
		if (!strstr(e.text, bad[i].fragment))
			fail_msg("'%s': no '%s' in: %s", bad[i].text, bad[i].fragment, e.text);
		assert_string_equal(e.hint, bad[i].hint);
	}
}

static void every_formatted_prefix_reads_back(void **state)
{
	uint64_t seed = 7;
	char buf[64];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		struct bwl_pfx p = { .family = i & 1 ? 4 : 6 }, back;
		unsigned bits = p.family == 4 ? 32 : 128;
		struct bwl_err e = { 0 };

		p.len = test_random(&seed) % (bits + 1);
		for (unsigned b = 0; b < p.len; b++)
			if (test_random(&seed) & 1)
				p.addr[b / 8] |= 0x80 >> b % 8;
		if (bwl_pfx_parse(bwl_pfx_format(&p, buf, sizeof(buf)), &back, &e))
			fail_msg("%s: %s", buf, e.text);
		assert_memory_equal(&p, &back, sizeof(p));
	}
}

/* Not where IPv4 addresses are spelled in IPv6: on the wire nobody has those. */
static void a_prefix_that_no_packet_may_go_to_is_told(void **state)
{
	static const struct {
		const char *text;
		enum bwl_range range;
	} x[] = {
		{ "::10.1.0.1", BWL_UNSPECIFIED },
		{ "::/96", BWL_UNSPECIFIED },
		{ "::/64", BWL_UNSPECIFIED },
		{ "::/32", BWL_UNSPECIFIED },
		{ "::fffe:0:0/95", BWL_UNSPECIFIED },
		{ "::ffff:0:a01:1", BWL_UNSPECIFIED },
		{ "::1", BWL_LOOPBACK },
		{ "::", BWL_UNSPECIFIED },
		{ "::/31", BWL_USABLE },
		{ "::/0", BWL_USABLE },
		{ "64:ff9b::/96", BWL_USABLE },
		{ "2002:a01:1::/48", BWL_USABLE },
		{ "0:1::/32", BWL_USABLE },
		{ "10.1.0.1", BWL_USABLE },
	};
	struct bwl_err e = { 0 };
	struct bwl_pfx p;

	(void)state;
	for (size_t i = 0; i < sizeof(x) / sizeof(*x); i++) {
		assert_int_equal(bwl_pfx_parse(x[i].text, &p, &e), 0);
		if (bwl_pfx_range(&p) != x[i].range)
			fail_msg("%s: %s", x[i].text, bwl_range_text[bwl_pfx_range(&p)]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes_are_read_and_written),
		cmocka_unit_test(wrong_prefixes_are_refused),
		cmocka_unit_test(every_formatted_prefix_reads_back),
		cmocka_unit_test(a_prefix_that_no_packet_may_go_to_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
