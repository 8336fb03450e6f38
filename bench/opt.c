// SPDX-License-Identifier: GPL-2.0-or-later
/* See opt.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

#define LINE 80 /* line length of a list of rows */

static bool has_name(const char *name, const char *word, size_t len, bool whole)
{
	return !strncmp(name, word, len) && (whole ? !name[len] : name[len] == '-');
}

static bool choose_word(const char *word, size_t len, const char *(*name)(unsigned i), unsigned n,
			bool *chosen)
{
	bool found = false;
	int whole;
	unsigned i;

	for (whole = 1; len && whole >= 0 && !found; whole--) {
		for (i = 0; i < n; i++) {
			if (!has_name(name(i), word, len, whole))
				continue;
			found = chosen[i] = true;
		}
	}
	return found;
}

bool bench_choose(const char *prog, const char *words, const char *(*name)(unsigned i), unsigned n,
		  bool *chosen)
{
	const char *word = words;
	size_t len;

	for (;;) {
		len = strcspn(word, ",");
		if (!choose_word(word, len, name, n, chosen)) {
			fprintf(stderr,
				"%s: --only %s: no row is named '%.*s'; --help lists them\n", prog,
				words, (int)len, word);
			return false;
		}
		if (!word[len])
			return true;
		word += len + 1;
	}
}

void bench_list_rows(FILE *f, const char *(*name)(unsigned i), unsigned n)
{
	size_t at = 0;
	unsigned i;

	for (i = 0; i < n; i++) {
		if (!at || at + strlen(name(i)) > LINE)
			at = (size_t)fprintf(f, at ? "\n " : " ");
		at += (size_t)fprintf(f, " %s", name(i));
	}
	fputc('\n', f);
}
