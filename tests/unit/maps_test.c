// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares the list of maps (maps/list.h) with the built object, the layouts that it lists, and the
 * tables of maps/README.md. `maps_test --print` prints those tables.
 */
#include "test.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/libbpf.h>
#include <bwl/pins.h>
#include "bwlimit.skel.h"
#include "maps/layout.h"

#define TYPE_SCHEMA "array, mapped"
#define TYPE_ARRAY "array, mapped"
#define TYPE_WORDS "array, mapped"
#define TYPE_PERCPU "per-CPU array"
#define TYPE_HASH "hash"
#define TYPE_RING "ring buffer"
#define TYPE_GEN_HASH "hash"
#define TYPE_GEN_LPM "LPM trie"
#define TYPE_GEN_BASE "array of 1, mapped"
#define TYPE_GEN_ARRAY "array, mapped"

static const struct row {
	const char *name, *type, *what, *entries, *written, *read;
	size_t bytes;
	unsigned since;
} rows[] = {
#define X(name, kind, key, value, n, from, by, reader, text)                                       \
	{ "bwl_" #name "_v1", TYPE_##kind, text, #n, by, reader, sizeof(value), from },
	BWL_MAPS(X)
#undef X
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))

static const struct own {
	const char *name, *what;
	uint32_t entries, bytes;
} own[] = {
#define X(name, n, value, text) { "bwl_" #name, text, n, value },
	BWL_OWN_MAPS(X)
#undef X
};
#define NOWN (sizeof(own) / sizeof(own[0]))

/* "BWL_AT_LOAD(2 * (n->max_peers + …))", written for readers. */
static void entries_text(const char *from, char *to)
{
	size_t len = strlen(from);

	if (!strncmp(from, "BWL_AT_LOAD(", 12)) {
		from += 12;
		len -= 13;
	}
	while (len) {
		bool of_schema = len > 3 && !strncmp(from, "n->", 3);

		from += of_schema ? 3 : 0;
		len -= of_schema ? 3 : 0;
		*to++ = *from++;
		len--;
	}
	*to = '\0';
}

static bool of_generation(size_t i)
{
	return bwl_inner_shape((enum bwl_pin)i, NULL);
}

static void row_text(size_t i, char *to, size_t size)
{
	const struct row *r = &rows[i];
	const char *per = strstr(r->type, "per-CPU") ? " a CPU" : "";
	char n[128];

	entries_text(r->entries, n);
	if (of_generation(i))
		snprintf(to, size, "| `%s` | %s | %s | %zu | %s | %s | %u |", r->name, r->type,
			 r->what, r->bytes, r->written, r->read, r->since);
	else
		snprintf(to, size, "| `%s` | %s | %s | %s | %zu%s | %s | %s | %u |", r->name,
			 r->type, r->what, n, r->bytes, per, r->written, r->read, r->since);
}

static void own_text(size_t i, char *to, size_t size)
{
	snprintf(to, size, "| `%s` | %s | %u | %u |", own[i].name, own[i].what, own[i].entries,
		 own[i].bytes);
}

