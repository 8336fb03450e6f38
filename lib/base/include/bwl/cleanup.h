/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variables that close or free what they hold when they go out of scope, so that a function can
 * return anywhere and be seen to leak nothing. One way out: bwl_take_fd(), bwl_take_ptr().
 *
 *	BWL_AUTO_CLOSE int fd = -1;
 *	BWL_AUTO_FREE char *text = NULL;
 *	BWL_AUTO_DEFINE(thing_free, struct thing *)
 *	BWL_AUTO(thing_free) struct thing *t = NULL;
 */
#ifndef BWL_CLEANUP_H
#define BWL_CLEANUP_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define BWL_AUTO(fn) __attribute__((cleanup(fn##_auto)))
/* fn(value) for a pointer that is not NULL */
#define BWL_AUTO_DEFINE(fn, type)                                                                  \
	static inline void fn##_auto(type *at)                                                     \
	{                                                                                          \
		if (*at)                                                                           \
			fn(*at);                                                                   \
	}

/* errno stays: a return value may be made of it */
static inline void bwl_close_auto(int *fd)
{
	int was = errno;

	if (*fd >= 0)
		close(*fd);
	errno = was;
}

static inline void bwl_free_auto(void *at)
{
	free(*(void **)at);
}

#define BWL_AUTO_CLOSE BWL_AUTO(bwl_close)
#define BWL_AUTO_FREE BWL_AUTO(bwl_free)

static inline int bwl_take_fd(int *fd)
{
	int was = *fd;

	*fd = -1;
	return was;
}

#define bwl_take_ptr(at)                                                                           \
	({                                                                                         \
		__typeof__(at) bwl_at_ = (at);                                                     \
		__typeof__(*(at)) bwl_was_ = *bwl_at_;                                             \
		*bwl_at_ = NULL;                                                                   \
		bwl_was_;                                                                          \
	})

#endif
