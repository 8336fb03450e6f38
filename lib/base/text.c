// SPDX-License-Identifier: GPL-2.0-or-later
/* See text.h. */
#include <stdint.h>
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

/* Length of the UTF-8 sequence at s, 0 if it is invalid (RFC 3629). NUL ends every sequence. */
static size_t utf8_len(const unsigned char *s)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t i, n;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (s[0] == 0xe0)
		lo = 0xa0;
	else if (s[0] == 0xed)
		hi = 0x9f;
	else if (s[0] == 0xf0)
		lo = 0x90;
	else if (s[0] == 0xf4)
		hi = 0x8f;
	for (i = 1; i < n; i++) {
		if (s[i] < lo || s[i] > hi)
			return 0;
		lo = 0x80;
		hi = 0xbf;
	}
	return n;
}

/* The code point of a valid sequence of n bytes. */
static uint32_t code_of(const unsigned char *s, size_t n)
{
	uint32_t c = n > 1 ? s[0] & (0x7fU >> n) : s[0];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

/*
 * Controls (U+009B begins an escape sequence), and marks that turn, break or hide text: a name
 * could look like another one.
 */
static bool misleads(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} bad[] = { { 0, 0x1f },        { 0x7f, 0x9f },      { 0xad, 0xad },     { 0x61c, 0x61c },
		    { 0x180e, 0x180e }, { 0x200b, 0x200f },  { 0x2028, 0x202e }, { 0x2060, 0x206f },
		    { 0xfeff, 0xfeff }, { 0xe0001, 0xe007f } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (c >= bad[i].first && c <= bad[i].last)
			return true;
	return false;
}

void bwl_text_plain(char *text, enum bwl_plain how)
{
	unsigned char *s = (unsigned char *)text;

	while (*s) {
		size_t n = utf8_len(s);

		if (n && !(n > 1 && how == BWL_ASCII) &&
		    (!misleads(code_of(s, n)) || (*s == '\n' && how == BWL_LINES))) {
			s += n;
			continue;
		}
		for (n = n ? n : 1; n; n--)
			*s++ = '?';
	}
}

static size_t lines_of(const char *s)
{
	size_t n = 0;

	while ((s = strchr(s, '\n'))) {
		n++;
		s++;
	}
	return n;
}

void bwl_text_said(char *text, const char *fmt)
{
	size_t len = strlen(text);
	bool ends = len && text[len - 1] == '\n' && *fmt && fmt[strlen(fmt) - 1] == '\n';

	if (lines_of(text) <= lines_of(fmt)) {
		bwl_text_plain(text, BWL_LINES);
		return;
	}
	bwl_text_plain(text, BWL_LINE);
	if (ends)
		text[len - 1] = '\n';
}

char *bwl_text_ascii(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
	bwl_text_plain(to, BWL_ASCII);
	return to;
}
