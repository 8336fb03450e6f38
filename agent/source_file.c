/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A policy file as the source. Its folder is watched: a file is replaced more often than written. */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>
#include <openssl/evp.h>
#include "bwl/pins.h"
#include "source.h"

struct file {
	struct agent_source s;
	char *path;
	int fd;
};

/* The normalised text with `until:` as the file has it: read back with the clocks it was read with. */
static int meaning(const struct bwl_policy *p, uint64_t boot_ns, int64_t wall_s, uint8_t id[32],
		   struct bwl_err *e)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int r = f ? bwl_policy_dump(p, boot_ns, wall_s, f) : -ENOMEM;

	if (f && fclose(f) && !r)
		r = -ENOMEM;
	if (!r && EVP_Digest(text, len, id, NULL, EVP_sha256(), NULL) != 1)
		r = -EIO;
	free(text);
	return r ? bwl_fail(e, -r, "cannot normalise the policy: %s", strerror(-r)) : 0;
}

static int load(struct agent_source *s, struct bwl_policy **ret, uint8_t id[32], struct bwl_err *e)
{
	struct file *f = (struct file *)s;
	uint64_t boot_ns = bwl_now_ns();
	int64_t wall_s = time(NULL);
	int r = bwl_policy_load(f->path, boot_ns, wall_s, ret, e);

	if (r)
		return r;
	r = meaning(*ret, boot_ns, wall_s, id, e);
	if (r) {
		bwl_policy_free(*ret);
		*ret = NULL;
	}
	return r;
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

static void file_free(struct agent_source *s)
{
	struct file *f = (struct file *)s;

	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f);
}

int agent_source_file(const char *path, struct agent_source **ret, struct bwl_err *e)
{
	static const struct agent_source_ops ops = { load, fd_of, drain, file_free };
	struct file *f = calloc(1, sizeof(*f));
	char *folder = strdup(path);

	if (!f || !folder || !(f->path = strdup(path))) {
		free(f);
		free(folder);
		return bwl_fail(e, ENOMEM, "out of memory");
	}
	f->s = (struct agent_source){ .ops = &ops, .name = f->path };
	f->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	/* A folder that is not there yet is looked into every minute. */
	if (f->fd >= 0 && inotify_add_watch(f->fd, dirname(folder), IN_CLOSE_WRITE | IN_MOVED_TO |
					    IN_CREATE | IN_DELETE | IN_ATTRIB) < 0) {
		close(f->fd);
		f->fd = -1;
	}
	free(folder);
	*ret = &f->s;
	return 0;
}
