// SPDX-License-Identifier: GPL-2.0-or-later
/* Policies that are too large: too deep, too long, or too many of anything. */
#include <stdlib.h>
#include "policy_errors.h"

/* text, then unit repeated until the whole has len bytes */
static char *repeat(const char *text, const char *unit, size_t len)
{
	size_t n = strlen(text), u = strlen(unit);
	char *s = malloc(len + 1);

	memcpy(s, text, n);
	for (; n + u <= len; n += u)
		memcpy(s + n, unit, u);
	s[n] = '\0';
	return s;
}

static void ten_megabytes_of_nesting_fail_at_once(void **state)
{
	static const char *const start[] = { "", TOP "peers: ", TOP "zones: ", TOP "x: ",
					     TOP "peers:\n  - accept: none\n    x: " };
	static const char *const units[] = { "[",     "{",     "{a: ",  "- ",  "? ",
					     "[{a: ", "!!x [", "a:\n ", "&a [" };

	(void)state;
	for (size_t i = 0; i < sizeof(start) / sizeof(*start); i++) {
		for (size_t j = 0; j < sizeof(units) / sizeof(*units); j++) {
			char *s = repeat(start[i], units[j], 10 << 20);
			struct bwl_policy *p = NULL;
			struct bwl_err e = { 0 };

			assert_int_not_equal(bwl_policy_parse("f", s, strlen(s), 0, 0, &p, &e), 0);
			assert_null(p);
			assert_true(*e.text);
			free(s);
		}
	}
}

static void huge_values_fail_with_a_short_message(void **state)
{
	static const char *const start[] = { "version: ", "version: 1\nnode: ", TOP "zones: { ",
					     GRANT("rate: 1mbit") "    zone: ", "" };

	(void)state;
	for (size_t i = 0; i < sizeof(start) / sizeof(*start); i++) {
		char *s = repeat(start[i], "x", 4 << 20);
		struct bwl_policy *p = NULL;
		struct bwl_err e = { 0 };

		assert_int_not_equal(bwl_policy_parse("f", s, strlen(s), 0, 0, &p, &e), 0);
		assert_true(strlen(e.text) < sizeof(e.text) - 1);
		free(s);
	}
}

static void too_many_of_anything_is_refused(void **state)
{
	static const struct {
		const char *before, *item, *after, *fragment;
		unsigned n;
	} many[] = {
		{ TOP "zones:\n", "  z%u: { rate: 1mbit }\n", "", "more than 255 zones", 256 },
		{ HEAD "host_ports:\n", "  - { dev: h%1$u, sources: [10.0.%1$u.0/24] }\n", "",
		  "more than 64 host ports", 64 },
		{ HEAD "host_ports: [{ dev: h0, sources: [", "10.0.%u.0/24, ", "] }]\n",
		  "at most 32 sources", 33 },
		{ TOP "peers:\n",
		  "  - { name: p%1$u, addresses: [\"fd00::%1$u\"], path: clear, via: \"fd01::%1$u\" }\n",
		  "", "more than 1023 different next hops", 1024 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++) {
		for (unsigned extra = 0; extra < 2; extra++) {
			unsigned n = many[i].n - 1 + extra;
			struct bwl_policy *p = NULL;
			struct bwl_err e = { 0 };
			char *s;
			size_t len;
			FILE *f = open_memstream(&s, &len);
			int r;

			fputs(many[i].before, f);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			for (unsigned k = 0; k < n; k++)
				fprintf(f, many[i].item, k);
#pragma GCC diagnostic pop
			fputs(many[i].after, f);
			fclose(f);
			r = bwl_policy_parse("f", s, len, 0, 0, &p, &e);
			if (!extra && r)
				fail_msg("row %zu: %u were refused: %s", i, n, e.text);
			if (extra && !r)
				fail_msg("row %zu: %u were accepted", i, n);
			if (extra && !strstr(e.text, many[i].fragment))
				fail_msg("row %zu: %s", i, e.text);
			bwl_policy_free(p);
			free(s);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_megabytes_of_nesting_fail_at_once),
		cmocka_unit_test(huge_values_fail_with_a_short_message),
		cmocka_unit_test(too_many_of_anything_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
