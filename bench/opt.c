// SPDX-License-Identifier: GPL-2.0-or-later
/* See opt.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "bench/opt.h"

bool bench_number(const char *prog, const char *option, const char *text, unsigned min,
		  unsigned max, unsigned *ret)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && v >= min && v <= max) {
		*ret = (unsigned)v;
		return true;
	}
	fprintf(stderr, "%s: %s %s: a number from %u to %u\n", prog, option, text, min, max);
	return false;
}
