/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that root leaves for members of bwlimit-read, so that who asks need not be root. They are
 * data for people and their monitoring alone: nothing is decided by them.
 */
#ifndef BWL_FOR_READERS_H
#define BWL_FOR_READERS_H

#include <sys/stat.h>
#include <bwl/err.h>

/*
 * The whole file, by one rename: 0640 of the group, or root's alone where there is no such group. A
 * reader finds what was there before or this, and may open both.
 */
int bwl_for_readers_put(const char *path, const char *text, struct bwl_err *e);
/*
 * To read one. ret: what it is, its age included. -ENOENT: there is none; -EACCES: it is not for
 * you; -EBADMSG: it is none of root's making.
 */
int bwl_for_readers_open(const char *path, struct stat *ret, struct bwl_err *e);

#endif
