/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The marker: random bytes of this run, repeated through every payload that a thief sends. If 8 of
 * these bytes in a row are anywhere in a frame, at whatever offset and under whatever source
 * address, the frame contains bytes of the thief: quoted in an ICMP error, in an option, in another
 * tunnel.
 */
#ifndef BWL_TEST_MARKER_H
#define BWL_TEST_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "frame.h"

#define MARKER_MIN 8 /* bytes in a row */

struct marker {
	bool on;
	uint8_t byte[FRAME_MARKER];
	uint16_t turn[1 << 16]; /* by two bytes: where they occur in the marker */
};

int marker_set(struct marker *m, const char *hex); /* 0, or -1 */
/* From BWL_MARKER, if that is set. */
int marker_from_env(struct marker *m);
/* The number of these bytes that are the thief's. */
size_t marker_find(const struct marker *m, const uint8_t *p, size_t n);

#endif
