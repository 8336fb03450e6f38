// SPDX-License-Identifier: GPL-2.0-or-later
/* See enrolled.h. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "signed/enrolled.h"
#include "signed/memory.h"

bool bwl_is_enrolled(const char *dir)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	return !access(path, F_OK) || (errno != ENOENT && errno != ENOTDIR);
}
