/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups whose members may read, or do, what otherwise only root may. */
#ifndef BWL_GROUP_H
#define BWL_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

#define BWL_GROUP "bwlimit"           /* change, with bwlimit-ctl */
#define BWL_GROUP_READ "bwlimit-read" /* read, with bwlimit-ctl */
#define BWL_GROUP_SYNC "bwlimit-sync" /* documents in, numbers out */

/* From /etc/group only, so that a hanging directory server delays nobody. false: there is none. */
bool bwl_group_id(const char *name, gid_t *ret);
/* Is the socket's peer root, this process' user, or a member of one of these groups? */
bool bwl_is_of_groups(int fd, const gid_t *gid, unsigned n);

#endif
