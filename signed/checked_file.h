/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small file of the state directory: a line "# bwlimit WORD 1 SHA256", and JSON, of which that is
 * the digest. A damaged one is found out, and it is replaced as a whole.
 */
#ifndef BWL_SIGNED_CHECKED_FILE_H
#define BWL_SIGNED_CHECKED_FILE_H

#include <jansson.h>
#include <stddef.h>
#include <bwl/err.h>

#define BWL_CHECKED_HEAD 128 /* bytes of the first line at most, with its end and a NUL */

/* NULL: it is not what was written. */
json_t *bwl_checked_parse(const char *word, const char *bytes, size_t len);
/* Durable when 0 is returned; it is what it was or this, killed at any point. */
int bwl_checked_keep(const char *word, const char *dir, const char *name, const json_t *o,
		     struct bwl_err *e);

#endif
