// SPDX-License-Identifier: GPL-2.0-or-later
/* LD_PRELOAD: every fsync and fdatasync takes BWL_FSYNC_MS longer, as on a disk that is busy. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void wait_for_disk(void)
{
	const char *s = getenv("BWL_FSYNC_MS");
	long ms = s ? strtol(s, NULL, 10) : 0;
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

int fsync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");

	wait_for_disk();
	return real(fd);
}

int fdatasync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");

	wait_for_disk();
	return real(fd);
}
