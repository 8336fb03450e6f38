// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mode shape paces where every uplink has fq. This is checked again and again: somebody may change
 * a qdisc at any time.
 */
#include <syslog.h>
#include "parts.h"

void agent_pace_tick(struct agent *a, void *part)
{
	(void)part;
	if (bwl_pace_refresh(a->pins))
		agent_log(LOG_WARNING, "pace", "%s",
			  !bwl_not_paced(a->pins)
				  ? "every uplink has fq: mode shape paces"
				  : "an uplink has no fq any more: mode shape polices");
}
