/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes as text: base64 (RFC 4648) and hex, each in one spelling only. */
#ifndef BWL_ENCODE_H
#define BWL_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BWL_BASE64_LEN(n) (((n) + 2) / 3 * 4) /* characters of n bytes, without the NUL */
char *bwl_base64_encode(const uint8_t *at, size_t n, char *buf);
/*
 * Decodes the whole text, which must be canonical: padded, with no unused bits set. At most `most`
 * bytes go to ret; -1: the text is invalid, or has more bytes.
 */
long bwl_base64_decode(const char *text, size_t len, uint8_t *ret, size_t most);

#define BWL_HEX_LEN(n) (2 * (n))
char *bwl_hex_encode(const uint8_t *at, size_t n, char *buf);  /* with the NUL */
bool bwl_hex_decode(const char *text, uint8_t *ret, size_t n); /* lower case, exactly n bytes */

#endif
