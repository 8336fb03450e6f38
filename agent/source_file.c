/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A policy file as the source. Its folder is watched, because a file is usually replaced, not
 * rewritten.
 */
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include "bwl/policy.h"
#include "source.h"

struct file {
	struct agent_source s;
	char *path;
	int fd;
};

static int load(struct agent_source *s, char **ret, size_t *ret_len, struct bwl_err *e)
{
	return bwl_policy_bytes(((struct file *)s)->path, ret, ret_len, e);
}

static int fd_of(const struct agent_source *s)
{
	return ((const struct file *)s)->fd;
}

static void drain(struct agent_source *s)
{
	char buf[4096];

	while (read(((struct file *)s)->fd, buf, sizeof(buf)) > 0)
		;
}

static void end(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f);
}
BWL_AUTO_DEFINE(end, struct file *)

static void file_free(struct agent_source *s)
{
	end((struct file *)s);
}

int agent_source_file(const char *path, struct agent_source **ret, struct bwl_err *e)
{
	static const struct agent_source_ops ops = { load, fd_of, drain, file_free, NULL };
	BWL_AUTO(end) struct file *f = calloc(1, sizeof(*f));
	BWL_AUTO_FREE char *folder = strdup(path);

	if (f)
		f->fd = -1;
	if (!f || !folder || !(f->path = strdup(path)))
		return bwl_fail(e, ENOMEM, "out of memory");
	f->s = (struct agent_source){ .ops = &ops, .name = f->path };
	f->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	/* A folder that does not exist yet is checked every minute. */
	if (f->fd >= 0 &&
	    inotify_add_watch(f->fd, dirname(folder),
			      IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ATTRIB) < 0)
		close(bwl_take_fd(&f->fd));
	*ret = &bwl_take_ptr(&f)->s;
	return 0;
}
