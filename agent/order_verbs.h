/* SPDX-License-Identifier: GPL-2.0-or-later */
/* order_verbs.c: what bwlimit-ctl tells this agent, by bwl/agent.h; read where nothing waits for a disk. */
#ifndef BWL_AGENT_ORDER_H
#define BWL_AGENT_ORDER_H

#include "order_socket.h"
#include "bwl/pins.h"

/* Orders about these pins, which outlive it. */
int order_open(const char *pin_dir, struct bwl_pins *p, struct orders **ret, struct bwl_err *e);
/* lease.c: the verb lease */
json_t *lease_order(void *pins, const json_t *ask);

#endif
