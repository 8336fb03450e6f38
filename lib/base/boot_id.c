// SPDX-License-Identifier: GPL-2.0-or-later
/* Which boot of the machine this is. */
#include <stdio.h>
#include <string.h>
#include <bwl/clock.h>

char *bwl_boot_id(char buf[static BWL_BOOT_ID])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || fscanf(f, "%36s", buf) != 1)
		strcpy(buf, "?");
	if (f)
		fclose(f);
	return buf;
}
