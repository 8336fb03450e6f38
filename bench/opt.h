/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numeric options, and the selection of rows. */
#ifndef BWL_BENCH_OPT_H
#define BWL_BENCH_OPT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * A whole number from min to max, with nothing after it; otherwise prints an error and returns
 * false.
 */
bool bench_number(const char *prog, const char *option, const char *text, unsigned min,
		  unsigned max, unsigned *ret);

/*
 * --only: words separated by commas. A word is the name of a row, or the beginning of names up to a
 * '-'. Sets chosen[i] of those; if a word matches none, prints an error and returns false.
 */
bool bench_choose(const char *prog, const char *words, const char *(*name)(unsigned i), unsigned n,
		  bool *chosen);
/* The names of all rows, wrapped for --help. */
void bench_list_rows(FILE *f, const char *(*name)(unsigned i), unsigned n);

#endif
