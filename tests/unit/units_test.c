// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include "bwl/trial.h"
#include "bwl/units.h"

struct good {
	const char *text;
	uint64_t value;
};
struct bad {
	const char *text, *fragment;
};
typedef int (*parser)(const char *s, uint64_t *ret, struct bwl_err *e);

static void accepts(parser parse, const struct good *list)
{
	for (; list->text; list++) {
		struct bwl_err e = { 0 };
		uint64_t v = 42;

		if (parse(list->text, &v, &e))
			fail_msg("'%s' was refused: %s", list->text, e.text);
		if (v != list->value)
			fail_msg("'%s' gave %lu, not %lu", list->text, v, list->value);
	}
}

static void refuses(parser parse, const struct bad *list)
{
	for (; list->text; list++) {
		struct bwl_err e = { 0 };
		uint64_t v = 42;
		int r = parse(list->text, &v, &e);

		if (!r || v != 42)
			fail_msg("'%s' was accepted as %lu", list->text, v);
		assert_int_equal(r, -e.code);
		if (!strstr(e.text, list->fragment))
			fail_msg("'%s': no '%s' in: %s", list->text, list->fragment, e.text);
	}
}

static void rates_are_read_as_tc_reads_them(void **state)
{
	(void)state;
	accepts(bwl_parse_rate,
		(struct good[]){
			{ "1000", 1000 },
			{ "1000bit", 1000 },
			{ "1kbit", 1000 },
			{ "500kbit", 500000 },
			{ "10mbit", 10000000 },
			{ "10gbit", 10000000000 },
			{ "1tbit", 1000000000000 },
			{ "100tbit", 100000000000000 },
			{ "1.6tbit", 1600000000000 },
			{ "1kibit", 1024 },
			{ "1mibit", 1048576 },
			{ "1gibit", 1073741824 },
			{ "1tibit", 1099511627776 },
			{ "125bps", 1000 },
			{ "1kbps", 8000 },
			{ "10mbps", 80000000 },
			{ "1gbps", 8000000000 },
			{ "1kibps", 8192 },
			{ "1mibps", 8388608 },
			{ "10Mbit", 10000000 },
			{ "10GBIT", 10000000000 },
			{ ".5mbit", 500000 },
			{ "0.5mbit", 500000 },
			{ "2.50gbit", 2500000000 },
			{ "1.0000000005gbit", 1000000000 }, /* half a bit is rounded down */
			{ "000001mbit", 1000000 },
			{ 0 },
		});
}

static void wrong_rates_are_refused_with_the_domain(void **state)
{
	(void)state;
	refuses(bwl_parse_rate, (struct bad[]){
					{ "", "is not a rate" },
					{ "fast", "is not a rate" },
					{ "mbit", "is not a rate" },
					{ "-1mbit", "negative" },
					{ "-0", "negative" },
					{ "+1mbit", "is not a rate" },
					{ "1 mbit", "is not a rate" },
					{ " 1mbit", "is not a rate" },
					{ "1mbit ", "is not a rate" },
					{ "1mbitx", "is not a rate" },
					{ "1.mbit", "is not a rate" },
					{ "1.2.3mbit", "is not a rate" },
					{ ".", "is not a rate" },
					{ "1e3mbit", "is not a rate" },
					{ "0x10mbit", "is not a rate" },
					{ "50%", "is not a rate" },
					{ "0", "1kbit to 100tbit" },
					{ "999", "1kbit to 100tbit" },
					{ "0.99kbit", "1kbit to 100tbit" },
					{ "100.000000001tbit", "1kbit to 100tbit" },
					{ "101tbit", "1kbit to 100tbit" },
					{ "18446744073709551616", "1kbit to 100tbit" },
					{ "18446744073709551615tbit", "1kbit to 100tbit" },
					{ "99999999999999999999999999999999999999999999999999gbit",
					  "1kbit to 100tbit" },
					{ "1.0000000000000000001gbit", "decimals" },
					{ "infgbit", "is not a rate" },
					{ "nan", "is not a rate" },
					{ 0 },
				});
}

