/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files for members of bwlimit-read, so that readers need not be root. They are only data for
 * people and their monitoring: nothing is decided by them.
 */
#ifndef BWL_FOR_READERS_H
#define BWL_FOR_READERS_H

#include <sys/stat.h>
#include <bwl/err.h>

/*
 * Writes the whole file, by one rename: 0640 with the group, or for its writer alone if there is no
 * such group, or the writer may not give files to it (bwl_group_give()). A reader finds either the
 * old content or the new, and can open both.
 */
int bwl_for_readers_put(const char *path, const char *text, struct bwl_err *e);
/*
 * Opens such a file. ret: its attributes, for its age. -ENOENT: there is none; -EACCES: not
 * readable by you; -EBADMSG: root did not make it.
 */
int bwl_for_readers_open(const char *path, struct stat *ret, struct bwl_err *e);

#endif
