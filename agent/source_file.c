// SPDX-License-Identifier: GPL-2.0-or-later
/* A policy file as the source, wherever its name leads (bwl/path_watch.h). */
#include <stdlib.h>
#include <string.h>
#include "bwl/path_watch.h"
#include "bwl/policy.h"
#include "source.h"

struct file {
	struct agent_source s;
	char *path;
	struct bwl_path_watch *watch; /* NULL: it cannot be watched */
};

static int load(struct agent_source *s, char **ret, size_t *ret_len, struct bwl_err *e)
{
	return bwl_policy_bytes(((struct file *)s)->path, ret, ret_len, e);
}

static int fd_of(const struct agent_source *s)
{
	const struct file *f = (const struct file *)s;

	return f->watch ? bwl_path_watch_fd(f->watch) : -1;
}

static bool drain(struct agent_source *s)
{
	struct file *f = (struct file *)s;

	return f->watch && bwl_path_watch_drain(f->watch);
}

static void end(struct file *f)
{
	bwl_path_watch_free(f->watch);
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

	if (!f || !(f->path = strdup(path)))
		return bwl_fail(e, ENOMEM, "out of memory");
	f->s = (struct agent_source){ .ops = &ops, .name = f->path };
	bwl_path_watch_new(path, &f->watch, NULL); /* without one it is loaded every minute */
	*ret = &bwl_take_ptr(&f)->s;
	return 0;
}
