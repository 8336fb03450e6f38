/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Policies from text and back, at a fixed time. */
#ifndef BWL_TEST_POLICY_TEXT_H
#define BWL_TEST_POLICY_TEXT_H

#include "test.h"
#include <stdio.h>
#include <string.h>
#include "bwl/policy.h"

#define NOW_BOOT 1000000000000ULL
#define NOW_WALL 1800000000LL /* 2027-01-15T08:00:00Z */

/* Lines 1 to 5. Rows of policy_errors.h continue from line 6, or replace some of these. */
#define HEAD "version: 1\nnode: t\nuplinks: [p0]\nheartbeat: 60s\n"
#define PORT "host_ports: [{ dev: h0, sources: [10.0.7.0/24] }]\n"
#define TOP HEAD PORT

static inline struct bwl_policy *read_text(const char *yaml)
{
	struct bwl_policy *p = NULL;
	struct bwl_err e = { 0 };

	if (bwl_policy_parse("f.yaml", yaml, strlen(yaml), NOW_BOOT, NOW_WALL, &p, &e))
		fail_msg("%s:%u:%u: %s (%s)\n%s", e.file, e.line, e.column, e.text, e.hint, yaml);
	return p;
}

static inline char *text_of(const struct bwl_policy *p)
{
	char *s = NULL;
	size_t n;
	FILE *f = open_memstream(&s, &n);

	assert_int_equal(bwl_policy_dump(p, NOW_BOOT, NOW_WALL, f), 0);
	fclose(f);
	return s;
}

#endif
