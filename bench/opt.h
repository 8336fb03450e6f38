/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that are numbers, and the choice of rows. */
#ifndef BWL_BENCH_OPT_H
#define BWL_BENCH_OPT_H

#include <stdbool.h>
#include <stdio.h>

/* A whole number from min to max and nothing behind it; else says so on stderr and is false. */
bool bench_number(const char *prog, const char *option, const char *text, unsigned min,
		  unsigned max, unsigned *ret);

/*
 * --only: words with commas between them. A word is the name of a row, or else the beginning of
 * names up to a '-'. Sets chosen[i] of those; false, and said on stderr, where a word fits none.
 */
bool bench_choose(const char *prog, const char *words, const char *(*name)(unsigned i), unsigned n,
		  bool *chosen);
/* The names of all rows, in lines for --help. */
void bench_list_rows(FILE *f, const char *(*name)(unsigned i), unsigned n);

#endif
