// SPDX-License-Identifier: GPL-2.0-or-later
/* Help texts: where a line ends. */
#include <stdlib.h>
#include <string.h>
#include "bwl/help.h"
#include "test.h"

static void assert_help(const char *text, const char *want)
{
	char *got = NULL;
	size_t len;
	FILE *f = open_memstream(&got, &len);

	assert_non_null(f);
	bwl_help(text, f);
	fclose(f);
	assert_string_equal(got, want);
	free(got);
}

#define W10 "aaaa bbbb "
#define W70 W10 W10 W10 W10 W10 W10 W10

static void a_paragraph_is_wrapped_wherever_its_lines_ended(void **state)
{
	(void)state;
	assert_help(W70 "cccc dddd eeee\nffff\n\ngggg\n", W70 "cccc dddd\neeee ffff\n\ngggg\n");
	assert_help(W70 "ccccc dddd\n", W70 "ccccc dddd\n"); /* 80 fit */
	assert_help(W70 "cccccc dddd\n", W70 "cccccc\ndddd\n");
}

static void the_last_line_may_lack_its_newline(void **state)
{
	(void)state;
	assert_help("aaaa\n\nbbbb", "aaaa\n\nbbbb\n");
}

static void columns_are_characters(void **state)
{
	(void)state;
	assert_help(W70 "ccccc ddd…\n", W70 "ccccc ddd…\n");
}

static void an_item_goes_on_below_its_text(void **state)
{
	(void)state;
	assert_help("options:\n  --one A    " W10 W10 W10 W10 W10 W10 "cccc dddd\n"
		    "             eeee\n  --two\n",
		    "options:\n  --one A    " W10 W10 W10 W10 W10 W10 "cccc\n"
		    "             dddd eeee\n  --two\n");
}

static void an_item_that_is_too_long_goes_on_below_the_others(void **state)
{
	(void)state;
	assert_help("  --one  aaaa\n  --longer-one  " W10 W10 W10 W10 W10 W10 "cccc dddd\n"
		    "         eeee\n",
		    "  --one  aaaa\n  --longer-one  " W10 W10 W10 W10 W10 W10 "cccc\n"
		    "         dddd eeee\n");
}

static void a_usage_is_broken_outside_of_brackets(void **state)
{
	(void)state;
	assert_help(
		"usage: p [--aaaaaaaaaaaaaaaaa A] [--bbbbbbbbbbbbbbbbbbbbb B] [--ccccccccccccccc C [--d D]]\n",
		"usage: p [--aaaaaaaaaaaaaaaaa A] [--bbbbbbbbbbbbbbbbbbbbb B]\n"
		"       [--ccccccccccccccc C [--d D]]\n");
	assert_help("usage: one\n       two\n       three\n",
		    "usage: one\n       two\n       three\n");
	/* an option stays with its value */
	assert_help("usage: p " W10 W10 W10 W10 W10 W10 "aaaaa --key KEY\n",
		    "usage: p " W10 W10 W10 W10 W10 W10 "aaaaa\n       --key KEY\n");
}

static void a_bracket_longer_than_a_line_is_broken(void **state)
{
	(void)state;
	assert_help("usage: p [" W70 "cccc]\n",
		    "usage: p [" W10 W10 W10 W10 W10 W10 "aaaa bbbb\n       cccc]\n");
}

static void a_command_is_broken_by_a_backslash(void **state)
{
	(void)state;
	assert_help("examples:\n  p " W10 W10 W10 W10 W10 "--json | jq '.aaaa[] | bbbb cccc'\n"
		    "  q --short\n",
		    "examples:\n  p " W10 W10 W10 W10 W10 "--json | jq \\\n"
		    "      '.aaaa[] | bbbb cccc'\n  q --short\n");
	/* there is room for the backslash */
	assert_help("examples:\n  p " W70 "cccccc dddd\n",
		    "examples:\n  p " W10 W10 W10 W10 W10 W10 "aaaa bbbb \\\n"
		    "      cccccc dddd\n");
	assert_help("examples:\n  p " W10 W10 W10 W10 W10 W10 "aaaa --option value\n",
		    "examples:\n  p " W10 W10 W10 W10 W10 W10 "aaaa \\\n      --option value\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_paragraph_is_wrapped_wherever_its_lines_ended),
		cmocka_unit_test(the_last_line_may_lack_its_newline),
		cmocka_unit_test(columns_are_characters),
		cmocka_unit_test(an_item_goes_on_below_its_text),
		cmocka_unit_test(an_item_that_is_too_long_goes_on_below_the_others),
		cmocka_unit_test(a_usage_is_broken_outside_of_brackets),
		cmocka_unit_test(a_bracket_longer_than_a_line_is_broken),
		cmocka_unit_test(a_command_is_broken_by_a_backslash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
