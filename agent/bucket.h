/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bucket of lines that may be said: `most` at once, then one more every so often. Time is an
 * argument.
 */
#ifndef BWL_AGENT_BUCKET_H
#define BWL_AGENT_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket { /* zeroed: full */
	uint64_t used, since_ns;
};
/* Takes one, where there is one. */
bool bucket_take(struct bucket *b, uint64_t most, uint64_t every_ns, uint64_t now_ns);

#endif
