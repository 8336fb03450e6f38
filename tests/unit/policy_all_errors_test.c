// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A policy file with several errors: all of them are reported, but not those that only follow from
 * others.
 */
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/policy.h"

#define NOW_BOOT 1000000000000ULL
#define NOW_WALL 1800000000LL /* 2027-01-15T08:00:00Z */

#define HEAD "version: 1\nnode: t\nuplinks: [p0]\nheartbeat: 60s\n"
#define PORT "host_ports: [{ dev: h0, sources: [10.0.7.0/24] }]\n"
#define TOP HEAD PORT
/* A peer, from line 7 on, that can be continued with more keys at column 5. */
#define PEER                                                                                       \
	TOP "peers:\n  - name: a\n    addresses: [192.0.2.0/24]\n    path: clear\n    via: 10.9.9.9\n"
#define GRANT(x) PEER "    grant: { " x " }\n"

struct expected {
	unsigned line;
	const char *fragment;
};

/* Exactly these errors are reported, by line. */
static void tells_all(const char *yaml, const struct expected *want, size_t n)
{
	static struct bwl_errors all;
	struct bwl_policy *p = NULL;

	assert_true(bwl_policy_parse_all("f.yaml", yaml, strlen(yaml), NOW_BOOT, NOW_WALL, &p,
					 &all) < 0);
	assert_null(p);
	for (size_t i = 0; i < n || i < all.n; i++) {
		if (i >= all.n)
			fail_msg("missing: line %u: %s", want[i].line, want[i].fragment);
		if (i >= n || all.list[i].line != want[i].line ||
		    !strstr(all.list[i].text, want[i].fragment))
			fail_msg("error %zu is: line %u: %s", i, all.list[i].line,
				 all.list[i].text);
		assert_string_equal(all.list[i].file, "f.yaml");
	}
	assert_false(all.more);
}
#define TELLS_ALL(yaml, ...)                                                                       \
	tells_all(yaml, (const struct expected[]){ __VA_ARGS__ },                                  \
		  sizeof((const struct expected[]){ __VA_ARGS__ }) / sizeof(struct expected))

static void all_errors_of_a_file_are_told(void **state)
{
	(void)state;
	/* wrong values, also several in one peer */
	TELLS_ALL(
		"version: 1\nnode: t/7\nuplinks: [p0, abcdefghijklmnop]\nheartbeat: soon\n"
		"lease: never\nhost_ports:\n  - { dev: h0, sources: [10.0.7.1/24] }\n"
		"  - { dev: h1, sources: [10.0.8.0/24], vlans: [9999] }\n"
		"zones: { z: { rate: 1mbots }, y: { rate: 1mbit } }\n"
		"peers:\n  - name: a\n    addresses: [192.0.2.300]\n    path: clear\n"
		"    via: nobody\n    grant: { rate: 2mbots }\n    zone: z\n"
		"  - { name: b, addresses: [192.0.2.0/24], path: clear, via: 10.9.9.9, zone: x }\n"
		"  - { name: b, addresses: [192.0.3.0/24], path: clear, via: 10.9.9.9 }\n",
		{ 2, "'t/7' is not a valid name" }, { 3, "at most 15" }, { 4, "is not a time" },
		{ 5, "is not a time" }, { 7, "bits set after" }, { 8, "from 1 to 4094" },
		{ 9, "zones, z, rate: '1mbots'" }, { 12, "not a prefix" },
		{ 14, "peer a, via: 'nobody'" }, { 15, "peer a, grant, rate: '2mbots'" },
		{ 17, "unknown zone x" }, { 18, "duplicate peer b" });
	/* missing keys, with one error each */
	TELLS_ALL("version: 1\nuplinks: [p0]\n" PORT "peers:\n  - addresses: [192.0.2.1]\n",
		  { 1, "node is missing" }, { 1, "heartbeat is missing" },
		  { 5, "name is missing" });
	/* unknown keys: the rest is still read */
	TELLS_ALL(TOP "peer: []\npeers:\n  - { nam: a, addresses: [192.0.2.1] }\n"
		      "  - { name: b, addresses: [192.0.2.2], path: clear, via: here }\n",
		  { 6, "unknown key 'peer'" }, { 8, "unknown key 'nam'" },
		  { 9, "peer b, via: 'here'" });
	/* wrong kinds and repeated keys: so is it */
	TELLS_ALL("version: 1\nnode: [t]\nversion: 1\nuplinks: p0\nheartbeat: soon\nx: 1\n"
		  "host_ports: [{ dev: h0, sources: [10.0.7.0/24], vlans: [9999, [1]] }, h1]\n",
		  { 2, "node: a single value is expected here, not a list" },
		  { 3, "'version' is given twice" }, { 4, "uplinks: a list is expected here" },
		  { 5, "heartbeat: 'soon'" }, { 6, "unknown key 'x'" }, { 7, "'9999'" },
		  { 7, "a single value is expected here, not a list" },
		  { 7, "a mapping (key: value) is expected here, not a single value" });
	/* a list that is given twice: the first is checked, and may not be all */
	TELLS_ALL(TOP "peers:\n"
		      "  - { name: a, addresses: [x], path: clear, via: 10.9.9.9, from: [h9] }\n"
		      "peers: []\nhost_ports: []\n",
		  { 7, "'x' is not a prefix" }, { 8, "'peers' is given twice" },
		  { 9, "'host_ports' is given twice" });
	/* a misspelt key may be one that is missing, and none that is there */
	TELLS_ALL(
		HEAD
		"host_port: [{ dev: h0, sources: [10.0.7.0/24] }]\npeers:\n"
		"  - { name: a, addresses: [192.0.2.1], path: clear, via: 10.9.9.9, from: [h0], zone: z }\n",
		{ 5, "unknown key 'host_port'" });
	TELLS_ALL(TOP
		  "zones: { z: { rate: 1mbit } }\npears: 1\npeers:\n"
		  "  - { name: a, addresses: [192.0.2.1], path: clear, via: 10.9.9.9, zone: x }\n",
		  { 7, "unknown key 'pears'" }, { 9, "unknown zone x" });
	/* a file of another version */
	TELLS_ALL("version: 2\nnode: [t]\nx: 1\n", { 1, "version '2' is not known" });
	/* names of zones and of ports that are too long */
	TELLS_ALL(TOP
		  "zones: { z: {}, 12345678901234567890123456789012: { rate: 1mbit } }\npeers:\n"
		  "  - { name: a, addresses: [192.0.2.1], path: clear, via: 10.9.9.9, zone: x,\n"
		  "      grant: { rate: 1mbit }, from: [], ports: { a-name-of-16-cha: {} } }\n",
		  { 6, "z is empty" }, { 6, "the name of a zone" }, { 9, "from is empty" },
		  { 9, "the name of a device" });
	/* text that YAML reads only with escapes */
	TELLS_ALL(TOP "x: 1\nnode_limit: { rate: \"1\\x07\\x85\\u2028\\\"\u00e9\" }\n",
		  { 6, "unknown key 'x'" }, { 7, "node_limit, rate: '1" });
	/* errors before a syntax error */
	TELLS_ALL(TOP "peer: []\nlease: []\npeers: [\n", { 6, "unknown key 'peer'" },
		  { 7, "lease: a single value" }, { 9, "not YAML" });
	/* no further error for a peer whose port or uplink could not be read */
	TELLS_ALL(
		HEAD
		"host_ports: [{ dev: h0123456789abcdef, sources: [10.0.7.0/24] }]\n"
		"peers:\n"
		"  - { name: a, addresses: [192.0.2.1], path: clear, via: 10.9.9.9, from: [h0123456789abcd] }\n",
		{ 5, "too long: at most 15" });
	/* every overlap */
	TELLS_ALL(TOP "peers:\n"
		      "  - { name: a, addresses: [192.0.2.0/24], path: clear, via: 10.9.9.9 }\n"
		      "  - { name: b, addresses: [192.0.2.0/24], path: clear, via: 10.9.9.9 }\n"
		      "  - { name: c, addresses: [10.0.7.9], path: clear, via: 10.9.9.9 }\n",
		  { 8, "peer b: 192.0.2.0/24 overlaps" }, { 9, "peer c: 10.0.7.9 overlaps" });
}

