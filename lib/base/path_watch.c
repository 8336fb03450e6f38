// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/path_watch.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include "bwl/cleanup.h"
#include "bwl/path_watch.h"

#define LINKS_MAX 40U   /* as the kernel follows */
#define PLACES_MAX 256U /* a name in a folder each */

#define IN_FOLDER                                                                                  \
	(IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |        \
	 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
#define OF_FILE (IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)

/* A name whose events in a folder matter; empty: those of the watched thing itself. */
struct place {
	int wd;
	char name[NAME_MAX + 1];
};

struct bwl_path_watch {
	int fd;
	char *path; /* absolute */
	struct place *place, *old;
	unsigned n, nold;
};

static void add(struct bwl_path_watch *w, const char *at, uint32_t mask, const char *name)
{
	int wd = w->n < PLACES_MAX ? inotify_add_watch(w->fd, at, mask) : -1;
	struct place *p;

	if (wd < 0) /* not to be read, or too many: who looks from time to time finds it */
		return;
	p = &w->place[w->n++];
	p->wd = wd;
	snprintf(p->name, sizeof(p->name), "%s", name);
}

/* The first name of rest, which goes on behind it; false: none is left. */
static bool cut(char *rest, char name[static NAME_MAX + 1])
{
	size_t from = strspn(rest, "/"), len = strcspn(rest + from, "/");

	if (!len || len > NAME_MAX)
		return false;
	memcpy(name, rest + from, len);
	name[len] = '\0';
	memmove(rest, rest + from + len, strlen(rest + from + len) + 1);
	return true;
}

/* done becomes its folder. */
static void leave(char *done)
{
	char *slash = strrchr(done, '/');

	if (slash)
		*slash = '\0';
}

/*
 * Name by name, as the kernel follows it. A folder is watched before its name is looked at: what
 * changes in between is an event.
 */
static void follow(struct bwl_path_watch *w)
{
	char done[PATH_MAX] = "", rest[PATH_MAX], name[NAME_MAX + 1], at[PATH_MAX + NAME_MAX + 2];
	char to[PATH_MAX], more[2 * PATH_MAX];
	unsigned links = 0;
	ssize_t n;

	snprintf(rest, sizeof(rest), "%s", w->path);
	while (cut(rest, name)) {
		if (!strcmp(name, "."))
			continue;
		if (!strcmp(name, "..")) {
			leave(done);
			continue;
		}
		add(w, *done ? done : "/", IN_FOLDER, name);
		snprintf(at, sizeof(at), "%s/%s", done, name);
		n = readlink(at, to, sizeof(to) - 1);
		if (n < 0 && errno != EINVAL)
			return; /* it is not there: its folder tells when it is */
		if (n < 0) {
			if (strlen(at) >= sizeof(done))
				return;
			strcpy(done, at);
			continue;
		}
		to[n] = '\0';
		if (++links > LINKS_MAX)
			return;
		if (*to == '/')
			*done = '\0';
		if ((size_t)snprintf(more, sizeof(more), "%s/%s", to, rest) >= sizeof(rest))
			return;
		strcpy(rest, more);
	}
	add(w, *done ? done : "/", OF_FILE, "");
}

static bool has(const struct place *p, unsigned n, int wd)
{
	while (n--)
		if (p[n].wd == wd)
			return true;
	return false;
}

/* What is watched still stays so: a watch is removed only when its place is on the way no more. */
static void renew(struct bwl_path_watch *w)
{
	struct place *was = w->place;

	w->place = w->old;
	w->old = was;
	w->nold = w->n;
	w->n = 0;
	follow(w);
	for (unsigned i = 0; i < w->nold; i++)
		if (!has(w->place, w->n, w->old[i].wd) && !has(w->old, i, w->old[i].wd))
			inotify_rm_watch(w->fd, w->old[i].wd);
}

static bool matters(const struct bwl_path_watch *w, const struct inotify_event *e)
{
	if (e->mask & IN_Q_OVERFLOW)
		return true;
	for (unsigned i = 0; i < w->n; i++)
		if (w->place[i].wd == e->wd && (!e->len || !strcmp(w->place[i].name, e->name)))
			return true;
	return false;
}

bool bwl_path_watch_drain(struct bwl_path_watch *w)
{
	_Alignas(struct inotify_event) char buf[8192];
	const struct inotify_event *e;
	bool any = false;
	ssize_t n, at;

	while ((n = read(w->fd, buf, sizeof(buf))) > 0)
		for (at = 0; at < n; at += (ssize_t)(sizeof(*e) + e->len)) {
			e = (const struct inotify_event *)(buf + at);
			any = any || matters(w, e);
		}
	if (any)
		renew(w);
	return any;
}

int bwl_path_watch_fd(const struct bwl_path_watch *w)
{
	return w->fd;
}

void bwl_path_watch_free(struct bwl_path_watch *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	free(w->path);
	free(w->place);
	free(w->old);
	free(w);
}
BWL_AUTO_DEFINE(bwl_path_watch_free, struct bwl_path_watch *)

int bwl_path_watch_new(const char *path, struct bwl_path_watch **ret, struct bwl_err *e)
{
	BWL_AUTO(bwl_path_watch_free) struct bwl_path_watch *w = calloc(1, sizeof(*w));
	char here[PATH_MAX];

	if (!w)
		return bwl_fail(e, ENOMEM, "out of memory");
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0)
		return bwl_fail(e, errno, "cannot watch %s: %s", path, strerror(errno));
	if (*path != '/' && !getcwd(here, sizeof(here)))
		return bwl_fail(e, errno, "cannot watch %s: %s", path, strerror(errno));
	if (asprintf(&w->path, "%s/%s", *path == '/' ? "" : here, path) < 0)
		w->path = NULL;
	w->place = calloc(PLACES_MAX, sizeof(*w->place));
	w->old = calloc(PLACES_MAX, sizeof(*w->old));
	if (!w->path || !w->place || !w->old)
		return bwl_fail(e, ENOMEM, "out of memory");
	renew(w);
	*ret = bwl_take_ptr(&w);
	return 0;
}
