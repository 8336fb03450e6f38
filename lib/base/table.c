// SPDX-License-Identifier: GPL-2.0-or-later
/* Aligned tables for people: see bwl/show.h. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/show.h"

#define MAX_COLUMNS 16

struct bwl_table {
	const char *const *heads;
	size_t columns, cells, room;
	size_t width[MAX_COLUMNS];
	char **cell;
};

static void *no_memory(void *p)
{
	if (!p) {
		fputs("out of memory\n", stderr);
		abort();
	}
	return p;
}

static const char *head_text(const char *head)
{
	return *head == BWL_RIGHT ? head + 1 : head;
}

struct bwl_table *bwl_table_new(const char *const *heads)
{
	struct bwl_table *t = no_memory(calloc(1, sizeof(*t)));

	t->heads = heads;
	for (; heads[t->columns]; t->columns++)
		t->width[t->columns] = strlen(head_text(heads[t->columns]));
	return t;
}

void bwl_cell(struct bwl_table *t, const char *fmt, ...)
{
	size_t col = t->cells % t->columns, len;
	va_list ap;

	if (t->cells == t->room) {
		t->room = t->room ? 2 * t->room : 64;
		t->cell = no_memory(realloc(t->cell, t->room * sizeof(*t->cell)));
	}
	va_start(ap, fmt);
	if (vasprintf(&t->cell[t->cells], fmt, ap) < 0)
		no_memory(NULL);
	va_end(ap);
	len = strlen(t->cell[t->cells++]);
	if (len > t->width[col])
		t->width[col] = len;
}

static void print_row(const struct bwl_table *t, char *const *cell, FILE *f)
{
	for (size_t i = 0; i < t->columns; i++) {
		const char *text = cell ? cell[i] : head_text(t->heads[i]);
		bool last = i + 1 == t->columns;

		if (*t->heads[i] == BWL_RIGHT)
			fprintf(f, "%*s%s", (int)t->width[i], text, last ? "" : "  ");
		else if (last)
			fputs(text, f);
		else
			fprintf(f, "%-*s  ", (int)t->width[i], text);
	}
	fputc('\n', f);
}

void bwl_table_print(struct bwl_table *t, FILE *f)
{
	print_row(t, NULL, f);
	for (size_t i = 0; i + t->columns <= t->cells; i += t->columns)
		print_row(t, t->cell + i, f);
}

void bwl_table_free(struct bwl_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->cells; i++)
		free(t->cell[i]);
	free(t->cell);
	free(t);
}
