/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small file of the state directory: a line "# bwlimit WORD 1 SHA256", and JSON with that digest.
 * Damage is detected, and the file is replaced as a whole.
 */
#ifndef BWL_SIGNED_CHECKED_FILE_H
#define BWL_SIGNED_CHECKED_FILE_H

#include <jansson.h>
#include <stddef.h>
#include <bwl/err.h>

#define BWL_CHECKED_HEAD 128 /* maximum bytes of the first line, with its end and a NUL */

/* NULL: not what was written. */
json_t *bwl_checked_parse(const char *word, const char *bytes, size_t len);
/*
 * Durable when 0 is returned; after a kill at any point it is the old content or this one. -EFBIG:
 * more than `most` bytes, which the reader would refuse; the old content stays.
 */
int bwl_checked_keep(const char *word, const char *dir, const char *name, const json_t *o,
		     size_t most, struct bwl_err *e);

#endif
