/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See bwl/for_readers.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "bwl/for_readers.h"
#include "bwl/group.h"

/*
 * The file becomes readable when it is whole, and before it gets its name: no reader finds one that
 * cannot be opened, or has one open that is half written.
 */
static int write_new(const char *path, const char *text)
{
	BWL_AUTO_CLOSE int fd = -1;
	int r;

	unlink(path); /* left by a killed process */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = bwl_bytes_write(fd, text, strlen(text));
	return r ? r : bwl_group_give(fd, BWL_GROUP_READ, 0640);
}

int bwl_for_readers_put(const char *path, const char *text, struct bwl_err *e)
{
	char fresh[PATH_MAX];
	int r = 0;

	if ((size_t)snprintf(fresh, sizeof(fresh), "%s.new", path) >= sizeof(fresh))
		r = -ENAMETOOLONG;
	if (!r)
		r = write_new(fresh, text);
	if (!r && rename(fresh, path))
		r = -errno;
	if (!r)
		return 0;
	unlink(fresh);
	return bwl_fail(e, -r, "cannot write %s: %s", path, strerror(-r));
}

int bwl_for_readers_open(const char *path, struct stat *ret, struct bwl_err *e)
{
	/* a FIFO at that path blocks nobody */
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	if (!fstat(fd, ret) && S_ISREG(ret->st_mode) && !ret->st_uid)
		return fd;
	close(fd);
	return bwl_fail(e, EBADMSG, "%s is not a regular file owned by root", path);
}
