/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many lines the signs of tampering may write that close nothing any more: a host may make them
 * as often as it likes (a port that flaps), and somebody on the wire too (a neighbour's MAC). The
 * action is always taken.
 */
#ifndef BWL_AGENT_TAMPER_LINE_BUDGET_H
#define BWL_AGENT_TAMPER_LINE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include "bucket.h"

#define TAMPER_SAY_BURST 32U                /* lines at once */
#define TAMPER_SAY_NS (300 * 1000000000ULL) /* and then one in this time */

struct tamper_say { /* of one input at one port; zeroed: whole */
	struct bucket lines;
	unsigned long long silent; /* signs that no line has said since the last one */
};

/* May this sign be a line? ret_silent: how many like it before were none. */
bool tamper_say(struct tamper_say *s, uint64_t now_ns, unsigned long long *ret_silent);

#endif
