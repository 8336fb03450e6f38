/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of --help, for a terminal of 80 columns. */
#ifndef BWL_HELP_H
#define BWL_HELP_H

#include <stdio.h>

#define BWL_HELP_COLUMNS 80

/*
 * Prints a help text, wrapped. Lines that begin a paragraph, an item or a command begin a line of
 * the output as well; where else a line of the text ends does not matter:
 *
 *   - a paragraph is not indented. It ends at an empty line, or at an indented one;
 *   - an item is indented by 2 to 4, two spaces or more are before what is said of it, and its
 *     further lines are below that;
 *   - after "usage:" a line is broken outside of brackets, and after "examples:" with a backslash,
 *     outside of quotes; both end at an empty line.
 */
void bwl_help(const char *text, FILE *f);

#endif
