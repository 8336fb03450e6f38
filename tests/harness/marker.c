// SPDX-License-Identifier: GPL-2.0-or-later
/* A thief's bytes: see marker.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "marker.h"

int marker_set(struct marker *m, const char *hex)
{
	size_t i;

	memset(m, 0, sizeof(*m));
	if (strlen(hex) != 2 * FRAME_MARKER || strspn(hex, "0123456789abcdefABCDEF") != strlen(hex))
		return -1;
	for (i = 0; i < FRAME_MARKER; i++)
		sscanf(hex + 2 * i, "%2hhx", &m->byte[i]);
	for (i = 0; i < FRAME_MARKER; i++)
		m->turn[m->byte[i] << 8 | m->byte[(i + 1) % FRAME_MARKER]] |= 1U << i;
	m->on = true;
	return 0;
}

int marker_from_env(struct marker *m)
{
	const char *hex = getenv("BWL_MARKER");

	memset(m, 0, sizeof(*m));
	return hex && *hex ? marker_set(m, hex) : 0;
}

/* The number of bytes that match the marker from its position i on. */
static size_t run(const struct marker *m, size_t i, const uint8_t *p, size_t n)
{
	size_t k;

	for (k = 0; k < n && p[k] == m->byte[(i + k) % FRAME_MARKER]; k++)
		;
	return k;
}

size_t marker_find(const struct marker *m, const uint8_t *p, size_t n)
{
	size_t at, found = 0, best, i;
	unsigned turns;

	for (at = 0; m->on && at + MARKER_MIN <= n; at += best ? best : 1) {
		turns = m->turn[p[at] << 8 | p[at + 1]];
		for (best = 0; turns; turns &= turns - 1) {
			i = __builtin_ctz(turns);
			i = run(m, i, p + at, n - at);
			if (i >= MARKER_MIN && i > best)
				best = i;
		}
		found += best;
	}
	return found;
}
