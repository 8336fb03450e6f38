// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/group.h. */
#include <errno.h>
#include <limits.h>
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

/* Of which file? Once for each group. */
static void tell_kept(int fd, const char *name, int why)
{
	static const char *const groups[] = { BWL_GROUP, BWL_GROUP_READ, BWL_GROUP_SYNC };
	static atomic_bool told[sizeof(groups) / sizeof(groups[0])];
	char link[40], path[PATH_MAX];
	ssize_t n;

	for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (!strcmp(groups[i], name) && atomic_exchange(&told[i], true))
			return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	bwl_warn(
		"cannot give %s to group %s (%s): only its owner can open it; start this program as a member (SupplementaryGroups=%s, or usermod -aG %s USER)",
		n > 0 ? path : "a file", name, strerror(why), name, name);
}

/* EINVAL: the group is not mapped in this user namespace. */
static int kept(int fd, const char *name)
{
	int why = errno;

	if (why != EPERM && why != EINVAL)
		return -why;
	tell_kept(fd, name, why);
	return 0;
}

int bwl_group_give(int fd, const char *name, mode_t mode)
{
	gid_t gid;

	if (!bwl_group_id(name, &gid))
		return 0;
	return fchown(fd, (uid_t)-1, gid) || fchmod(fd, mode) ? kept(fd, name) : 0;
}

int bwl_group_give_path(const char *path, gid_t gid, mode_t mode)
{
	return chown(path, (uid_t)-1, gid) || chmod(path, mode) ? -errno : 0;
}

int bwl_group_hint(struct bwl_err *e)
{
	if (!e || (e->code != EPERM && e->code != EINVAL))
		return e ? -e->code : -EIO;
	return bwl_hint(
		e,
		"run it with CAP_CHOWN, or as a member of the groups (SupplementaryGroups=" BWL_GROUP
		" " BWL_GROUP_READ " in its unit)");
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
