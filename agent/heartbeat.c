// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The heartbeat: four times per interval that the policy allows, so that a late one does no harm.
 */
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include "parts.h"

#define LONGEST_NS 10000000000ULL
#define SHORTEST_NS 100000000ULL

uint64_t agent_beat(struct agent *a)
{
	static char told[sizeof(((struct bwl_err *)0)->text)];
	struct bwl_err e = { 0 };
	uint64_t until = 0, now = bwl_now_ns(), left = 0;

	if (!a->pins || bwl_active_slot(a->pins) == BWL_NO_SLOT)
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

static sd_event_source *timer; /* NULL: this part does not run */

static int on_beat(sd_event_source *s, uint64_t us, void *arg)
{
	uint64_t at = agent_beat(arg), now = bwl_now_ns();

	(void)us;
	return agent_again(s, at > now ? (at - now) / 1000 : 0);
}

void agent_beat_now(void)
{
	if (timer)
		agent_again(timer, 0);
}

int agent_heartbeat_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	(void)ret_part;
	return agent_timer(a, 0, on_beat, a, &timer, e);
}

void agent_heartbeat_stop(struct agent *a, void *part)
{
	(void)a, (void)part;
	timer = sd_event_source_disable_unref(timer);
}
