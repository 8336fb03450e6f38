/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A token bucket for log lines: `most` at once, then one more per interval. Time is an argument. */
#ifndef BWL_AGENT_BUCKET_H
#define BWL_AGENT_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket { /* zeroed: full */
	uint64_t used, since_ns;
};
/* Takes one, if there is one. */
bool bucket_take(struct bucket *b, uint64_t most, uint64_t every_ns, uint64_t now_ns);

#endif
