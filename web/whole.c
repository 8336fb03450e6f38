// SPDX-License-Identifier: GPL-2.0-or-later
/* See whole.h. */
#include "whole.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The position after the string that begins at i. len: it has no end. */
static size_t behind_string(const char *text, size_t i, size_t len)
{
	for (i++; i < len && text[i] != '"'; i++)
		i += text[i] == '\\';
	return i < len ? i + 1 : len;
}

bool whole_object(const char *text, size_t len)
{
	size_t depth = 0, i = 0;

	while (len && is_space(text[len - 1]))
		len--;
	while (i < len && is_space(text[i]))
		i++;
	if (i == len || text[i] != '{' || text[len - 1] != '}')
		return false;
	while (i < len) {
		if (text[i] == '"') {
			i = behind_string(text, i, len);
			continue;
		}
		if (text[i] == '{' || text[i] == '[')
			depth++;
		else if ((text[i] == '}' || text[i] == ']') && --depth == 0)
			return i == len - 1;
		i++;
	}
	return false;
}
