// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/help.h. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "bwl/help.h"
#include "bwl/text.h"

#define ITEM 4 /* a line that is indented by more goes on with what is above it */
#define HANG 4 /* what follows a broken usage or command is indented by so much more */

enum part { TEXT, USAGE, COMMANDS };

/* Which part a line begins, or is in. */
static enum part part_of(const char *line, enum part now)
{
	if (!strncasecmp(line, "usage:", 6))
		return USAGE;
	if (!strncasecmp(line, "examples:", 9))
		return COMMANDS;
	return *line == '\n' ? TEXT : now;
}

static size_t indent_of(const char *line)
{
	return strspn(line, " ");
}

static const char *end_of(const char *line)
{
	return line + strcspn(line, "\n");
}

/* What is said of an item, after two spaces or more; or the line's own text. */
static const char *text_of(const char *line)
{
	const char *s = line + indent_of(line), *own = s;

	for (; s < end_of(line); s++)
		if (s[0] == ' ' && s[1] == ' ')
			return s + strspn(s, " ");
	return own;
}

static size_t column_of(const char *line)
{
	return bwl_text_width(line, text_of(line));
}

/* Where what is said of an item goes on: below its begin, or in the column of the items above. */
static size_t hang_of(const char *line, size_t *above)
{
	size_t column = column_of(line);

	if (column == indent_of(line))
		*above = 0;
	else if (!*above || column < *above)
		*above = column;
	return *above ? *above : column;
}

/* Does a line go on with what is said above it, in a text that begins in one of these columns? */
static bool goes_on(const char *line, size_t column, size_t hang)
{
	size_t indent = indent_of(line);

	return (indent == column || indent == hang) && column_of(line) == indent &&
	       (!indent || indent > ITEM);
}

/* One line for each paragraph, item and command. The caller frees. */
static char *join(const char *text)
{
	char *all = malloc(strlen(text) + 2), *out = all; /* the last line may lack its newline */
	size_t column = 0, hang = 0, above = 0;
	enum part part = TEXT;
	bool open = false;

	if (!all)
		abort();
	for (const char *line = text, *end; *line; line = end + (*end == '\n')) {
		end = end_of(line);
		part = part_of(line, part);
		if (open && part == TEXT && line < end && goes_on(line, column, hang)) {
			line += indent_of(line);
			out[-1] = ' ';
		} else {
			column = column_of(line);
			hang = hang_of(line, &above);
			open = part == TEXT && line < end;
		}
		out = (char *)mempcpy(out, line, (size_t)(end - line));
		*out++ = '\n';
	}
	*out = '\0';
	return all;
}

static const char *word_end(const char *s, const char *end, enum part part)
{
	char quote = '\0';
	int depth = 0;

	for (; s < end && (*s != ' ' || depth > 0 || quote); s++) {
		if (part == USAGE)
			depth += (*s == '[') - (*s == ']');
		else if (part == COMMANDS && (*s == '\'' || *s == '"') && (!quote || quote == *s))
			quote = quote ? '\0' : *s;
	}
	return s;
}

/* What stays on one line: a word, a bracket of a usage, a quotation, an option with its value. */
static const char *unit_end(const char *s, const char *end, enum part part)
{
	const char *stop = word_end(s, end, part);

	if (part != TEXT && !strncmp(s, "--", 2) && stop < end && !strchr("-[|&<>", stop[1]))
		stop = word_end(stop + 1, end, part);
	return stop;
}

static void wrap(const char *s, const char *end, size_t column, size_t hang, enum part part,
		 FILE *f)
{
	size_t most = BWL_HELP_COLUMNS, begin = column;

	if (part == COMMANDS && column + bwl_text_width(s, end) > most)
		most -= 2; /* the backslash */
	while (s < end) {
		const char *stop = unit_end(s, end, part);
		size_t width = bwl_text_width(s, stop);

		if (hang + width > most && part == USAGE) { /* a bracket of several lines */
			stop = unit_end(s, end, TEXT);
			width = bwl_text_width(s, stop);
		}
		if (column > begin && column + 1 + width > most) {
			fprintf(f, "%s\n%*s", part == COMMANDS ? " \\" : "", (int)hang, "");
			column = begin = hang;
		} else if (column > begin) {
			fputc(' ', f);
			column++;
		}
		fwrite(s, 1, (size_t)(stop - s), f);
		column += width;
		s = stop + strspn(stop, " ");
	}
	fputc('\n', f);
}

void bwl_help(const char *text, FILE *f)
{
	char *all = join(text);
	enum part part = TEXT;
	size_t above = 0;

	for (const char *line = all, *end; *line; line = end + 1) {
		const char *said = text_of(line);
		size_t indent = indent_of(line), column = column_of(line);
		size_t hang = hang_of(line, &above);
		bool whole = column == indent;

		end = end_of(line);
		part = part_of(line, part);
		if (part != TEXT && whole)
			hang = indent + HANG + (strncasecmp(line, "usage:", 6) ? 0 : 3);
		fwrite(line, 1, (size_t)(said - line), f);
		wrap(said, end, column, hang, whole ? part : TEXT, f);
	}
	free(all);
}
