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

/*
 * Foreign text, made fit for a terminal and for JSON, in place. Each byte that is no valid UTF-8
 * (RFC 3629) becomes '?', and so does each byte of a control (C0, DEL, C1) and of what turns,
 * breaks or hides text (U+00AD, 061C, 180E, 200B to 200F, 2028 to 202E, 2060 to 206F, FEFF, E0001
 * to E007F). Whoever prints what another program, tray, person or device said prints it through
 * this, or through what does it by itself: bwl_say, bwl_cell, bwl_put (show.h), messages (err.h).
 */
enum bwl_plain {
	BWL_LINE,  /* one line: a newline could imitate a line of ours */
	BWL_LINES, /* newlines stay */
	BWL_ASCII, /* one line of ASCII */
};
void bwl_text_plain(char *text, enum bwl_plain how);
/* The same for what printf made of fmt: newlines of fmt stay, if what it formats has none. */
void bwl_text_said(char *text, const char *fmt);
/* A copy, cut to size; BWL_ASCII. Returns `to`. */
char *bwl_text_ascii(char *to, size_t size, const char *from);

#endif
