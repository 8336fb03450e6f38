// SPDX-License-Identifier: GPL-2.0-or-later
/* A name for the attached maps that no other maps ever had or will have. */
#include <stdio.h>
#include <bwl/clock.h>
#include "agent.h"

void agent_era(const struct bwl_pins *p, char buf[static AGENT_ERA])
{
	char boot[BWL_BOOT_ID];

	snprintf(buf, AGENT_ERA, "%s-%llx-%x", bwl_boot_id(boot),
		 (unsigned long long)p->ctl->attached_ns, p->ctl->tag);
}
