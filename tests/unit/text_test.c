// SPDX-License-Identifier: GPL-2.0-or-later
/* Foreign text on a terminal: no control, no imitated line, and JSON takes it. */
#include <stdlib.h>
#include <string.h>
#include "bwl/err.h"
#include "bwl/show.h"
#include "bwl/text.h"
#include "test.h"

static void assert_plain(const char *from, enum bwl_plain how, const char *want)
{
	char text[64];

	snprintf(text, sizeof(text), "%s", from);
	bwl_text_plain(text, how);
	assert_string_equal(text, want);
}

static void controls_go_and_letters_stay(void **state)
{
	(void)state;
	assert_plain("größe, 日本, ☃, 𝄞", BWL_LINE, "größe, 日本, ☃, 𝄞");
	assert_plain("a\033[2Jb\rc\td\x7f", BWL_LINE, "a?[2Jb?c?d?");
	assert_plain("a\nb", BWL_LINE, "a?b");
	assert_plain("a\nb", BWL_LINES, "a\nb");
	assert_plain("a\xc2\x9b"
		     "2Jb",
		     BWL_LINE, "a??2Jb"); /* CSI as one character */
	assert_plain("a\x9b"
		     "2Jb",
		     BWL_LINE, "a?2Jb"); /* and as one byte */
	assert_plain("a\u202eb\u2066c\u2028d\u200be\ufeff", BWL_LINES, "a???b???c???d???e???");
	assert_plain("a\u00adb\u061cc\u180ed\U000e0041e", BWL_LINE, "a??b??c???d????e");
	assert_plain("\xc0\x8a \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82", BWL_LINE, "?? ??? ???? ??");
	assert_plain("größe\n", BWL_ASCII, "gr????e?");
}

static void whatever_it_is_a_terminal_and_json_take_it(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (unsigned n = 0; n < 200000; n++) {
		static const char *const hard[] = { "\xc2\x9b", "\xe2\x80\xae", "\n", "\033",
						    "\xed\xa0" };
		char text[12];
		json_t *o;

		for (size_t i = 0; i < sizeof(text) - 1; i++)
			text[i] = (char)(rand_r(&seed) % 255 + 1);
		text[sizeof(text) - 1] = '\0';
		if (n % 2)
			memcpy(text + n % 8, hard[n / 2 % 5], strlen(hard[n / 2 % 5]));
		bwl_text_plain(text, BWL_LINE);
		o = json_string(text);
		assert_non_null(o);
		json_decref(o);
		for (const char *s = text; *s; s++) {
			assert_true((unsigned char)*s >= ' ' && *s != 0x7f);
			assert_false((unsigned char)s[0] == 0xc2 && (unsigned char)s[1] < 0xa0);
		}
		assert_int_equal(strlen(text), sizeof(text) - 1);
	}
}

/* stdout of fn, as text. */
static char *printed(void (*fn)(void))
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len), *was = stdout;

	stdout = f;
	fn();
	stdout = was;
	fclose(f);
	return text;
}

#define EVIL                                                                                       \
	"x\033[2J\xc2\x9b"                                                                         \
	"1m\r\nBAD  all is well\n"
#define PLAIN "x?[2J??1m??BAD  all is well?"

static void says(void)
{
	bwl_say(2, "name %s\nok", EVIL);
	bwl_say(2, "name %s\nok", "y");
}

static void puts_it(void)
{
	bwl_put(stdout, "name %s\n", EVIL);
	bwl_put(stdout, "%s, ", EVIL);
	bwl_put(stdout, "a %s\nb\n", "y");
}

static void a_table(void)
{
	static const char *const heads[] = { "NAME", NULL };
	struct bwl_table *t = bwl_table_new(heads);

	bwl_cell(t, "%s", EVIL);
	bwl_table_print(t, stdout);
	bwl_table_free(t);
}

static void assert_printed(void (*fn)(void), const char *want)
{
	char *text = printed(fn);

	assert_string_equal(text, want);
	free(text);
}

static void what_prints_makes_no_line_of_foreign_text(void **state)
{
	(void)state;
	assert_printed(says, "name " PLAIN "?ok\nname y\nok\n");
	assert_printed(puts_it, "name " PLAIN "\n" PLAIN ", a y\nb\n");
	assert_printed(a_table, "NAME\n" PLAIN "\n");
}

static void a_copy_is_cut_to_size(void **state)
{
	char text[5];

	(void)state;
	assert_string_equal(bwl_text_ascii(text, sizeof(text), "a\nö5678"), "a???");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(controls_go_and_letters_stay),
		cmocka_unit_test(whatever_it_is_a_terminal_and_json_take_it),
		cmocka_unit_test(what_prints_makes_no_line_of_foreign_text),
		cmocka_unit_test(a_copy_is_cut_to_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
