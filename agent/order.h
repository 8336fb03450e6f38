/* SPDX-License-Identifier: GPL-2.0-or-later */
/* order.c: what bwlimit-ctl tells this agent, by bwl/agent.h; read where nothing waits for a disk. */
#ifndef BWL_AGENT_ORDER_H
#define BWL_AGENT_ORDER_H

#include <jansson.h>
#include "bwl/pins.h"

/* A descriptor for poll(2), or a negative errno. */
int order_open(const char *pin_dir, struct bwl_err *e);
/* Does and answers what has come, without waiting. */
void order_read(int fd, struct bwl_pins *p);
/* lease.c: {"lease": NANOSECONDS} */
json_t *lease_order(struct bwl_pins *p, const json_t *ask);
void order_close(int fd, const char *pin_dir);	/* -1: nothing */

#endif
