/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See text.h. */
#include <string.h>
#include <bwl/text.h>

bool bwl_is_listed(const char *const *list, unsigned n, const char *name)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

static bool begins_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

size_t bwl_text_width(const char *s, const char *end)
{
	size_t n = 0;

	for (; end ? s < end : *s; s++)
		n += begins_character(*s);
	return n;
}

const char *bwl_text_after(const char *s, size_t n)
{
	for (; *s; s++)
		if (begins_character(*s) && !n--)
			break;
	return s;
}

void bwl_text_put(const char *s, size_t first, size_t most, size_t indent, FILE *f)
{
	while (bwl_text_width(s, NULL) > first) {
		const char *end = bwl_text_after(s, first), *cut = end;

		while (cut > s && *cut != ' ')
			cut--;
		if (cut == s)
			cut = end; /* a word that is longer than the line */
		fprintf(f, "%.*s\n%*s", (int)(cut - s), s, (int)indent, "");
		s = *cut == ' ' ? cut + 1 : cut;
		first = most;
	}
	fputs(s, f);
}
