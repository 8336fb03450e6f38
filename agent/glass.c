// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A broken glass is an alarm for as long as it holds (docs/fleet.md). The data plane ends it, and
 * reconcile.c applies the policy before.
 */
#include <syslog.h>
#include "bwl/units.h"
#include "parts.h"

#define REPEAT_NS (600 * 1000000000ULL)

void agent_glass_tick(struct agent *a, void *part)
{
	static uint64_t until_ns, told_ns; /* main thread only */
	uint64_t now = bwl_now_ns(), is = bwl_glass_until_ns(a->pins, now);
	char left[BWL_UNIT_BUF];

	(void)part;
	if (is && (is != until_ns || now - told_ns >= REPEAT_NS)) {
		told_ns = now;
		agent_log(
			LOG_ALERT, "break-glass",
			"break-glass: an emergency policy is in force for another %s (bwlimit-ctl policy rollback ends it)",
			bwl_human_time((double)(is - now) / 1e9, left));
	} else if (!is && until_ns) {
		agent_log(LOG_NOTICE, "break-glass", "the emergency policy has ended");
	}
	until_ns = is;
}
