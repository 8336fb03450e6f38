/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounds the lines of signs of tampering that no longer close anything: a host can cause them at
 * will (a flapping port), and so can somebody on the wire (a neighbour's MAC). The action is always
 * taken.
 */
#ifndef BWL_AGENT_TAMPER_LINE_BUDGET_H
#define BWL_AGENT_TAMPER_LINE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include "bucket.h"

#define TAMPER_SAY_BURST 32U                /* lines at once */
#define TAMPER_SAY_NS (300 * 1000000000ULL) /* and then one in this time */

struct tamper_say { /* for one input at one port; zeroed: full */
	struct bucket lines;
	unsigned long long silent; /* signs without a line since the last one */
};

/* May this sign be a line? ret_silent: number of similar earlier ones without a line. */
bool tamper_say(struct tamper_say *s, uint64_t now_ns, unsigned long long *ret_silent);

#endif
