/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The errors of one policy: the first, or all of them without those that only follow from others.
 * Library only.
 */
#ifndef BWL_POLICY_REPORT_H
#define BWL_POLICY_REPORT_H

#include "bwl/policy.h"
#include "bwl/yaml_walk.h"

/*
 * A place of which the value is not known, because an error was told there, or a misspelt key may
 * be meant. Paths are "peers/3/grant/rate/"; "zones//" is the names of the zones.
 */
struct bwl_doubt {
	char *path;
	bool twice; /* the key is given twice: the first value is checked like any other */
};

struct bwl_report {
	struct bwl_err e;       /* of the latest failure, which may never be told */
	struct bwl_errors *all; /* collects all errors; NULL: the first one ends the reading */
	int r;                  /* the error that ended the reading; 0: go on */
	struct bwl_err last;    /* that error */
	const char *text;       /* where places are looked up; NULL: there is no text */
	size_t len;
	struct bwl_doubt *doubts; /* only with `all` */
	size_t ndoubts;
};

#define BWL_PATH_BYTES 512
void bwl_path_of(const struct bwl_step *step, unsigned n, char buf[static BWL_PATH_BYTES]);

/* Tells error r (0: none) in t->e about the value at w, and looks its position up. */
void bwl_tell(struct bwl_report *t, const struct bwl_place *w, int r);
/* The same for an error that has its position. */
void bwl_tell_path(struct bwl_report *t, const char *path, bool twice, int r);
void bwl_doubt(struct bwl_report *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Is nothing in doubt at the path, above it or below it? An error that depends on a value is told
 * only then. A step "*" is any.
 */
bool bwl_sure(const struct bwl_report *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same for a key of the mapping at w. */
bool bwl_sure_of(const struct bwl_report *t, const struct bwl_place *w, const char *key);
void bwl_report_end(struct bwl_report *t); /* sorts all errors by their position */

#endif
