/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One row for every way in which a policy file can be wrong: its text, and the place that the error
 * names.
 */
#ifndef BWL_TEST_POLICY_ERRORS_H
#define BWL_TEST_POLICY_ERRORS_H

#include "policy_text.h"

/* A peer, from line 7 on, that can be continued with more keys at column 5. */
#define TAIL                                                                                       \
	"peers:\n  - name: a\n    addresses: [192.0.2.0/24]\n    path: clear\n    via: 10.9.9.9\n"
#define PEER TOP TAIL
#define GRANT(x) PEER "    grant: { " x " }\n"

/* Is the error also in the list of all errors? */
static inline void is_among_all(const char *yaml, const char *fragment)
{
	static struct bwl_errors all;
	struct bwl_policy *p = NULL;
	bool found = false;

	assert_true(bwl_policy_parse_all("f.yaml", yaml, strlen(yaml), NOW_BOOT, NOW_WALL, &p,
					 &all) < 0);
	assert_null(p);
	for (size_t i = 0; i < all.n; i++)
		found |= strstr(all.list[i].text, fragment) != NULL;
	if (!found)
		fail_msg("no '%s' among %zu errors, the first: %s", fragment, all.n,
			 all.n ? all.list[0].text : "none");
}

struct row {
	const char *yaml;
	unsigned line, column; /* column 0: any */
	const char *fragment;
};

static inline void refuses(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *w = &rows[i];
		struct bwl_policy *p = NULL;
		struct bwl_err e = { 0 };
		int r = bwl_policy_parse("f.yaml", w->yaml, strlen(w->yaml), NOW_BOOT, NOW_WALL, &p,
					 &e);

		if (!r)
			fail_msg("row %zu was accepted:\n%s", i, w->yaml);
		assert_null(p);
		assert_int_equal(r, -e.code);
		assert_string_equal(e.file, "f.yaml");
		if (!strstr(e.text, w->fragment))
			fail_msg("row %zu: no '%s' in: %s", i, w->fragment, e.text);
		if (e.line != w->line || (w->column && e.column != w->column))
			fail_msg("row %zu: at %u:%u, not %u:%u: %s", i, e.line, e.column, w->line,
				 w->column, e.text);
		/* it is also refused without a struct for the error */
		assert_int_equal(bwl_policy_parse("f.yaml", w->yaml, strlen(w->yaml), NOW_BOOT,
						  NOW_WALL, &p, NULL),
				 r);
		is_among_all(w->yaml, w->fragment);
	}
}
#define REFUSES(rows) refuses(rows, sizeof(rows) / sizeof(*(rows)))

#endif
