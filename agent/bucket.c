// SPDX-License-Identifier: GPL-2.0-or-later
/* See bucket.h. */
#include "bucket.h"

bool bucket_take(struct bucket *b, uint64_t most, uint64_t every_ns, uint64_t now_ns)
{
	uint64_t n = (now_ns - b->since_ns) / every_ns;

	if (n >= b->used) {
		b->used = 0;
		b->since_ns = now_ns;
	} else {
		b->used -= n;
		b->since_ns += n * every_ns;
	}
	if (b->used >= most)
		return false;
	b->used++;
	return true;
}
