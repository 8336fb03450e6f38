/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lock of a folder that others may open. What somebody may open he may lock: flock(2) takes any
 * descriptor, a POSIX read lock one for reading. So the lock is on a file that nobody else can
 * open.
 */
#ifndef BWL_LOCK_H
#define BWL_LOCK_H

#define BWL_LOCK_FILE ".lock"

/* Does not wait: -EWOULDBLOCK. *ret: keeps it until it is closed. 0 or -errno. */
int bwl_lock_folder(int dir_fd, int *ret);

#endif
