// SPDX-License-Identifier: GPL-2.0-or-later
/* See checked_file.h. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/bytes.h>
#include <bwl/cleanup.h>
#include <bwl/encode.h>
#include "signed/checked_file.h"

/* Writes the first line of a file with this text. Returns its length. */
static size_t head_of(char to[static BWL_CHECKED_HEAD], const char *word, const char *text,
		      size_t len)
{
	uint8_t d[32];
	char hex[65];

	if (EVP_Digest(text, len, d, NULL, EVP_sha256(), NULL) != 1)
		abort();
	bwl_hex_encode(d, sizeof(d), hex);
	return (size_t)snprintf(to, BWL_CHECKED_HEAD, "# bwlimit %s 1 %s\n", word, hex);
}

json_t *bwl_checked_parse(const char *word, const char *bytes, size_t len)
{
	char head[BWL_CHECKED_HEAD];
	size_t n = head_of(head, word, "", 0); /* the length does not depend on the text */

	if (len <= n)
		return NULL;
	head_of(head, word, bytes + n, len - n);
	return memcmp(bytes, head, n)
		       ? NULL
		       : json_loadb(bytes + n, len - n, JSON_REJECT_DUPLICATES, NULL);
}

int bwl_checked_keep(const char *word, const char *dir, const char *name, const json_t *o,
		     size_t most, struct bwl_err *e)
{
	BWL_AUTO_FREE char *text = bwl_must(json_dumps(o, JSON_COMPACT));
	char head[BWL_CHECKED_HEAD];
	struct bwl_bytes part[2] = { { head, head_of(head, word, text, strlen(text)) },
				     { text, strlen(text) } };

	if (part[0].len + part[1].len > most)
		return bwl_fail(e, EFBIG, "%s: more than %zu bytes could not be read back", name,
				most);
	return bwl_bytes_replace(dir, name, part, 2, e);
}
