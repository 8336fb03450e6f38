// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LD_PRELOAD: the wall clock of a program is ahead by as many seconds as the file BWL_CLOCK says,
 * in eight characters; it may be changed at any time. Other clocks are as they are, so timers are,
 * too.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define WIDTH 8

static const char *ahead; /* NULL: no clock but this machine's */

static __attribute__((constructor)) void begin(void)
{
	const char *name = getenv("BWL_CLOCK");
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, WIDTH, PROT_READ, MAP_SHARED, fd, 0);

	ahead = at == MAP_FAILED ? NULL : at;
	if (fd >= 0)
		close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	long r = syscall(SYS_clock_gettime, clock, t);
	char text[WIDTH + 1] = "";

	if (!r && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		memcpy(text, ahead, WIDTH);
		t->tv_sec += strtol(text, NULL, 10);
	}
	return (int)r;
}

time_t time(time_t *ret)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (ret)
		*ret = t.tv_sec;
	return t.tv_sec;
}

int gettimeofday(struct timeval *ret, void *zone)
{
	struct timespec t;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &t);
	*ret = (struct timeval){ .tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000 };
	return 0;
}
