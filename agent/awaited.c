// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ports of the policy in force that are absent (loader/await.h): each is named when it begins to be
 * awaited, or is when this process begins, and when that ends. Attaching needs rights that bwlimitd
 * does not have: `bwlimit-load await` does.
 */
#include <errno.h>
#include <stdlib.h>
#include <syslog.h>
#include "parts.h"

int agent_awaited_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	(void)a;
	*ret_part = calloc(1, sizeof(uint64_t)); /* of these maps: what has been said */
	return *ret_part ? 0 : bwl_fail(e, ENOMEM, "out of memory");
}

void agent_awaited_tick(struct agent *a, void *part)
{
	uint64_t *told = part, now;

	if (bwl_ports_awaited(a->pins, &now))
		return; /* the policy is being replaced */
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *d = &a->pins->dev[i];

		if (!((now ^ *told) & 1ULL << i))
			continue;
		if (now & 1ULL << i)
			agent_log(
				LOG_WARNING, "awaited",
				"%s %.15s of the policy is awaited: it is attached when it appears",
				d->kind == BWL_PORT_HOST ? "host port" : "uplink", d->name);
		else
			agent_log(LOG_NOTICE, "awaited", "%.15s is no longer awaited: %s", d->name,
				  d->ifindex ? "it is attached" : "the policy does not name it");
	}
	*told = now;
}

void agent_awaited_stop(struct agent *a, void *part)
{
	(void)a;
	free(part);
}
