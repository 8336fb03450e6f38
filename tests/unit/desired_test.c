// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The accepted copy: what is written and what is refused; and which source provides the desired
 * policy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "bwl/bytes.h"
#include "bwl/desired.h"

#define POLICY                                                                                     \
	"# said by hand\nversion: 1\nnode: n\nuplinks: [p0]\nhost_ports:\n"                        \
	"  - { dev: h0, sources: [10.0.0.0/24] }\nheartbeat: none\npeers: []\n"

static char dir[64], source[96];

static void put(const char *name, const char *bytes, size_t len)
{
	struct bwl_bytes part = { bytes, len };
	struct bwl_err e = { 0 };

	assert_int_equal(bwl_bytes_replace(dir, name, &part, 1, &e), 0);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/bwl-desired-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(source, sizeof(source), "%s/source.yaml", dir);
	setenv("BWLIMIT_STATE_DIR", dir, 1);
	setenv("BWLIMIT_POLICY", source, 1);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = { BWL_ACCEPTED, "." BWL_ACCEPTED ".new", "source.yaml",
					     "refused.json" };
	char path[128];

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

static void keep(const char *text)
{
	struct bwl_err e = { 0 };

	assert_int_equal(bwl_accepted_keep(dir, "a source\n\xff", text, strlen(text), &e), 0);
}

static char *copy(size_t *len)
{
	char path[128], *bytes;
	int fd;

	snprintf(path, sizeof(path), "%s/" BWL_ACCEPTED, dir);
	fd = open(path, O_RDONLY);
	assert_int_equal(bwl_bytes_read(fd, 1 << 20, &bytes, len, NULL), 0);
	close(fd);
	return bytes;
}

static void what_is_kept_reads_back_byte_for_byte(void **state)
{
	struct bwl_accepted a;

	(void)state;
	bwl_accepted_look(dir, &a);
	assert_int_equal(a.state, BWL_ACCEPTED_NONE);
	keep(POLICY);
	bwl_accepted_look(dir, &a);
	assert_int_equal(a.state, BWL_ACCEPTED_OK);
	assert_int_equal(a.len, strlen(POLICY));
	assert_memory_equal(a.text, POLICY, a.len);
	assert_string_equal(a.source, "a source\n?");
	assert_int_equal(strlen(a.digest), 64);
	bwl_accepted_free(&a);
	keep("");
	bwl_accepted_look(dir, &a);
	assert_int_equal(a.state, BWL_ACCEPTED_OK);
	assert_int_equal(a.len, 0);
	bwl_accepted_free(&a);
}

static void any_other_byte_and_any_part_of_it_is_damaged(void **state)
{
	struct bwl_accepted a;
	size_t len, i;
	char *bytes, *part;

	(void)state;
	keep(POLICY);
	bytes = copy(&len);
	for (i = 0; i < len; i++) {
		bytes[i] ^= 0x20;
		bwl_accepted_parse(bytes, len, &a);
		assert_int_equal(a.state, BWL_ACCEPTED_DAMAGED);
		assert_true(*a.why);
		bytes[i] ^= 0x20;
		/* memory of its own, so that a sanitizer sees reads beyond its end */
		part = malloc(i + 1);
		memcpy(part, bytes, i);
		bwl_accepted_parse(part, i, &a);
		assert_int_equal(a.state, BWL_ACCEPTED_DAMAGED);
		free(part);
	}
	bwl_accepted_parse(bytes, len, &a);
	assert_int_equal(a.state, BWL_ACCEPTED_OK);
	free(bytes);
}

static const char *node_of(const char *file, int want)
{
	static char node[256];
	struct bwl_policy *p = NULL;
	struct bwl_err e = { 0 };

	assert_int_equal(bwl_desired_load(file, &p, &e), want);
	snprintf(node, sizeof(node), "%s", p ? p->node : e.hint);
	bwl_policy_free(p);
	return node;
}

static void the_copy_is_taken_whatever_the_source_says_since(void **state)
{
	static const char other[] = "version: 1\nnode: other\nuplinks: [p0]\nhost_ports:\n"
				    "  - { dev: h0, sources: [10.0.0.0/24] }\nheartbeat: none\n";
	char path[BWL_DESIRED_PATH];

	(void)state;
	assert_true(*node_of(NULL, -ENOENT) == '\0'); /* neither file exists */
	put("source.yaml", other, sizeof(other) - 1);
	assert_string_equal(node_of(NULL, 0), "other"); /* no policy was accepted yet */
	assert_string_equal(bwl_desired_path(NULL, path), source);
	keep(POLICY);
	assert_string_equal(node_of(NULL, 0), "n");
	assert_non_null(strstr(bwl_desired_path(NULL, path), BWL_ACCEPTED));
	put("source.yaml", "nonsense", 8);
	assert_string_equal(node_of(NULL, 0), "n");
	unlink(source);
	assert_string_equal(node_of(NULL, 0), "n");
}

static void a_damaged_copy_is_refused_with_the_next_step(void **state)
{
	size_t len;
	char *bytes;

	(void)state;
	put("source.yaml", POLICY, strlen(POLICY));
	keep(POLICY);
	bytes = copy(&len);
	put(BWL_ACCEPTED, bytes, len - 1);
	free(bytes);
	assert_non_null(strstr(node_of(NULL, -EUCLEAN), "attach --policy"));
	assert_string_equal(node_of(source, 0), "n"); /* a file given by name is still read */
}

static void a_refusal_is_told_until_something_is_accepted(void **state)
{
	struct bwl_err why = { .file = "x.yaml", .line = 3, .column = 7, .text = "no" }, e = { 0 };
	json_t *o, *no;

	(void)state;
	keep(POLICY);
	assert_int_equal(bwl_refused_keep(dir, "x.yaml", &why, &e), 0);
	o = bwl_desired_json(dir);
	no = json_object_get(o, "refused");
	assert_string_equal(json_string_value(json_object_get(o, "state")), "ok");
	assert_int_equal(json_integer_value(json_object_get(no, "line")), 3);
	assert_string_equal(json_string_value(json_object_get(no, "why")), "no");
	json_decref(o);
	keep(POLICY "\n");
	o = bwl_desired_json(dir);
	assert_true(json_is_null(json_object_get(o, "refused")));
	json_decref(o);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(what_is_kept_reads_back_byte_for_byte),
		T(any_other_byte_and_any_part_of_it_is_damaged),
		T(the_copy_is_taken_whatever_the_source_says_since),
		T(a_damaged_copy_is_refused_with_the_next_step),
		T(a_refusal_is_told_until_something_is_accepted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
