// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/for_readers.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "bwl/for_readers.h"

int bwl_for_readers_put(const char *path, const char *text, struct bwl_err *e)
{
	const struct bwl_replace how = { .for_readers = true, .unsynced = true };

	return bwl_bytes_replace_path(path, &how, text, strlen(text), e);
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
