// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LD_PRELOAD: the clocks of a program.
 *
 * BWL_CLOCK=FILE: its wall clock is ahead by as many seconds as the file says, in eight characters;
 * it may be changed at any time. Other clocks are as they are, so timers are, too.
 *
 * BWL_CLOCK_RATE=N: CLOCK_BOOTTIME, by which bwlimit measures, goes N times as fast from the
 * program's beginning on; so do its naps, its timers on that clock, and its waits for a condition
 * until a time that it names by CLOCK_MONOTONIC. What it waits for from others has its own time.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define WIDTH 8
#define SECOND 1000000000LL
#define FDS 1024

static const char *ahead; /* NULL: no wall clock but this machine's */
static int64_t rate = 1, began;
static bool is_boottime[FDS]; /* timers on it */

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * SECOND + t->tv_nsec;
}

static struct timespec time_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND };
}

static struct timespec machines(clockid_t clock)
{
	struct timespec t = { 0 };

	syscall(SYS_clock_gettime, clock, &t);
	return t;
}

static __attribute__((constructor)) void begin(void)
{
	const char *name = getenv("BWL_CLOCK"), *times = getenv("BWL_CLOCK_RATE");
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, WIDTH, PROT_READ, MAP_SHARED, fd, 0);
	struct timespec now = machines(CLOCK_BOOTTIME);

	ahead = at == MAP_FAILED ? NULL : at;
	if (fd >= 0)
		close(fd);
	began = ns_of(&now);
	if (times && atoi(times) > 0)
		rate = atoi(times);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	long r = syscall(SYS_clock_gettime, clock, t);
	char text[WIDTH + 1] = "";

	if (!r && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		memcpy(text, ahead, WIDTH);
		t->tv_sec += strtol(text, NULL, 10);
	}
	if (!r && clock == CLOCK_BOOTTIME)
		*t = time_of(began + (ns_of(t) - began) * rate);
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

int nanosleep(const struct timespec *t, struct timespec *left)
{
	struct timespec nap = time_of(ns_of(t) / rate);

	return (int)syscall(SYS_nanosleep, &nap, left);
}

int timerfd_create(int clock, int flags)
{
	int fd = (int)syscall(SYS_timerfd_create, clock, flags);

	if (fd >= 0 && fd < FDS)
		is_boottime[fd] = clock == CLOCK_BOOTTIME;
	return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *set, struct itimerspec *was)
{
	struct itimerspec mine = *set;
	int64_t from = flags & TFD_TIMER_ABSTIME ? began : 0, at = ns_of(&set->it_value) - from;

	if (fd >= 0 && fd < FDS && is_boottime[fd] && at > -from) {
		at /= rate;
		mine.it_value = time_of(from + at > 0 ? from + at : 1);
		mine.it_interval = time_of(ns_of(&set->it_interval) / rate);
	}
	return (int)syscall(SYS_timerfd_settime, fd, flags, &mine, was);
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock, clockid_t clock,
			   const struct timespec *until)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
	struct timespec now = machines(clock), mine = *until;

	if (!real)
		real = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
	if (clock == CLOCK_MONOTONIC)
		mine = time_of(ns_of(&now) + (ns_of(until) - ns_of(&now)) / rate);
	return real(cond, lock, clock, &mine);
}
