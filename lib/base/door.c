// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/door.h. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "bwl/door.h"

static int reach(const char *path, const char *ending, int flags, unsigned wait_s)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const struct timeval most = { .tv_sec = wait_s };
	int fd, r = -EINTR;

	if (snprintf(at.sun_path, sizeof(at.sun_path), "%s%s", path, ending) >=
	    (int)sizeof(at.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	while (r == -EINTR)
		r = connect(fd, (const struct sockaddr *)&at, sizeof(at)) ? -errno : 0;
	if (!r)
		return fd;
	close(fd);
	return r;
}

int bwl_door_connect(const char *path, int flags, unsigned wait_s)
{
	static const char *const endings[] = { BWL_DOOR_ROOT, BWL_DOOR_OPERATE, BWL_DOOR_READ,
					       BWL_DOOR_SYNC, "" };
	int r = -ENOENT;

	for (unsigned i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		r = reach(path, endings[i], flags, wait_s);
		/* not ours; not there: an older bwlimitd, or one that may not give files away */
		if (r != -EACCES && r != -ENOENT && r != -ECONNREFUSED && r != -ENAMETOOLONG)
			break;
	}
	return r;
}
