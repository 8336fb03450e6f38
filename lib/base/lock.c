// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/lock.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bwl/cleanup.h"
#include "bwl/lock.h"

int bwl_lock_folder(int dir_fd, int *ret)
{
	BWL_AUTO_CLOSE int fd = openat(dir_fd, BWL_LOCK_FILE,
				       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;

	*ret = -1;
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM; /* somebody else has made it, or given it away */
	if (flock(fd, LOCK_EX | LOCK_NB))
		return -errno;
	*ret = bwl_take_fd(&fd);
	return 0;
}
