// SPDX-License-Identifier: GPL-2.0-or-later
/* Documents and tables: a field is described once, and both show the same. */
#include <math.h>
#include <string.h>
#include <arpa/inet.h>
#include "bwl/show.h"
#include "bwl/text.h"
#include "test.h"

static void assert_json(json_t *o, const char *want)
{
	char *got = json_dumps(o, JSON_COMPACT | JSON_ENCODE_ANY);

	assert_string_equal(got, want);
	free(got);
	json_decref(o);
}

static void a_document_begins_with_version_and_kind(void **state)
{
	(void)state;
	assert_json(bwl_doc("stop"), "{\"version\":1,\"kind\":\"stop\"}");
}

static void what_is_not_known_is_null(void **state)
{
	(void)state;
	assert_json(bwl_json_text(NULL), "null");
	assert_json(bwl_json_real(INFINITY), "null");
	assert_json(bwl_json_in(UINT64_MAX, 5), "null");
	assert_json(bwl_json_ago(0, 5), "null");
	assert_json(bwl_json_ago(6, 5), "null");
	assert_json(bwl_json_spi(0), "null");
}

static void times_are_seconds_before_and_after(void **state)
{
	(void)state;
	assert_json(bwl_json_in(3500000000, 1000000000), "2.5");
	assert_json(bwl_json_in(1000000000, 3500000000), "-2.5");
	assert_json(bwl_json_ago(1000000000, 3500000000), "2.5");
	assert_json(bwl_json_span(250000000), "0.25");
}

static void numbers_beyond_json_integers_are_numbers(void **state)
{
	(void)state;
	assert_json(bwl_json_u64(INT64_MAX), "9223372036854775807");
	assert_json(bwl_json_u64(1ULL << 63), "9.2233720368547758e18");
}

static void spis_are_hexadecimal_text(void **state)
{
	(void)state;
	assert_json(bwl_json_spi(htonl(0xc0de)), "\"0x0000c0de\"");
}

static void wall_times_are_utc_with_z(void **state)
{
	char buf[BWL_TIME_BUF];

	(void)state;
	setenv("TZ", "Asia/Tokyo", 1);
	assert_string_equal(bwl_utc(0, -1, buf), "1970-01-01T00:00:00Z");
	assert_string_equal(bwl_utc(1795325400, 7, buf), "2026-11-22T05:30:00.007Z");
}

struct row {
	const char *name;
	uint64_t bps;
};

static struct bwl_value get_name(const void *row)
{
	return bwl_v_text(((const struct row *)row)->name);
}

static struct bwl_value get_rate(const void *row)
{
	return bwl_v_rate(((const struct row *)row)->bps);
}

static const struct bwl_field name = { "peer", "NAME", get_name },
			      rate = { "rate_bits_per_second", ">RATE", get_rate },
			      people = { NULL, "AGAIN", get_name },
			      programs = { "again", NULL, get_name };
static const struct bwl_column columns[] = {
	{ &name, BWL_BOTH },     { &rate, BWL_BOTH },       { &people, BWL_BOTH },
	{ &programs, BWL_BOTH }, { &rate, BWL_FOR_PEOPLE }, { NULL, BWL_BOTH },
};

static void a_list_for_programs_has_their_fields(void **state)
{
	struct bwl_list *l = bwl_list_new(columns, true);

	(void)state;
	bwl_list_add(l, &(struct row){ "d1", 5000000 });
	bwl_list_add(l, &(struct row){ NULL, 0 });
	assert_json(
		bwl_list_end(l),
		"[{\"peer\":\"d1\",\"rate_bits_per_second\":5000000,\"again\":\"d1\"},{\"peer\":null,\"rate_bits_per_second\":null,\"again\":null}]");
}

static void a_list_for_people_is_a_table_of_the_same(void **state)
{
	struct bwl_list *l = bwl_list_new(columns, false);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size), *was = stdout;
	json_t *rows;

	(void)state;
	bwl_list_add(l, &(struct row){ "d1", 5000000 });
	bwl_list_add(l, &(struct row){ NULL, 0 });
	stdout = out;
	rows = bwl_list_end(l);
	stdout = was;
	fclose(out);
	assert_null(rows);
	assert_string_equal(text, "NAME       RATE  AGAIN       RATE\n"
				  "d1        5mbit  d1         5mbit\n"
				  "-     unlimited  -      unlimited\n");
	free(text);
}

static char *printed(const char *const *heads, const char *const *cells, size_t n, size_t most)
{
	struct bwl_table *t = bwl_table_new(heads);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; i < n; i++)
		bwl_cell(t, "%s", cells[i]);
	bwl_table_print_in(t, f, most);
	fclose(f);
	bwl_table_free(t);
	return text;
}
#define PRINTED(heads, most, ...)                                                                  \
	printed(heads, (const char *const[]){ __VA_ARGS__ },                                       \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), most)

