/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lease.c: renewal of the lease by order, and the action at its end; both in one thread (orders.c).
 */
#ifndef BWL_AGENT_LEASE_H
#define BWL_AGENT_LEASE_H

#include <jansson.h>
#include "bwl/pins.h"

/* The verb lease. */
json_t *lease_order(struct bwl_pins *p, const json_t *ask);
/* Cheap; *look_ns: its own state, 0 at first. */
void lease_look(struct bwl_pins *p, uint64_t *look_ns);
/* How long the lease needs no check: at most `most`. */
int lease_sleep_ms(const struct bwl_pins *p, int most);

#endif
