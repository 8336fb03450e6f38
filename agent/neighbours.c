/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Next hops of the policy in force and management's gateways stay in the neighbour table, however
 * full it is: otherwise nobody could reach the DPU to revoke. Checked every ten seconds, because
 * they may have been flushed.
 */
#include <sys/socket.h>
#include <bwl/netdev.h>
#include "parts.h"

#define EVERY_NS 10000000000ULL

static void keep_nexthops(const struct bwl_gen *g)
{
	for (unsigned i = 0; i < BWL_MAX_NEXTHOPS; i++) {
		const struct bwl_nexthop *n = &g->base->nexthop[i];

		if (n->has4)
			bwl_netdev_keep_next_hop(0, AF_INET, (const uint8_t *)&n->via4, false);
		if (n->has6)
			bwl_netdev_keep_next_hop(0, AF_INET6, (const uint8_t *)n->via6, false);
	}
}

/* The default gateway of the device, by an unused address (RFC 5737, RFC 9637). */
static void keep_gateways(const struct bwl_pins *p)
{
	static const uint8_t four[4] = { 198, 51, 100, 1 }, six[16] = { 0x3f, 0xff, [15] = 1 };

	for (unsigned i = 0; i < BWL_MAX_PORTS; i++) {
		if (!p->dev[i].ifindex || p->dev[i].kind != BWL_PORT_MANAGEMENT)
			continue;
		bwl_netdev_keep_next_hop(p->dev[i].ifindex, AF_INET, four, true);
		bwl_netdev_keep_next_hop(p->dev[i].ifindex, AF_INET6, six, true);
	}
}

void agent_neighbours_tick(struct agent *a, void *part)
{
	static uint64_t last_ns;
	uint64_t now = bwl_now_ns();
	struct bwl_gen g;

	(void)part;
	if (last_ns && now - last_ns < EVERY_NS)
		return;
	last_ns = now;
	keep_gateways(a->pins);
	if (bwl_gen_open(a->pins, bwl_active_slot(a->pins, now), &g, NULL))
		return;
	keep_nexthops(&g);
	bwl_gen_close(&g);
}
