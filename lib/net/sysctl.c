// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers below /proc/sys: see sysctl.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <bwl/sysctl.h>

int bwl_sysctl_value(const char *path)
{
	FILE *f = fopen(path, "re");
	int v = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &v) != 1)
		v = -1;
	fclose(f);
	return v;
}

int bwl_sysctl_set(const char *path, int value)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", value);
	int fd = open(path, O_WRONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = write(fd, text, (size_t)n) == n ? 0 : -errno;
	close(fd);
	return r;
}
