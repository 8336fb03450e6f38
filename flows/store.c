/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See store.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bwl/bytes.h>
#include <bwl/group.h>
#include "store.h"

#define NAME_FORMAT "%016" PRIu64 ".jsonl"
#define FRESH "new.jsonl"
#define HEAD_BYTES 512
#define TRIES 8 /* a full disk: so many times the oldest make room */

struct file {
	uint64_t number, bytes;
};

struct flows_store {
	int dir;
	char path[400];
	uint64_t most, bytes, next;
	struct file *file; /* oldest first */
	size_t n, room;
	struct flows_id newest;
	bool has_newest;
};

const char *flows_store_name(uint64_t number, char buf[static FLOWS_NAME])
{
	snprintf(buf, FLOWS_NAME, NAME_FORMAT, number);
	return buf;
}

static bool number_of(const char *name, uint64_t *ret)
{
	char again[FLOWS_NAME];

	return sscanf(name, "%16" SCNu64, ret) == 1 && !strcmp(name, flows_store_name(*ret, again));
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int flows_store_list(const char *path, uint64_t **ret, size_t *ret_n, struct bwl_err *e)
{
	DIR *d = opendir(path);
	size_t n = 0, room = 0;
	uint64_t *all = NULL, number;
	struct dirent *f;

	if (!d)
		return bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	while ((f = readdir(d))) {
		if (!number_of(f->d_name, &number))
			continue;
		if (n == room)
			all = bwl_must(reallocarray(all, room = 2 * room + 64, sizeof(*all)));
		all[n++] = number;
	}
	closedir(d);
	if (n)
		qsort(all, n, sizeof(*all), by_number);
	*ret = all;
	*ret_n = n;
	return 0;
}

static void note(struct flows_store *s, uint64_t number, uint64_t bytes)
{
	if (s->n == s->room)
		s->file = bwl_must(
			reallocarray(s->file, s->room = 2 * s->room + 64, sizeof(*s->file)));
	s->file[s->n++] = (struct file){ number, bytes };
	s->bytes += bytes;
	s->next = number + 1;
}

/* The oldest, unless it is the only one. */
static bool drop_oldest(struct flows_store *s)
{
	char name[FLOWS_NAME];

	if (s->n < 2 ||
	    (unlinkat(s->dir, flows_store_name(s->file[0].number, name), 0) && errno != ENOENT))
		return false;
	s->bytes -= s->file[0].bytes;
	memmove(s->file, s->file + 1, --s->n * sizeof(*s->file));
	return true;
}

/* What it takes of the disk, and not how long it says it is. */
static uint64_t taken(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512;
}

static void read_newest(struct flows_store *s)
{
	char name[FLOWS_NAME], head[HEAD_BYTES + 1];
	BWL_AUTO_CLOSE int fd = -1;
	ssize_t n;

	if (!s->n)
		return;
	fd = openat(s->dir, flows_store_name(s->file[s->n - 1].number, name), O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, head, HEAD_BYTES);
	if (n <= 0)
		return;
	head[n] = '\0';
	s->has_newest = flows_id_of(head, &s->newest);
}

static int look(struct flows_store *s, struct bwl_err *e)
{
	char name[FLOWS_NAME];
	uint64_t *all = NULL;
	struct stat st;
	size_t n = 0, i;
	int r = flows_store_list(s->path, &all, &n, e);

	for (i = 0; !r && i < n; i++)
		if (!fstatat(s->dir, flows_store_name(all[i], name), &st, AT_SYMLINK_NOFOLLOW))
			note(s, all[i], taken(&st));
	free(all);
	return r;
}

/* Readers of the history read this, too: the same group. */
static int make(struct flows_store *s, struct bwl_err *e)
{
	gid_t readers;

	if (mkdir(s->path, 0700) && errno != EEXIST)
		return bwl_fail(e, errno, "cannot make %s: %s", s->path, strerror(errno));
	s->dir = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->dir < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", s->path, strerror(errno));
	if (bwl_group_id(BWL_GROUP_READ, &readers) &&
	    (fchown(s->dir, (uid_t)-1, readers) || fchmod(s->dir, 0750)))
		return bwl_fail(e, errno, "cannot give %s to a group: %s", s->path,
				strerror(errno));
	return 0;
}

int flows_store_open(const char *state_dir, uint64_t most_bytes, struct flows_store **ret,
		     struct bwl_err *e)
{
	struct flows_store *s = bwl_must(calloc(1, sizeof(*s)));
	int r;

	s->dir = -1;
	s->most = most_bytes;
	s->next = 1;
	snprintf(s->path, sizeof(s->path), "%s/" FLOWS_DIR, state_dir);
	r = make(s, e);
	if (!r) {
		unlinkat(s->dir, FRESH, 0); /* of one who was killed */
		r = look(s, e);
	}
	if (r) {
		flows_store_close(s);
		return r;
	}
	read_newest(s);
	*ret = s;
	return 0;
}

void flows_store_close(struct flows_store *s)
{
	if (s->dir >= 0)
		close(s->dir);
	free(s->file);
	free(s);
}

uint64_t flows_store_next(const struct flows_store *s)
{
	return s->next;
}

const struct flows_id *flows_store_newest(const struct flows_store *s)
{
	return s->has_newest ? &s->newest : NULL;
}

uint64_t flows_store_bytes(const struct flows_store *s, size_t *ret_files)
{
	*ret_files = s->n;
	return s->bytes;
}

/* Readable before it has its name, so that no reader finds it and may not open it. */
static int write_fresh(struct flows_store *s, const char *text, size_t len, uint64_t *ret)
{
	BWL_AUTO_CLOSE int fd = -1;
	struct stat st;
	gid_t readers;
	int r;

	unlinkat(s->dir, FRESH, 0);
	fd = openat(s->dir, FRESH, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (bwl_group_id(BWL_GROUP_READ, &readers) &&
	    (fchown(fd, (uid_t)-1, readers) || fchmod(fd, 0640)))
		return -errno;
	r = bwl_bytes_write(fd, text, len);
	if (!r && (fdatasync(fd) || fstat(fd, &st)))
		r = -errno;
	if (!r)
		*ret = taken(&st);
	return r;
}

int flows_store_put(struct flows_store *s, const struct flows_id *id, const char *text, size_t len,
		    struct bwl_err *e)
{
	uint64_t bytes = 0;
	char name[FLOWS_NAME];
	unsigned tries;
	int r;

	while (s->bytes + len > s->most && drop_oldest(s))
		;
	r = write_fresh(s, text, len, &bytes);
	for (tries = 0; (r == -ENOSPC || r == -EDQUOT) && tries < TRIES && drop_oldest(s); tries++)
		r = write_fresh(s, text, len, &bytes);
	if (!r && renameat(s->dir, FRESH, s->dir, flows_store_name(s->next, name)))
		r = -errno;
	if (r) {
		unlinkat(s->dir, FRESH, 0);
		return bwl_fail(e, -r, "cannot write below %s: %s", s->path, strerror(-r));
	}
	note(s, s->next, bytes);
	s->newest = *id;
	s->has_newest = true;
	return 0;
}
