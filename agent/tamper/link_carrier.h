/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_carrier.c: has a port lost its carrier? Asked of sysfs every few milliseconds: the kernel's
 * news of a carrier come up to a second late (linkwatch tells once a second of all links together).
 */
#ifndef BWL_AGENT_TAMPER_LINK_CARRIER_H
#define BWL_AGENT_TAMPER_LINK_CARRIER_H

#include "maps/ctl.h"
#include <stdbool.h>
#include <stdint.h>

struct tamper_port {
	uint32_t ifindex; /* of what is open; 0 nothing */
	int dir, count;   /* the device's folder in sysfs; carrier_down_count */
	unsigned long was;
	uint64_t retry_ns;
};

enum tamper_loss { TAMPER_KEPT, TAMPER_LOST, TAMPER_SET_DOWN };

/* One whose carrier is back already is kept: our own tools and drivers do that. */
enum tamper_loss tamper_port_look(struct tamper_port *x, const struct bwl_dev *d);
void tamper_port_close(struct tamper_port *x); /* also one that was never open */

#endif