/* Also if more errors are found than are told, and the last of them at the end of the file. */
static void of_a_file_of_another_version_only_the_version_is_told(void **state)
{
	(void)state;
	for (unsigned bad = BWL_ERRORS_MAX - 1; bad <= BWL_ERRORS_MAX + 1; bad++)
		for (unsigned kind = 0; kind < 2; kind++) {
			char *s;
			size_t len;
			FILE *f = open_memstream(&s, &len);

			fputs("node: t\nversion: 2\n", f);
			for (unsigned i = 0; i < bad; i++)
				fprintf(f, "key%u: 1\n", i);
			fputs(kind ? "lease: [x]\n" : "another: {}\n", f);
			fclose(f);
			TELLS_ALL(s, { 2, "version '2' is not known" });
			free(s);
		}
}

static void no_more_than_twenty_errors_are_told(void **state)
{
	static struct bwl_errors all;

	(void)state;
	for (unsigned bad = 19; bad <= 21; bad++) {
		struct bwl_policy *p = NULL;
		char *s;
		size_t len;
		FILE *f = open_memstream(&s, &len);

		fputs(TOP "peers:\n", f);
		for (unsigned i = 0; i < bad; i++)
			fprintf(f, "  - { name: p%u, addresses: [x] }\n", i);
		fclose(f);
		assert_true(bwl_policy_parse_all("f", s, len, 0, 0, &p, &all) < 0);
		/* each peer also lacks a path */
		assert_int_equal(all.n, BWL_ERRORS_MAX);
		assert_true(all.more);
		free(s);
	}
}

static void a_file_without_errors_is_read_as_ever(void **state)
{
	static struct bwl_errors all;
	static const char *const texts[] = {
		GRANT("rate: 1mbit"),
		PEER "    accept: none\n",
		TOP "zones: { z: { rate: 1mbit } }\npeers: []\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct bwl_policy *a = NULL, *b = NULL;
		struct bwl_err e = { 0 };
		uint8_t da[32], db[32];

		assert_int_equal(bwl_policy_parse("f", texts[i], strlen(texts[i]), NOW_BOOT,
						  NOW_WALL, &a, &e),
				 0);
		assert_int_equal(bwl_policy_parse_all("f", texts[i], strlen(texts[i]), NOW_BOOT,
						      NOW_WALL, &b, &all),
				 0);
		assert_int_equal(all.n, 0);
		assert_int_equal(bwl_policy_digest(a, da), 0);
		assert_int_equal(bwl_policy_digest(b, db), 0);
		assert_memory_equal(da, db, sizeof(da));
		bwl_policy_free(a);
		bwl_policy_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_errors_of_a_file_are_told),
		cmocka_unit_test(of_a_file_of_another_version_only_the_version_is_told),
		cmocka_unit_test(no_more_than_twenty_errors_are_told),
		cmocka_unit_test(a_file_without_errors_is_read_as_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
