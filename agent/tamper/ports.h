/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ports.c: has a host port or an uplink lost its carrier, been set down, or gone? A port is
 * followed by its interface index, whatever it is called. What bwlimit did itself is no sign, but
 * only by its word (bwl_port_shuts()): nothing is taken for our doing because it looks like it.
 */
#ifndef BWL_AGENT_TAMPER_PORTS_H
#define BWL_AGENT_TAMPER_PORTS_H

#include <linux/netlink.h>
#include "bwl/pins.h"
#include "link_carrier.h"

struct tamper_ports {
	struct bwl_pins *pins;
	struct tamper_seen {
		uint32_t ifindex; /* 0: it was not there yet */
		bool up, carrier; /* as last reported by the kernel */
		uint8_t doings;   /* what bwlimit had done when all news had been read */
		uint8_t doings_now;
		struct tamper_port sysfs;
	} seen[BWL_MAX_PORTS];
	uint64_t list_ns; /* when to look for devices that are not there yet, next */
};

/* One turn: begin, look, then the news of links, then end. lost: some news were lost. */
void tamper_ports_begin(struct tamper_ports *t);
void tamper_ports_look(struct tamper_ports *t);
void tamper_ports_news(struct tamper_ports *t, const struct nlmsghdr *h);
void tamper_ports_end(struct tamper_ports *t, bool lost);
/* The index of an attached host port or uplink; -1: it is none. */
int tamper_ports_at(const struct tamper_ports *t, uint32_t ifindex);
void tamper_ports_close(struct tamper_ports *t);

#endif
