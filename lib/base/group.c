/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See bwl/group.h. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bwl/cleanup.h"
#include "bwl/err.h"
#include "bwl/group.h"

/*
 * NAME:PASSWORD:GID:MEMBERS, lines of any length: fgetgrent_r() reads a line that is too long for
 * ever.
 */
bool bwl_group_id(const char *name, gid_t *ret)
{
	FILE *f = fopen("/etc/group", "re");
	BWL_AUTO_FREE char *line = NULL;
	size_t room = 0, n = strlen(name);
	bool found = false;

	while (f && !found && getline(&line, &room, f) > 0) {
		char *id = strncmp(line, name, n) || line[n] != ':' ? NULL
								    : strchr(line + n + 1, ':');
		char *end = NULL;
		unsigned long v = id ? strtoul(id + 1, &end, 10) : 0;

		found = id && end != id + 1 && *end == ':' && v < (gid_t)-1;
		if (found)
			*ret = (gid_t)v;
	}
	if (f)
		fclose(f);
	return found;
}

static int kept(const char *name)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	if (errno != EPERM)
		return -errno;
	if (!atomic_flag_test_and_set(&told))
		bwl_warn(
			"not a member of group %s: that group cannot read what this process writes",
			name);
	return 0;
}

int bwl_group_give(int fd, const char *name, mode_t mode)
{
	gid_t gid;

	if (!bwl_group_id(name, &gid))
		return 0;
	return fchown(fd, (uid_t)-1, gid) || fchmod(fd, mode) ? kept(name) : 0;
}

int bwl_group_give_path(const char *path, gid_t gid, mode_t mode)
{
	char name[16];

	snprintf(name, sizeof(name), "%lu", (unsigned long)gid);
	return chown(path, (uid_t)-1, gid) || chmod(path, mode) ? kept(name) : 0;
}

static bool is_one(gid_t id, const gid_t *gid, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (gid[i] == id)
			return true;
	return false;
}

bool bwl_is_of_groups(int fd, const gid_t *gid, unsigned n)
{
	BWL_AUTO_FREE gid_t *more = NULL;
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
		return false;
	if (!who.uid || who.uid == geteuid() || is_one(who.gid, gid, n))
		return true;
	len = 0; /* Linux >= 4.13 */
	if (!n || !getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) || errno != ERANGE)
		return false;
	more = malloc(len);
	if (!more || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, more, &len))
		return false;
	for (unsigned i = 0; i < len / sizeof(*more); i++)
		if (is_one(more[i], gid, n))
			return true;
	return false;
}
