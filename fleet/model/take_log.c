// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See set.h: when a tray's audit log was last cosigned, according to the note that the leader
 * leaves for the tray (c2sp.org/tlog-cosignature, version 1: after the key's id of 4 bytes, 8 bytes
 * of time, big-endian).
 */
#include <string.h>
#include "bwl/encode.h"
#include "set.h"

#define DASH "\xe2\x80\x94 " /* em dash, space: a signature's line begins so */
#define SIGNATURE (4 + 8 + 64)

/* The time in a signature line of the note; 0: it is not a witness's. */
static int64_t time_of(const char *line, const char *end)
{
	const char *text = memchr(line, ' ', (size_t)(end - line)); /* after the name */
	uint8_t raw[SIGNATURE];
	uint64_t when = 0;

	if (!text ||
	    bwl_base64_decode(text + 1, (size_t)(end - text - 1), raw, sizeof(raw)) != SIGNATURE)
		return 0;
	for (unsigned i = 0; i < 8; i++)
		when = when << 8 | raw[4 + i];
	return when < 1ULL << 40 ? (int64_t)when : 0;
}

/* The log's own signature, which is shorter, comes first. */
void model_take_cosigned(struct model_tray *t, const char *at, size_t len)
{
	const char *end = at + len, *next;

	t->cosigned_s = 0;
	for (; (next = memchr(at, '\n', (size_t)(end - at))); at = next + 1)
		if (!t->cosigned_s && (size_t)(next - at) > strlen(DASH) &&
		    !memcmp(at, DASH, strlen(DASH)))
			t->cosigned_s = time_of(at + strlen(DASH), next);
}
