/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes with file descriptors beside them, over a Unix socket: SCM_RIGHTS, unix(7). */
#ifndef BWL_FDS_H
#define BWL_FDS_H

#include <stddef.h>
#include <sys/types.h>

#define BWL_FDS_MAX 8 /* of ours; the kernel takes 253 (SCM_MAX_FD, include/net/scm.h) */

/*
 * One sendmsg() of buf, with the n descriptors in fd, which stay the caller's; n of 0: none.
 * flags: as sendmsg() takes them; nobody is killed by SIGPIPE. As sendmsg() returns, with errno:
 * fewer bytes than len may have gone, and the descriptors went with the first of them.
 */
ssize_t bwl_send_fds(int to, const void *buf, size_t len, const int *fd, size_t n, int flags);

#endif
