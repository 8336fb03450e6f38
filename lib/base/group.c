/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See bwl/group.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bwl/cleanup.h"
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
