/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What verify found, a line a check. */
#ifndef BWL_LOADER_CHECK_H
#define BWL_LOADER_CHECK_H

#include <stdbool.h>
#include <jansson.h>

enum bwl_outcome { BWL_OK, BWL_WARN, BWL_FAIL };

struct bwl_report {
	json_t *checks; /* all of them */
	bool json;      /* print nothing: `checks` is what is printed */
	bool quiet;     /* say only what is not ok */
	unsigned failed, warned;
};

/*
 * One check: its id (docs/json.md: it stays what it is), the next step when it is not ok, and what
 * was found. A check may be made for each of several things, and may be left out where there is
 * none.
 */
void bwl_check(struct bwl_report *r, const char *id, enum bwl_outcome o, const char *todo,
	       const char *what, ...) __attribute__((format(printf, 5, 6)));

#endif
