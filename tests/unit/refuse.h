/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Refuses one call: of those that a test wraps, the nth. The linker sends each WRAPPED function
 * here (--wrap). A test runs the same steps with n = 1, 2 and so on, until they make fewer calls
 * than that.
 */
#ifndef BWL_TEST_REFUSE_H
#define BWL_TEST_REFUSE_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static unsigned left;                          /* calls until the one that is refused; 0: none is */
static const char *refused;                    /* the one that was */
static unsigned syncs __attribute__((unused)); /* of all that were: those that wait for the disk */

static inline bool refuses(const char *call)
{
	if (!left || --left)
		return false;
	refused = call;
	syncs += !!strstr(call, "sync");
	errno = EIO;
	return true;
}

static inline void refuse(unsigned nth)
{
	left = nth;
	refused = NULL;
}

/* No more; whether there were so few calls that none was refused. */
static inline bool all_were_refused(void)
{
	bool all = left;

	left = 0;
	return all;
}

#define WRAPPED(type, name, args, given, failed)                                                   \
	type __real_##name args;                                                                   \
	type __wrap_##name args;                                                                   \
	type __wrap_##name args                                                                    \
	{                                                                                          \
		return refuses(#name) ? failed : __real_##name given;                              \
	}

static inline mode_t mode_of(int flags, va_list ap)
{
	return flags & O_CREAT ? va_arg(ap, mode_t) : 0;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return refuses("open") ? -1 : __real_open(path, flags, mode);
}

WRAPPED(ssize_t, pwrite, (int fd, const void *buf, size_t n, off_t at), (fd, buf, n, at), -1)
WRAPPED(int, fsync, (int fd), (fd), -1)
WRAPPED(int, fdatasync, (int fd), (fd), -1)

#endif
