/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words, and text in lines. */
#ifndef BWL_TEXT_H
#define BWL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Is name one of the n words? */
bool bwl_is_listed(const char *const *list, unsigned n, const char *name);

/* In characters of UTF-8; end NULL: of the whole string. */
size_t bwl_text_width(const char *s, const char *end);
/* The position after n characters. */
const char *bwl_text_after(const char *s, size_t n);
/*
 * Lines broken between words: of `first` characters, then of `most` after `indent` blanks. Without
 * a newline at the end.
 */
void bwl_text_put(const char *s, size_t first, size_t most, size_t indent, FILE *f);

#endif
