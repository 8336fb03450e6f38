// SPDX-License-Identifier: GPL-2.0-or-later
/* Which paths and fields are refused; whole heads are in web_strict_test. */
#include <string.h>
#include "fleet/http/strict.h"
#include "../test.h"

static void a_target_has_no_control_and_no_escape_that_is_cut(void **state)
{
	static const char *const good[] = { "/", "/api/v1/peer?name=d1&x=%20%c3%A4", "*",
					    "/a%2f%25%7e" },
				 *const bad[] = {
					 "/%00",  "/x%00y", "/?a=%00", "/%0a",  "/%1F",
					 "/%7f",  "/%",     "/%2",     "/%zz",  "/%2g",
					 "/?a=%", "/a b",   "/\x01",   "/\x7f", "/\xc3\xa4"
				 };

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_null(bwl_strict_target(good[i]));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_non_null(bwl_strict_target(bad[i]));
}

static const char *field(const char *name, const char *value)
{
	return bwl_strict_field(name, strlen(name), value, strlen(value));
}

static void a_field_has_a_name_without_space_and_no_controls(void **state)
{
	(void)state;
	assert_null(field("Content-Length", "5"));
	assert_null(field("X!#$%&'*+-.^_`|~9", ""));
	assert_null(field("X", "a\tb \xc3\xa4"));
	assert_non_null(field("Content-Length ", "5"));
	assert_non_null(field("Content-Length\t", "5"));
	assert_non_null(field(" Content-Length", "5"));
	assert_non_null(field("", "5"));
	assert_non_null(field("X(", "5"));
	assert_non_null(field("X\xc3", "5"));
	assert_non_null(field("X", "a\rb"));
	assert_non_null(field("X", "a\nb"));
	assert_non_null(field("X", "\x7f"));
	assert_non_null(bwl_strict_field("X\0Y", 3, "", 0));
	assert_non_null(bwl_strict_field("X", 1, "a\0b", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_has_no_control_and_no_escape_that_is_cut),
		cmocka_unit_test(a_field_has_a_name_without_space_and_no_controls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
