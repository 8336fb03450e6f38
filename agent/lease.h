/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lease.c: the lease, renewed by order, and its end acted on; both by one thread (orders.c). */
#ifndef BWL_AGENT_LEASE_H
#define BWL_AGENT_LEASE_H

#include <jansson.h>
#include "bwl/pins.h"

/* The verb lease. */
json_t *lease_order(struct bwl_pins *p, const json_t *ask);
/* Cheap; *look_ns: its own, 0 at first. */
void lease_look(struct bwl_pins *p, uint64_t *look_ns);
/* How long nothing is to be looked at, as it is now: at most `most`. */
int lease_sleep_ms(const struct bwl_pins *p, int most);

#endif
