/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A name for the maps that are attached, which no others ever had or will have. */
#include <stdio.h>
#include <string.h>
#include "agent.h"

void agent_era(const struct bwl_pins *p, char buf[static AGENT_ERA])
{
	char boot[40] = "?";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f) {
		if (fscanf(f, "%36s", boot) != 1)
			strcpy(boot, "?");
		fclose(f);
	}
	snprintf(buf, AGENT_ERA, "%s-%llx-%x", boot, (unsigned long long)p->ctl->attached_ns,
		 p->ctl->tag);
}
