/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * order_verbs.c: the orders that bwlimit-ctl may give this agent, by bwl/agent.h; none waits for a
 * disk.
 */
#ifndef BWL_AGENT_ORDER_VERBS_H
#define BWL_AGENT_ORDER_VERBS_H

#include "order_socket.h"
#include "policy_order.h"

/* The context of each. */
struct order_about {
	struct bwl_pins *pins;
	struct policy_order *policy;
};
extern const struct order_verb order_verbs[];

#endif