static void sizes_are_read_as_tc_reads_them(void **state)
{
	(void)state;
	accepts(bwl_parse_size, (struct good[]){
					{ "0", 0 },
					{ "1518", 1518 },
					{ "1518b", 1518 },
					{ "64kb", 65536 },
					{ "64k", 65536 },
					{ "64KB", 65536 },
					{ "64kib", 65536 },
					{ "1mb", 1048576 },
					{ "1m", 1048576 },
					{ "1gb", 1073741824 },
					{ "1tb", 1099511627776 },
					{ "1.5kb", 1536 },
					{ "1kbit", 128 },
					{ "8mbit", 1048576 },
					{ "1gbit", 134217728 },
					{ "4096pb", 1ULL << 62 },
					{ 0 },
				});
	refuses(bwl_parse_size, (struct bad[]){
					{ "", "is not a size" },
					{ "-5kb", "negative" },
					{ "5zb", "is not a size" },
					{ "4097pb", "0 to 4096pb" },
					{ "4611686018427387905", "0 to 4096pb" },
					{ "18446744073709551617", "0 to 4096pb" },
					{ 0 },
				});
}

static void times_need_a_unit(void **state)
{
	(void)state;
	accepts(bwl_parse_time, (struct good[]){
					{ "0s", 0 },
					{ "1ns", 1 },
					{ "250us", 250000 },
					{ "250ms", 250000000 },
					{ "60s", 60000000000 },
					{ "1.5s", 1500000000 },
					{ "2h", 7200000000000 },
					{ "1d", 86400000000000 },
					{ "1w", 604800000000000 },
					{ "0.5m", 30000000000 },
					{ "36500d", 3153600000000000000 },
					{ 0 },
				});
	refuses(bwl_parse_time, (struct bad[]){
					{ "60", "has no unit" },
					{ "0", "has no unit" },
					{ "-1s", "negative" },
					{ "1y", "is not a time" },
					{ "1 d", "is not a time" },
					{ "36501d", "100 years" },
					{ "3153600000000000001ns", "100 years" },
					{ 0 },
				});
}

static void volumes_are_total_or_per_window(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes, window;
	} good[] = {
		{ "20gb", 21474836480, 0 },
		{ "20gb per 1d", 21474836480, 86400000000000 },
		{ "0", 0, 0 },
		{ "1kb  per\t11s", 1024, 11000000000 },
		{ "1.5mb per 1.5h", 1572864, 5400000000000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		uint64_t bytes = 1, window = 1;

		assert_int_equal(bwl_parse_volume(good[i].text, &bytes, &window, NULL), 0);
		assert_int_equal(bytes, good[i].bytes);
		assert_int_equal(window, good[i].window);
	}
}

static int volume(const char *s, uint64_t *ret, struct bwl_err *e)
{
	uint64_t window;

	return bwl_parse_volume(s, ret, &window, e);
}

static void wrong_volumes_are_refused_with_an_example(void **state)
{
	(void)state;
	refuses(volume, (struct bad[]){
				{ "", "is not a size" },
				{ "20gb per", "20gb per 1d" },
				{ "20gb a 1d", "20gb per 1d" },
				{ "20gb per1d", "20gb per 1d" },
				{ "20gb per 1", "has no unit" },
				{ "20gb per 0s", "11s to 36500d" },
				{ "20gb per 10.9s", "11s to 36500d" },
				{ "20gb per 101w d", "is not a time" },
				{ "-1gb per 1d", "negative" },
				{ "per 1d", "is not a size" },
				{ "8192pb per 1d", "0 to 4096pb" },
				{ 0 },
			});
}

static void a_trial_lasts_one_second_to_four_hours(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	accepts(bwl_parse_trial, (struct good[]){
					 { "1s", 1000000000 },
					 { "10m", 600000000000 },
					 { "4h", 14400000000000 },
					 { 0 },
				 });
	refuses(bwl_parse_trial, (struct bad[]){
					 { "999ms", "999ms: must be 1s to 4h" },
					 { "0s", "must be 1s to 4h" },
					 { "14401s", "must be 1s to 4h" },
					 { "36500d", "36500d: must be 1s to 4h" },
					 { "60", "60" },
					 { 0 },
				 });
	assert_int_equal(bwl_trial_check("--confirm", BWL_TRIAL_MAX_NS, &e), 0);
	assert_int_equal(bwl_trial_check("--confirm", BWL_TRIAL_MAX_NS + 1, &e), -ERANGE);
}

static void what_waits_behind_a_trial_says_until_when(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	assert_int_equal(bwl_trial_wait(0, 5, &e), 0);
	assert_int_equal(bwl_trial_wait(590000000000, 0, &e), -EBUSY);
	assert_non_null(strstr(e.text, "at the latest in 9 m 50 s"));
	assert_non_null(strstr(e.hint, "policy rollback"));
}