static void names_are_shortened_where_a_terminal_is_narrow_and_numbers_never(void **state)
{
	static const char *const heads[] = { "~NAME", "~ZONE", ">RATE", NULL };
	char *s = PRINTED(heads, SIZE_MAX, "checkpoint-store-of-the-hall-07", "mesh", "100gbit");

	(void)state;
	assert_string_equal(s, "NAME                             ZONE     RATE\n"
			       "checkpoint-store-of-the-hall-07  mesh  100gbit\n");
	free(s);
	s = PRINTED(heads, 30, "checkpoint-store-of-the-hall-07", "mesh", "100gbit", "d1", "z",
		    "1gbit");
	assert_string_equal(s, "NAME             ZONE     RATE\n"
			       "checkpo…hall-07  mesh  100gbit\n"
			       "d1               z       1gbit\n");
	free(s);
	/* the least width; then a line is longer than the terminal */
	s = PRINTED(heads, 10, "checkpoint-store-of-the-hall-07", "mesh", "100gbit");
	assert_string_equal(s, "NAME     ZONE     RATE\n"
			       "che…-07  mesh  100gbit\n");
	free(s);
	s = PRINTED(heads, 24, "größenänderung-übersicht", "mesh", "100gbit");
	assert_string_equal(s, "NAME       ZONE     RATE\n"
			       "größ…icht  mesh  100gbit\n");
	free(s);
}

static void a_column_that_can_be_spared_goes_before_numbers_are_cut(void **state)
{
	static const char *const heads[] = { "~NAME", "?>BURST", ">RATE", NULL };
	char *s = PRINTED(heads, 16, "checkpoint", "64kb", "100gbit");

	(void)state;
	assert_string_equal(s, "NAME        RATE\n"
			       "che…int  100gbit\n");
	free(s);
	s = PRINTED(heads, 26, "checkpoint", "64kb", "100gbit");
	assert_string_equal(s, "NAME        BURST     RATE\n"
			       "checkpoint   64kb  100gbit\n");
	free(s);
}

static void a_last_column_of_text_is_wrapped_between_words(void **state)
{
	static const char *const heads[] = { "~PORT", ">FRAMES", "MEANS", NULL };
	char *s = PRINTED(heads, 46, "hpf0", "12", "no peer has this destination; to do: add one");

	(void)state;
	assert_string_equal(s, "PORT  FRAMES  MEANS\n"
			       "hpf0      12  no peer has this destination; to\n"
			       "              do: add one\n");
	free(s);
	s = PRINTED(heads, 30, "hpf0", "12", "no peer has this destination; to do: add one");
	assert_string_equal(s, "PORT  FRAMES  MEANS\n"
			       "hpf0      12\n"
			       "    no peer has this\n"
			       "    destination; to do: add\n"
			       "    one\n");
	free(s);
}

static void a_name_of_15_characters_is_worth_more_than_a_column_that_can_be_spared(void **state)
{
	static const char *const heads[] = { "~NAME", "~TO", "?>BURST", "?SINCE", NULL };
	char *s = PRINTED(heads, 42, "log-collector-7", "fd00:103::1234:5678:9abc:def0", "64kb",
			  "10:00");

	(void)state;
	assert_string_equal(s, "NAME             TO                  BURST\n"
			       "log-collector-7  fd00:103:…abc:def0   64kb\n");
	free(s);
	s = PRINTED(heads, 38, "log-collector-7", "fd00:103::1234:5678:9abc:def0", "64kb", "10:00");
	assert_string_equal(s, "NAME             TO\n"
			       "log-collector-7  fd00:103::…:9abc:def0\n");
	free(s);
}

static void text_goes_on_below_its_begin(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	bwl_text_put("ok    größe of everything that is there", 16, 10, 6, f);
	fclose(f);
	assert_string_equal(text, "ok    größe of\n"
				  "      everything\n"
				  "      that is\n"
				  "      there");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_begins_with_version_and_kind),
		cmocka_unit_test(what_is_not_known_is_null),
		cmocka_unit_test(times_are_seconds_before_and_after),
		cmocka_unit_test(numbers_beyond_json_integers_are_numbers),
		cmocka_unit_test(spis_are_hexadecimal_text),
		cmocka_unit_test(wall_times_are_utc_with_z),
		cmocka_unit_test(a_list_for_programs_has_their_fields),
		cmocka_unit_test(a_list_for_people_is_a_table_of_the_same),
		cmocka_unit_test(names_are_shortened_where_a_terminal_is_narrow_and_numbers_never),
		cmocka_unit_test(a_column_that_can_be_spared_goes_before_numbers_are_cut),
		cmocka_unit_test(
			a_name_of_15_characters_is_worth_more_than_a_column_that_can_be_spared),
		cmocka_unit_test(text_goes_on_below_its_begin),
		cmocka_unit_test(a_last_column_of_text_is_wrapped_between_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
