// SPDX-License-Identifier: GPL-2.0-or-later
#include "bwl/beside.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void bwl_beside(const char *variable, const char *name, char ret_path[static PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);
	const char *said = getenv(variable);
	char *slash;

	if (said) {
		snprintf(ret_path, PATH_MAX, "%s", said);
		return;
	}
	ret_path[n > 0 ? n : 0] = '\0';
	slash = strrchr(ret_path, '/');
	if (slash)
		snprintf(slash + 1, PATH_MAX - (size_t)(slash + 1 - ret_path), "%s", name);
}
