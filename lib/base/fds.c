// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/fds.h. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include "bwl/fds.h"

ssize_t bwl_send_fds(int to, const void *buf, size_t len, const int *fd, size_t n, int flags)
{
	union {
		char room[CMSG_SPACE(BWL_FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} ctl = { 0 };
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n > BWL_FDS_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (n) {
		m.msg_control = ctl.room;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ .cmsg_len = CMSG_LEN(n * sizeof(int)),
						       .cmsg_level = SOL_SOCKET,
						       .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fd, n * sizeof(int));
	}
	return sendmsg(to, &m, flags | MSG_NOSIGNAL);
}
