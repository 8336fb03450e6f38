// SPDX-License-Identifier: GPL-2.0-or-later
/* Aligned tables for people: see bwl/show.h. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "bwl/show.h"
#include "bwl/text.h"

#define MAX_COLUMNS 16
#define GOOD_NAME 15 /* characters that a name keeps before another column is left out */
#define NAME_MIN 7   /* and after that; one of them the … */
#define TEXT_MIN 24  /* a narrower last column begins on a line of its own */
#define INDENT 4

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

/* BWL_RIGHT, BWL_NAMES, or a letter. */
static char kind_of(const char *head)
{
	return head[*head == BWL_SPARE];
}

static const char *head_text(const char *head)
{
	head += *head == BWL_SPARE;
	return head + (*head == BWL_RIGHT || *head == BWL_NAMES);
}

static size_t width_of(const char *s)
{
	return bwl_text_width(s, NULL);
}

size_t bwl_columns_of(FILE *f)
{
	const char *set = getenv("COLUMNS");
	struct winsize w = { 0 };
	long n = set ? strtol(set, NULL, 10) : 0;

	if (!isatty(fileno(f)))
		return SIZE_MAX;
	if (n > 0)
		return (size_t)n;
	return !ioctl(fileno(f), TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : SIZE_MAX;
}

/* With the controls of others' text made harmless; the caller frees it. */
static char *said(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		no_memory(NULL);
	bwl_text_said(text, fmt);
	return text;
}

void bwl_say(size_t hang, const char *fmt, ...)
{
	size_t most = bwl_columns_of(stdout);
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = said(fmt, ap);
	va_end(ap);
	if (most < 2 * hang)
		most = 2 * hang;
	for (char *line = text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		bwl_text_put(line, most, most - hang, hang, stdout);
		putchar('\n');
	}
	free(text);
}

void bwl_put(FILE *f, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = said(fmt, ap);
	va_end(ap);
	fputs(text, f);
	free(text);
}

struct bwl_table *bwl_table_new(const char *const *heads)
{
	struct bwl_table *t = no_memory(calloc(1, sizeof(*t)));

	t->heads = heads;
	for (; heads[t->columns]; t->columns++)
		t->width[t->columns] = width_of(head_text(heads[t->columns]));
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
	bwl_text_plain(t->cell[t->cells], BWL_LINE);
	len = width_of(t->cell[t->cells++]);
	if (len > t->width[col])
		t->width[col] = len;
}

static void pad(size_t n, FILE *f)
{
	fprintf(f, "%*s", (int)n, "");
}

/* The middle is left out: names with the same beginning often differ at the end. */
static void put_name(const char *s, size_t most, FILE *f)
{
	size_t n = width_of(s), head = most / 2, tail = most - head - 1;

	if (n <= most)
		fputs(s, f);
	else
		fprintf(f, "%.*s…%s", (int)(bwl_text_after(s, head) - s), s,
			bwl_text_after(s, n - tail));
}

#define LEFT_OUT SIZE_MAX

static size_t width_before(const size_t *width, size_t columns)
{
	size_t n = 0;

	for (size_t i = 0; i < columns; i++)
		if (width[i] != LEFT_OUT)
			n += width[i] + 2;
	return n;
}

static bool is_text(const struct bwl_table *t, size_t i)
{
	return i + 1 == t->columns && kind_of(t->heads[i]) != BWL_RIGHT &&
	       kind_of(t->heads[i]) != BWL_NAMES;
}

/* The width of a line if its last column is wrapped. */
static size_t least(const struct bwl_table *t, const size_t *width)
{
	size_t last = t->columns - 1, n = width[last];

	if (n == LEFT_OUT)
		return width_before(width, last) - 2;
	return width_before(width, last) + (is_text(t, last) && n > TEXT_MIN ? TEXT_MIN : n);
}

/* Shortens the widest name that is longer than that. */
static bool shorten(const struct bwl_table *t, size_t *width, size_t most)
{
	size_t widest = t->columns;

	for (size_t i = 0; i < t->columns; i++)
		if (kind_of(t->heads[i]) == BWL_NAMES && width[i] != LEFT_OUT && width[i] > most &&
		    width[i] > width_of(head_text(t->heads[i])) &&
		    (widest == t->columns || width[i] > width[widest]))
			widest = i;
	if (widest == t->columns)
		return false;
	width[widest]--;
	return true;
}

/* Leaves out the rightmost column that may be; names get their room back. */
static bool leave_out(const struct bwl_table *t, size_t *width)
{
	for (size_t i = t->columns; i--;) {
		if (*t->heads[i] == BWL_SPARE && width[i] != LEFT_OUT) {
			memcpy(width, t->width, i * sizeof(*width));
			width[i] = LEFT_OUT;
			return true;
		}
	}
	return false;
}

static void fit(const struct bwl_table *t, size_t most, size_t *width)
{
	memcpy(width, t->width, sizeof(t->width));
	if (width_before(width, t->columns) - 2 <= most)
		return;
	while (least(t, width) > most)
		if (!shorten(t, width, GOOD_NAME) && !leave_out(t, width) &&
		    !shorten(t, width, NAME_MIN))
			return;
}

/* The last column, a text: beside the others, or below them if there is no room. */
static void put_last(const char *text, size_t at, size_t most, FILE *f)
{
	if (at + width_of(text) > most && at + TEXT_MIN > most) {
		fputc('\n', f);
		pad(INDENT, f);
		bwl_text_put(text, most - INDENT, most - INDENT, INDENT, f);
	} else {
		pad(at ? 2 : 0, f);
		bwl_text_put(text, most - at, most - at, at, f);
	}
}

static void print_row(const struct bwl_table *t, const size_t *width, size_t most,
		      char *const *cell, FILE *f)
{
	size_t gap = 0; /* pending gap before the next visible column */

	for (size_t i = 0; i < t->columns; i++) {
		const char *text = cell ? cell[i] : head_text(t->heads[i]);
		size_t n = width_of(text);

		if (width[i] == LEFT_OUT)
			continue;
		if (is_text(t, i)) {
			pad(gap > 2 ? gap - 2 : 0, f);
			put_last(text, width_before(width, i), most, f);
			break;
		}
		if (kind_of(t->heads[i]) == BWL_RIGHT)
			gap += n < width[i] ? width[i] - n : 0;
		pad(gap, f);
		put_name(text, width[i] < n ? width[i] : n, f);
		gap = 2;
		if (kind_of(t->heads[i]) != BWL_RIGHT)
			gap += n < width[i] ? width[i] - n : 0;
	}
	fputc('\n', f);
}

void bwl_table_print_in(struct bwl_table *t, FILE *f, size_t most)
{
	size_t width[MAX_COLUMNS];

	if (most < 2 * INDENT)
		most = 2 * INDENT;
	fit(t, most, width);
	print_row(t, width, most, NULL, f);
	for (size_t i = 0; i + t->columns <= t->cells; i += t->columns)
		print_row(t, width, most, t->cell + i, f);
}

void bwl_table_print(struct bwl_table *t, FILE *f)
{
	bwl_table_print_in(t, f, bwl_columns_of(f));
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
