/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_carrier.c: has a port lost its carrier? Read from sysfs every few milliseconds: the kernel's
 * notifications come up to a second late (linkwatch reports once a second for all links).
 */
#ifndef BWL_AGENT_TAMPER_LINK_CARRIER_H
#define BWL_AGENT_TAMPER_LINK_CARRIER_H

#include "maps/ctl.h"
#include <stdbool.h>
#include <stdint.h>

struct tamper_port {
	uint32_t ifindex; /* of the open one; 0: none */
	int dir, count;   /* the device's folder in sysfs; carrier_down_count */
	unsigned long was;
	uint32_t failed;   /* ifindex that could not be opened: it is not tried again */
	uint64_t retry_ns; /* before that time */
};

enum tamper_loss {
	TAMPER_KEPT,
	TAMPER_LOST,
	TAMPER_BACK, /* there was a loss, and it is over */
	TAMPER_SET_DOWN,
};

enum tamper_loss tamper_port_look(struct tamper_port *x, const struct bwl_dev *d);
void tamper_port_close(struct tamper_port *x); /* also one that was never open */

#endif
