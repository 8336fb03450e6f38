// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LD_PRELOAD: every fsync and fdatasync takes BWL_FSYNC_MS longer, as on a busy disk; "never":
 * nothing is synchronised, as by a program that forgot to. It hangs while the file BWL_FSYNC_FILE
 * exists.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* false: never synchronise */
static bool wait_for_disk(void)
{
	const char *s = getenv("BWL_FSYNC_MS"), *file = getenv("BWL_FSYNC_FILE");
	long ms = s ? strtol(s, NULL, 10) : 0;
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	if (s && !strcmp(s, "never"))
		return false;
	nanosleep(&t, NULL);
	t = (struct timespec){ .tv_nsec = 50000000 };
	while (file && !access(file, F_OK))
		nanosleep(&t, NULL);
	return true;
}

int fsync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");

	return wait_for_disk() ? real(fd) : 0;
}

int fdatasync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");

	return wait_for_disk() ? real(fd) : 0;
}
