/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that are numbers. */
#ifndef BWL_BENCH_OPT_H
#define BWL_BENCH_OPT_H

#include <stdbool.h>

/* A whole number from min to max and nothing behind it; else says so on stderr and is false. */
bool bench_number(const char *prog, const char *option, const char *text, unsigned min,
		  unsigned max, unsigned *ret);

#endif
