// SPDX-License-Identifier: GPL-2.0-or-later
/* Text that is no policy, keys that are unknown or twice, and files that cannot be read. */
#include "policy_errors.h"

static void text_that_is_no_policy_is_refused(void **state)
{
	static const struct row rows[] = {
		{ "", 0, 0, "the policy is empty" },
		{ "# only a comment\n", 0, 0, "the policy is empty" },
		{ "hello\n", 1, 1, "a mapping (key: value) is expected here, not a single value" },
		{ "[1, 2]\n", 1, 1, "a mapping (key: value) is expected here, not a list" },
		{ TOP "peers: [\n", 7, 1, "not YAML" },
		{ TOP "\tpeers: []\n", 6, 1, "not YAML" },
		{ TOP "node2: \"abc\n", 7, 1, "not YAML" },
		{ "version: 1\nnode: \xff\xfe\n", 2, 0, "UTF-8" },
		{ "version: 1\nnode: \x01\n", 2, 0, "UTF-8" },
		{ TOP "peers: []\n---\nversion: 1\n", 7, 1, "a second YAML document" },
		{ TOP "peers: []\n...\n---\n[\n", 8, 1, "a second YAML document" },
		{ "version: &a 1\nnode: *a\n", 2, 7, "aliases" },
		{ "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", 2, 8, "aliases" },
		{ TOP "peers: [[[[[[[[[[\n", 6, 0, "nested too deeply" },
		{ TOP "? [a]\n: b\n", 6, 0, "a key must be a word" },
	};

	(void)state;
	REFUSES(rows);
}

static void keys_out_of_place_are_refused(void **state)
{
	static const struct row rows[] = {
		{ TOP "peer: []\n", 6, 1, "unknown key 'peer': the keys here are" },
		{ TOP "peer: []\n", 6, 1, "host_ports, heartbeat, lease, default, node_limit" },
		{ "version: 1\nnode: t\nnode: u\n", 3, 1, "'node' is given twice" },
		{ "node: t\nversion: 1\nnode: u\n", 3, 1, "'node' is given twice" },
		{ GRANT("rate: 1mbit, rate: 2mbit"), 11, 27, "'rate' is given twice" },
		{ GRANT("rat: 1mbit"), 11, 14,
		  "unknown key 'rat': the keys here are rate, burst, volume, mode, mark, until" },
		{ PEER "    grants: { rate: 1mbit }\n", 11, 5, "unknown key 'grants'" },
		{ PEER "    accept: { mode: police }\n", 11, 15,
		  "unknown key 'mode': the keys here are rate, burst, volume" },
		{ PEER "    ipsec: { gateway: x }\n", 11, 14,
		  "unknown key 'gateway': the keys here are remote" },
		{ PEER "    classes: { http: { rate: 1mbit } }\n", 11, 16,
		  "unknown key 'http': the keys here are other, rocev2" },
		{ TOP "zones: { z: { rate: 1mbit, mode: police } }\n", 6, 28,
		  "unknown key 'mode': the keys here are rate, burst, volume, share" },
		{ HEAD "host_ports: [{ dev: h0, sorces: [] }]\n", 5, 25, "unknown key 'sorces'" },
		{ TOP "zones:\n  z: { rate: 1mbit }\n  y: { rate: 1mbit }\n  z: { rate: 1mbit }\n",
		  9, 3, "'z' is given twice" },
	};

	(void)state;
	REFUSES(rows);
}

static void values_of_the_wrong_kind_are_refused(void **state)
{
	static const struct row rows[] = {
		{ "version: 1\nnode: [t]\n", 2, 7,
		  "node: a single value is expected here, not a list" },
		{ "version: 1\nnode: t\nuplinks: p0\n", 3, 10,
		  "uplinks: a list is expected here, not a single value" },
		{ TOP "peers: {}\n", 6, 8, "peers: a list is expected here, not a mapping" },
		{ TOP "peers:\n", 6, 7, "peers: a list is expected here" },
		{ TOP "peers: [x]\n", 6, 9, "a mapping (key: value) is expected here" },
		{ TOP "zones: [z]\n", 6, 8,
		  "zones: a mapping (key: value) is expected here, not a list" },
		{ TOP "zones: { z: 1mbit }\n", 6, 13,
		  "z: a mapping (key: value) is expected here" },
		{ PEER "    grant: 1mbit\n", 11, 12,
		  "grant: a mapping (key: value) is expected here" },
		{ PEER "    accept: 1mbit\n", 11, 13, "(or the word none)" },
		{ PEER "    accept:\n", 11, 0, "(or the word none)" },
		{ PEER "    accept: \"none\"\n", 11, 13, "(or the word none)" },
		{ PEER "    accept: {}\n", 11, 13,
		  "peer a, accept: rate is missing: give one, or `accept: none`" },
	};

	(void)state;
	REFUSES(rows);
}

static void nul_bytes_are_refused_in_their_line(void **state)
{
	static const char text[] = "version: 1\nnode: t\0t\n";
	struct bwl_policy *p = NULL;
	struct bwl_err e = { 0 };

	(void)state;
	assert_int_not_equal(bwl_policy_parse("f", text, sizeof(text) - 1, 0, 0, &p, &e), 0);
	assert_int_equal(e.line, 2);
	assert_non_null(strstr(e.text, "NUL"));
}

static void files_that_cannot_be_read_are_named(void **state)
{
	struct bwl_policy *p = NULL;
	struct bwl_err e = { 0 };

	(void)state;
	assert_int_not_equal(bwl_policy_load("/nonexistent/policy.yaml", 0, 0, &p, &e), 0);
	assert_string_equal(e.file, "/nonexistent/policy.yaml");
	assert_non_null(strstr(e.text, "cannot open: No such file"));
	assert_int_not_equal(bwl_policy_load("/", 0, 0, &p, &e), 0);
	assert_non_null(strstr(e.text, "cannot read: Is a directory"));
	assert_int_not_equal(bwl_policy_load("/dev/zero", 0, 0, &p, &e), 0);
	assert_non_null(strstr(e.text, "512 MiB"));
	assert_null(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_that_is_no_policy_is_refused),
		cmocka_unit_test(keys_out_of_place_are_refused),
		cmocka_unit_test(values_of_the_wrong_kind_are_refused),
		cmocka_unit_test(nul_bytes_are_refused_in_their_line),
		cmocka_unit_test(files_that_cannot_be_read_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