/* The line of the README that begins with "| `name` |"; a copy, NULL: there is none. */
static char *readme_line(const char *name)
{
	FILE *f = fopen(BWL_SOURCE "/maps/README.md", "re");
	char want[64], *line = NULL;
	size_t room = 0;
	ssize_t n;

	assert_non_null(f);
	snprintf(want, sizeof(want), "| `%s` |", name);
	while ((n = getline(&line, &room, f)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (!strncmp(line, want, strlen(want)))
			break;
	}
	fclose(f);
	if (n > 0)
		return line;
	free(line);
	return NULL;
}

static void compare_line(const char *name, const char *want)
{
	char *have = readme_line(name);

	if (!have)
		fail_msg("maps/README.md lacks %s; maps_test --print prints its tables", name);
	if (strcmp(have, want))
		fail_msg("maps/README.md says of %s\n  %s\nthe list\n  %s", name, have, want);
	free(have);
}

static void the_tables_of_the_readme_say_what_the_list_says(void **state)
{
	char want[512];
	size_t i;

	(void)state;
	for (i = 0; i < NROWS; i++) {
		row_text(i, want, sizeof(want));
		compare_line(rows[i].name, want);
	}
	for (i = 0; i < NOWN; i++) {
		own_text(i, want, sizeof(want));
		compare_line(own[i].name, want);
	}
}

static bool is_listed(const char *name)
{
	size_t i;

	for (i = 0; i < NROWS; i++)
		if (!strcmp(rows[i].name, name))
			return true;
	for (i = 0; i < NOWN; i++)
		if (!strcmp(own[i].name, name))
			return true;
	return false;
}

static void the_readme_has_no_map_that_the_list_has_not(void **state)
{
	FILE *f = fopen(BWL_SOURCE "/maps/README.md", "re");
	char *line = NULL, name[64];
	size_t room = 0;

	(void)state;
	assert_non_null(f);
	while (getline(&line, &room, f) > 0)
		if (sscanf(line, "| `%63[a-z0-9_]`", name) == 1 && !is_listed(name))
			fail_msg("maps/README.md has a row for %s, which the list has not", name);
	free(line);
	fclose(f);
}

static void the_object_has_the_maps_of_the_list_and_no_other(void **state)
{
	struct bwlimit *s = bwlimit__open();
	struct bpf_map *m;
	size_t n = 0, i;

	(void)state;
	assert_non_null(s);
	bpf_object__for_each_map(m, s->obj)
	{
		if (bpf_map__is_internal(m))
			continue;
		n++;
		if (!is_listed(bpf_map__name(m)))
			fail_msg("%s is in bpf/ and not in maps/list.h", bpf_map__name(m));
	}
	assert_int_equal(n, NROWS + NOWN);
	for (i = 0; i < NOWN; i++) {
		m = bpf_object__find_map_by_name(s->obj, own[i].name);
		assert_non_null(m);
		assert_int_equal(bpf_map__max_entries(m), own[i].entries);
		assert_int_equal(bpf_map__value_size(m), own[i].bytes);
	}
	bwlimit__destroy(s);
}

static void an_object_gets_the_sizes_of_its_schema(void **state)
{
	const struct bwl_schema n = bwl_schema_new(100, 300, 20);
	struct bwlimit *s = bwlimit__open();

	(void)state;
	assert_non_null(s);
	assert_int_equal(bwl_pins_size(s->obj, &n), 0);
	assert_int_equal(bpf_map__max_entries(s->maps.bwl_gate_v1), 100);
	assert_int_equal(bpf_map__max_entries(s->maps.bwl_state_v1), 800);
	assert_int_equal(bpf_map__max_entries(s->maps.bwl_extra_v1), 300);
	assert_int_equal(bpf_map__max_entries(s->maps.bwl_winown_v1), 20);
	assert_int_equal(bpf_map__max_entries(s->maps.bwl_ctl_v1), 1);
	assert_int_equal(bpf_map__max_entries(s->maps.bwl_event_v1), 1 << 20);
	assert_int_equal(bpf_map__max_entries(s->maps.bwl_base_v1), 2);
	bwlimit__destroy(s);
}

/* Literal numbers: these layouts are pinned on machines in use. */
static void layouts_that_were_given_out_keep_their_numbers(void **state)
{
	(void)state;
	assert_int_equal(bwl_layout_number(0x6dde7458f1a871e6ULL), 7);
	assert_int_equal(bwl_layout_number(0x1e005909bdc21b4dULL), 8);
	assert_int_equal(bwl_layout_number(0), 0);
	assert_int_equal(bwl_layout_number(0x6dde7458f1a871e7ULL), 0);
	assert_int_equal(bwl_layout_number(0x1c269fe044163cf4ULL), 0); /* before 0.3.0 */
	assert_true(bwl_layout_is_gone(0x1c269fe044163cf4ULL));
	assert_true(bwl_layout_is_gone(0xba4c6acfe9838463ULL));
	assert_false(bwl_layout_is_gone(0x6dde7458f1a871e6ULL));
	assert_false(bwl_layout_is_gone(0x6dde7458f1a871e7ULL));
	assert_false(bwl_layout_is_gone(0));
	assert_int_equal(bwl_layout_first(), 7);
}

static void a_changed_list_is_a_new_layout(void **state)
{
	(void)state;
	if (bwl_layout_number(bwl_layout()) != bwl_layout_now())
		fail_msg(
			"the list gives layout %016llx, and BWL_LAYOUTS ends with another: append a row, and see CONTRIBUTING.md, \"a map\"",
			(unsigned long long)bwl_layout());
}

static void every_map_is_of_a_layout_that_there_is(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NROWS; i++)
		if (rows[i].since < bwl_layout_first() || rows[i].since > bwl_layout_now())
			fail_msg("%s is of layout %u", rows[i].name, rows[i].since);
}

static void shapes_of_before_are_of_layouts_before(void **state)
{
	const struct bwl_schema schema = bwl_schema_new(64, 256, 16);
	size_t i;

	(void)state;
	for (i = 0; i < NROWS; i++) {
		struct bwl_shape now = bwl_pin_shape((enum bwl_pin)i, &schema), before = now;

		assert_false(bwl_shape_before((enum bwl_pin)i, bwl_layout_now(), &before));
		if (bwl_shape_before((enum bwl_pin)i, bwl_layout_first(), &before) &&
		    bwl_shape_is(&now, &before))
			fail_msg("%s has the shape that it is said to have had before",
				 rows[i].name);
	}
}

static int print_tables(void)
{
	char line[512];
	size_t i;

	puts("| map | type | key → value | entries | bytes a value | written by | read by | since |\n"
	     "|---|---|---|---|---|---|---|---|");
	for (i = 0; i < NROWS; i++)
		if (!of_generation(i)) {
			row_text(i, line, sizeof(line));
			puts(line);
		}
	puts("\n| map | port or id → value | entries | bytes a value |\n|---|---|---|---|");
	for (i = 0; i < NOWN; i++) {
		own_text(i, line, sizeof(line));
		puts(line);
	}
	puts("\n| map | inner type | key → value | bytes a value | written by | read by | since |\n"
	     "|---|---|---|---|---|---|---|");
	for (i = 0; i < NROWS; i++)
		if (of_generation(i)) {
			row_text(i, line, sizeof(line));
			puts(line);
		}
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tables_of_the_readme_say_what_the_list_says),
		cmocka_unit_test(the_readme_has_no_map_that_the_list_has_not),
		cmocka_unit_test(the_object_has_the_maps_of_the_list_and_no_other),
		cmocka_unit_test(an_object_gets_the_sizes_of_its_schema),
		cmocka_unit_test(layouts_that_were_given_out_keep_their_numbers),
		cmocka_unit_test(a_changed_list_is_a_new_layout),
		cmocka_unit_test(every_map_is_of_a_layout_that_there_is),
		cmocka_unit_test(shapes_of_before_are_of_layouts_before),
	};

	if (argc > 1 && !strcmp(argv[1], "--print"))
		return print_tables();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
