/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See bwl/encode.h. */
#include <string.h>
#include <bwl/encode.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char digits[] = "0123456789abcdef";

char *bwl_base64_encode(const uint8_t *at, size_t n, char *buf)
{
	char *to = buf;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)at[i] << 16 | (i + 1 < n ? (uint32_t)at[i + 1] << 8 : 0) |
			     (i + 2 < n ? at[i + 2] : 0);

		*to++ = alphabet[v >> 18];
		*to++ = alphabet[v >> 12 & 63];
		*to++ = i + 1 < n ? alphabet[v >> 6 & 63] : '=';
		*to++ = i + 2 < n ? alphabet[v & 63] : '=';
	}
	*to = '\0';
	return buf;
}

static int value(char c)
{
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
	       : c == '+'             ? 62
	       : c == '/'             ? 63
				      : -1;
}

long bwl_base64_decode(const char *text, size_t len, uint8_t *ret, size_t most)
{
	size_t pad = len && text[len - 1] == '=' ? 1 + (len > 1 && text[len - 2] == '=') : 0;
	size_t n = len / 4 * 3 - pad, at = 0;
	uint32_t v = 0;

	if (len % 4 || n > most)
		return -1;
	for (size_t i = 0; i < len; i++) {
		int d = i >= len - pad ? 0 : value(text[i]);

		if (d < 0)
			return -1;
		v = v << 6 | (uint32_t)d;
		if (i % 4 != 3)
			continue;
		for (int shift = 16; shift >= 0; shift -= 8) {
			if (at < n)
				ret[at++] = (uint8_t)(v >> shift);
			else if (v >> shift & 255)
				return -1; /* unused bits must be 0 */
		}
		v = 0;
	}
	return (long)n;
}

char *bwl_hex_encode(const uint8_t *at, size_t n, char *buf)
{
	for (size_t i = 0; i < n; i++) {
		buf[2 * i] = digits[at[i] >> 4];
		buf[2 * i + 1] = digits[at[i] & 15];
	}
	buf[2 * n] = '\0';
	return buf;
}

bool bwl_hex_decode(const char *text, uint8_t *ret, size_t n)
{
	if (strlen(text) != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const char *hi = strchr(digits, text[2 * i]), *lo = strchr(digits, text[2 * i + 1]);

		if (!hi || !lo)
			return false;
		ret[i] = (uint8_t)((hi - digits) << 4 | (lo - digits));
	}
	return true;
}
