/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heartbeat: four times in what the policy allows, so that one that is late costs nothing. */
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include "agent.h"

#define LONGEST_NS 10000000000ULL
#define SHORTEST_NS 100000000ULL

uint64_t agent_beat(struct agent *a)
{
	static char told[sizeof(((struct bwl_err *)0)->text)];
	struct bwl_err e = { 0 };
	uint64_t until = 0, now = bwl_now_ns(), left = 0;

	if (!a->pins || bwl_active_slot(a->pins, now) == BWL_NO_SLOT)
		return now + 1000000000ULL;
	if (bwl_heartbeat(a->pins, &until, &e)) {
		if (strcmp(told, e.text))
			agent_log_err(LOG_ERR, "heartbeat", &e);
		snprintf(told, sizeof(told), "%s", e.text);
		return now + (e.code == EPERM ? 10 * SHORTEST_NS : SHORTEST_NS);
	}
	*told = '\0';
	if (until != BWL_NEVER_NS && until > now)
		left = (until - now) / 4;
	if (left > LONGEST_NS || until == BWL_NEVER_NS)
		left = LONGEST_NS;
	return now + (left < SHORTEST_NS ? SHORTEST_NS : left);
}
