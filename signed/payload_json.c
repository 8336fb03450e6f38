/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See payload_json.h. */
#include <stdlib.h>
#include <string.h>
#include <bwl/cleanup.h>
#include <bwl/err.h>
#include "signed/payload_json.h"

static const char key[] = "\"text\"", mark[] = "bwlimit-text-is-here";

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
		at++;
	return at;
}

/* The first byte of what may be its string; NULL: there is none. */
static const char *find(const char *bytes, const char *end)
{
	const char *at = memmem(bytes, (size_t)(end - bytes), key, sizeof(key) - 1);

	at = at ? skip_blanks(at + sizeof(key) - 1, end) : end;
	at = at < end && *at == ':' ? skip_blanks(at + 1, end) : end;
	return at < end && *at == '"' ? at + 1 : NULL;
}

/* 0: not a one-letter escape. */
static char escaped(char c)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at = c ? strchr(from, c) : NULL;

	return at ? to[at - from] : 0;
}

/* Copies up to the closing quote, which it returns. NULL: it contains something rare, or wrong. */
static const char *unescape(const char *at, const char *end, char *to, size_t *ret_len,
			    bool *ret_ascii)
{
	const char *begin = to;
	unsigned char high = 0;

	for (; at < end && *at != '"'; at++) {
		char c = *at;

		if ((unsigned char)c < 0x20)
			return NULL;
		if (c == '\\')
			c = ++at < end ? escaped(*at) : 0;
		if (!c)
			return NULL;
		high |= (unsigned char)c;
		*to++ = c;
	}
	*ret_len = (size_t)(to - begin);
	*ret_ascii = high < 0x80;
	return at < end ? at : NULL;
}

/*
 * Parses with the mark in place of from..to. NULL: that was not the text, or the rest is not JSON.
 */
static json_t *load_rest(const char *bytes, const char *from, const char *to, const char *end)
{
	size_t before = (size_t)(from - bytes), after = (size_t)(end - to), n = sizeof(mark) - 1;
	BWL_AUTO_FREE char *rest = bwl_must(malloc(before + n + after));
	const char *text;
	json_t *o;

	/* An escape could spell the mark, or a key that ends like "text". */
	if (memmem(bytes, before, mark, n) || memmem(to, after, mark, n) ||
	    memchr(bytes, '\\', before) || memchr(to, '\\', after))
		return NULL;
	memcpy(rest, bytes, before);
	memcpy(rest + before, mark, n);
	memcpy(rest + before + n, to, after);
	o = json_loadb(rest, before + n + after, JSON_REJECT_DUPLICATES, NULL);
	text = json_string_value(json_object_get(o, "text"));
	if (text && !strcmp(text, mark))
		return o;
	json_decref(o);
	return NULL;
}

static json_t *load_apart(const char *bytes, size_t len)
{
	const char *end = bytes + len, *from = find(bytes, end), *to;
	BWL_AUTO_FREE char *text = NULL;
	json_t *o, *v;
	bool ascii;
	size_t n;

	if (!from)
		return NULL;
	text = bwl_must(malloc((size_t)(end - from) + 1));
	to = unescape(from, end, text, &n, &ascii);
	o = to ? load_rest(bytes, from, to, end) : NULL;
	if (!o)
		return NULL;
	v = ascii ? json_stringn_nocheck(text, n) : json_stringn(text, n);
	if (v && !json_object_set_new(o, "text", v))
		return o;
	json_decref(o);
	return NULL;
}

json_t *bwl_payload_json(const char *bytes, size_t len)
{
	json_t *o = load_apart(bytes, len);

	return o ? o : json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL);
}
