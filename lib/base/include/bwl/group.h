/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups whose members may read, or do, what otherwise only root may. */
#ifndef BWL_GROUP_H
#define BWL_GROUP_H

#include <stdbool.h>
#include <sys/types.h>
#include <bwl/err.h>

#define BWL_GROUP "bwlimit"           /* change, with bwlimit-ctl */
#define BWL_GROUP_READ "bwlimit-read" /* read, with bwlimit-ctl */
#define BWL_GROUP_SYNC "bwlimit-sync" /* documents in, numbers out */

/* From /etc/group only, so that a hanging directory server delays nobody. false: there is none. */
bool bwl_group_id(const char *name, gid_t *ret);
/*
 * Gives an open file to a group, with a mode, if the group exists. A process that may not give it
 * away, because it is neither a member nor privileged, keeps the file as it is, for its owner, and
 * says so once for each group: its own work goes on. What is new should be 0600 or 0700 before, and
 * be written before. 0 or -errno.
 */
int bwl_group_give(int fd, const char *name, mode_t mode);
/*
 * Of a path, to a group that is known by its number. Who may not give it away fails: pins are how
 * others read and operate. 0 or -errno.
 */
int bwl_group_give_path(const char *path, gid_t gid, mode_t mode);
/* Adds the next step to an error of it; as bwl_hint(). */
int bwl_group_hint(struct bwl_err *e);
/* Is the socket's peer root, this process' user, or a member of one of these groups? */
bool bwl_is_of_groups(int fd, const gid_t *gid, unsigned n);

#endif
