// SPDX-License-Identifier: GPL-2.0-or-later
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

/* A letter's value plus 1, so that 0 is what every other byte has. */
/* clang-format off */
static const uint8_t letter[256] = {
	['A'] = 1, ['B'] = 2, ['C'] = 3, ['D'] = 4, ['E'] = 5, ['F'] = 6, ['G'] = 7,
	['H'] = 8, ['I'] = 9, ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14,
	['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21,
	['V'] = 22, ['W'] = 23, ['X'] = 24, ['Y'] = 25, ['Z'] = 26,
	['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32, ['g'] = 33,
	['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
	['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47,
	['v'] = 48, ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52,
	['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56, ['4'] = 57, ['5'] = 58, ['6'] = 59,
	['7'] = 60, ['8'] = 61, ['9'] = 62,
	['+'] = 63, ['/'] = 64,
};
/* clang-format on */

long bwl_base64_decode(const char *text, size_t len, uint8_t *ret, size_t most)
{
	size_t pad = len && text[len - 1] == '=' ? 1 + (len > 1 && text[len - 2] == '=') : 0;
	size_t n = len / 4 * 3 - pad, at = 0;
	uint32_t v = 0;

	if (len % 4 || n > most)
		return -1;
	for (size_t i = 0; i < len; i++) {
		uint32_t d = i >= len - pad ? 1 : letter[(uint8_t)text[i]];

		if (!d)
			return -1;
		v = v << 6 | (d - 1);
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
