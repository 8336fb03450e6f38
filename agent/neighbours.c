// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The next hops of the policy in force, and management's gateways, stay in the neighbour table even
 * if something fills it: otherwise nobody could reach the DPU to revoke. They are checked every ten
 * seconds, as somebody may have flushed them. Those whose MAC the policy gives are checked every
 * second: a port that went down has lost them, and until they are back they are resolved on the
 * wire.
 */
#include <sys/socket.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <bwl/next_hops.h>
#include "parts.h"

#define KEEP_EVERY_NS 10000000000ULL
#define FIX_EVERY_NS 1000000000ULL

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

/* The device's default gateway is found by the route to an unused address (RFC 5737, RFC 9637). */
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

static void fix_nexthops(struct bwl_pins *p)
{
	static bool may_have = true; /* from an earlier agent, or from a policy that was on trial */
	static char told[sizeof(((struct bwl_err *)0)->text)];
	struct bwl_err e = { 0 };
	struct bwl_fixed_hop *list;
	size_t n;

	if (bwl_next_hops_in_force(p, &list, &n, NULL)) {
		free(list);
		return; /* the policy is being replaced: the next tick sees the new one */
	}
	if (bwl_netdev_hops_fix(list, n, &e) && strcmp(told, e.text))
		agent_log(LOG_WARNING, "neighbours", "%s", e.text);
	memcpy(told, e.text, sizeof(told));
	if (n || may_have)
		bwl_next_hops_sweep(p, list, n);
	may_have = n;
	free(list);
}

void agent_neighbours_tick(struct agent *a, void *part)
{
	static uint64_t kept_ns, fixed_ns;
	uint64_t now = bwl_now_ns();
	bool keep = !kept_ns || now - kept_ns >= KEEP_EVERY_NS;
	struct bwl_gen g;

	(void)part;
	if (!keep && now - fixed_ns < FIX_EVERY_NS)
		return;
	fixed_ns = now;
	if (keep) {
		kept_ns = now;
		keep_gateways(a->pins);
	}
	fix_nexthops(a->pins);
	if (!keep || bwl_gen_open(a->pins, bwl_active_slot(a->pins), &g, NULL))
		return;
	keep_nexthops(&g);
	bwl_gen_close(&g);
}
