/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does a policy document only tighten the previous one? Then it needs no stages. */
#ifndef BWL_CONTROLLER_TIGHTER_H
#define BWL_CONTROLLER_TIGHTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Envelopes with the digests that each must have, because a store may answer with another. What
 * cannot be read is not tighter, nor is what opens or lifts.
 */
bool tighter(const char *from, size_t from_len, const uint8_t from_digest[32], const char *to,
	     size_t to_len, const uint8_t to_digest[32], uint64_t now_ns, int64_t now_s);

#endif
