/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results of verify, one line per check. */
#ifndef BWL_LOADER_CHECK_H
#define BWL_LOADER_CHECK_H

#include <stdbool.h>
#include <jansson.h>

enum bwl_outcome { BWL_OK, BWL_WARN, BWL_FAIL };

struct bwl_report {
	json_t *checks; /* all of them */
	bool json;      /* print nothing: `checks` will be printed */
	bool quiet;     /* print only what is not ok */
	unsigned failed, warned;
};

/*
 * One check: its id (docs/json.md: it never changes), the next step if it is not ok, and the
 * result. A check may be repeated for several objects, and omitted if there is none.
 */
void bwl_check(struct bwl_report *r, const char *id, enum bwl_outcome o, const char *todo,
	       const char *what, ...) __attribute__((format(printf, 5, 6)));

#endif
