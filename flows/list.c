// SPDX-License-Identifier: GPL-2.0-or-later
/* See list.h. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "list.h"

#define NAME_FORMAT "%016" PRIu64 ".jsonl"

const char *flows_store_name(uint64_t number, char buf[static FLOWS_NAME])
{
	snprintf(buf, FLOWS_NAME, NAME_FORMAT, number);
	return buf;
}

static bool number_of(const char *name, uint64_t *ret)
{
	char again[FLOWS_NAME];

	return sscanf(name, "%16" SCNu64, ret) == 1 && !strcmp(name, flows_store_name(*ret, again));
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int flows_store_list(const char *path, uint64_t **ret, size_t *ret_n, struct bwl_err *e)
{
	DIR *d = opendir(path);
	size_t n = 0, room = 0;
	uint64_t *all = NULL, number;
	struct dirent *f;

	if (!d)
		return bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	while ((f = readdir(d))) {
		if (!number_of(f->d_name, &number))
			continue;
		if (n == room)
			all = bwl_must(reallocarray(all, room = 2 * room + 64, sizeof(*all)));
		all[n++] = number;
	}
	closedir(d);
	if (n)
		qsort(all, n, sizeof(*all), by_number);
	*ret = all;
	*ret_n = n;
	return 0;
}
