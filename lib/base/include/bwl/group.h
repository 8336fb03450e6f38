/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups whose members may read, or do, what else only root may. */
#ifndef BWL_GROUP_H
#define BWL_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

#define BWL_GROUP "bwlimit"           /* what bwlimit-ctl does */
#define BWL_GROUP_READ "bwlimit-read" /* what it shows */
#define BWL_GROUP_SYNC "bwlimit-sync" /* documents in, numbers out */

/* Of /etc/group alone: a directory server that hangs holds up nobody. false: there is none. */
bool bwl_group_id(const char *name, gid_t *ret);
/* Is whoever connected to the socket root, or this process' user, or of one of these groups? */
bool bwl_is_of_groups(int fd, const gid_t *gid, unsigned n);

#endif