static void every_formatted_value_reads_back(void **state)
{
	char a[BWL_UNIT_BUF];
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t v, back = 0;

		v = test_random_scale(&seed, 62);
		if (i % 3 == 0)
			v &= ~0ULL << test_random(&seed) % 60;
		assert_int_equal(bwl_parse_size(bwl_format_size(v, a), &back, NULL), 0);
		assert_int_equal(back, v);
		v = test_random_scale(&seed, 61);
		assert_int_equal(bwl_parse_time(bwl_format_time(v, a), &back, NULL), 0);
		assert_int_equal(back, v);
		v = BWL_RATE_MIN_BPS + test_random_scale(&seed, 46);
		if (i % 2)
			v -= v % 1000;
		if (v < BWL_RATE_MIN_BPS || v > BWL_RATE_MAX_BPS)
			continue;
		assert_int_equal(bwl_parse_rate(bwl_format_rate(v, a), &back, NULL), 0);
		assert_int_equal(back, v);
	}
}

static void formats_are_the_shortest(void **state)
{
	char a[BWL_UNIT_BUF];

	(void)state;
	assert_string_equal(bwl_format_rate(10000000000, a), "10gbit");
	assert_string_equal(bwl_format_rate(1500000000, a), "1.5gbit");
	assert_string_equal(bwl_format_rate(1234567, a), "1234567bit");
	assert_string_equal(bwl_format_rate(100000000000, a), "100gbit");
	assert_string_equal(bwl_format_size(65536, a), "64kb");
	assert_string_equal(bwl_format_size(1518, a), "1518b");
	assert_string_equal(bwl_format_size(0, a), "0b");
	assert_string_equal(bwl_format_time(0, a), "0s");
	assert_string_equal(bwl_format_time(250000000, a), "250ms");
	assert_string_equal(bwl_format_time(90000000000, a), "90s");
	assert_string_equal(bwl_format_time(86400000000000, a), "1d");
}

static void people_get_three_digits(void **state)
{
	char a[BWL_UNIT_BUF];

	(void)state;
	assert_string_equal(bwl_human_rate(1234567890, a), "1.23 Gbit/s");
	assert_string_equal(bwl_human_rate(999.6, a), "1 kbit/s");
	assert_string_equal(bwl_human_rate(0, a), "0 bit/s");
	assert_string_equal(bwl_human_rate(1e8, a), "100 Mbit/s");
	assert_string_equal(bwl_human_rate(INFINITY, a), "unlimited");
	assert_string_equal(bwl_human_size(5046586573.0, a), "4.7 GiB");
	assert_string_equal(bwl_human_size(1023.6, a), "1 KiB");
	assert_string_equal(bwl_human_time(0.25, a), "250 ms");
	assert_string_equal(bwl_human_time(90, a), "1 m 30 s");
	assert_string_equal(bwl_human_time(3 * 86400 + 4 * 3600, a), "3 d 4 h");
	assert_string_equal(bwl_human_time(59.97, a), "1 m");
	assert_string_equal(bwl_human_time(3599.9, a), "1 h");
	assert_string_equal(bwl_human_time(86399, a), "1 d");
	assert_string_equal(bwl_human_time(364.99 * 86400, a), "1 y");
	assert_string_equal(bwl_human_time(INFINITY, a), "never");
	assert_string_equal(bwl_human_time(NAN, a), "unknown");
}

static void a_message_never_carries_escapes_to_the_terminal(void **state)
{
	struct bwl_err e;
	uint64_t v;

	(void)state;
	assert_int_not_equal(bwl_parse_rate("\033[2J\x07\xff\xc2\x9b", &v, &e), 0);
	for (const char *s = e.text; *s; s++)
		assert_false(*s == '\033' || *s == '\x07' || *s == '\xff' || *s == '\x9b');
	assert_non_null(strstr(e.text, "…")); /* our own UTF-8 stays */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_read_as_tc_reads_them),
		cmocka_unit_test(wrong_rates_are_refused_with_the_domain),
		cmocka_unit_test(sizes_are_read_as_tc_reads_them),
		cmocka_unit_test(times_need_a_unit),
		cmocka_unit_test(volumes_are_total_or_per_window),
		cmocka_unit_test(wrong_volumes_are_refused_with_an_example),
		cmocka_unit_test(a_trial_lasts_one_second_to_four_hours),
		cmocka_unit_test(what_waits_behind_a_trial_says_until_when),
		cmocka_unit_test(every_formatted_value_reads_back),
		cmocka_unit_test(formats_are_the_shortest),
		cmocka_unit_test(people_get_three_digits),
		cmocka_unit_test(a_message_never_carries_escapes_to_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
