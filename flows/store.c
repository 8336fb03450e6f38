// SPDX-License-Identifier: GPL-2.0-or-later
/* See store.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <bwl/bytes.h>
#include <bwl/group.h>
#include "store.h"

/* Readers take *.jsonl: what is not whole yet, and soon has another name, is called otherwise. */
#define FRESH "new.tmp"
#define THIN "thin.tmp"
#define HEAD_BYTES 512
#define BLOCK 4096 /* a file of at most this size does not get smaller without its flows */

struct file {
	uint64_t number, bytes;
};

struct flows_store {
	int dir;
	char path[400];
	uint64_t most, bytes, next;
	struct file *file; /* oldest first */
	size_t n, room;
	size_t nthin; /* the oldest ones, which have no flows any more */
	uint64_t thinned, dropped;
	struct flows_id newest;
	bool has_newest;
};

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
	s->nthin -= s->nthin > 0;
	s->dropped++;
	return true;
}

/* The space it takes on the disk, not its nominal length. */
static uint64_t taken(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512;
}

static bool read_head(const struct flows_store *s, size_t i, char head[static HEAD_BYTES + 1])
{
	char name[FLOWS_NAME];
	BWL_AUTO_CLOSE int fd = openat(s->dir, flows_store_name(s->file[i].number, name),
				       O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, head, HEAD_BYTES);

	head[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/*
 * Files without flows are the oldest; among them there may be one that was too small to be thinned.
 */
static void read_heads(struct flows_store *s)
{
	char head[HEAD_BYTES + 1];
	size_t lo = 0, hi = s->n, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (read_head(s, mid, head) && strstr(head, FLOWS_THIN))
			lo = mid + 1;
		else
			hi = mid;
	}
	s->nthin = lo;
	s->has_newest = s->n && read_head(s, s->n - 1, head) && flows_id_of(head, &s->newest);
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

/* Readers of the history also read this: it has the same group. */
static int make(struct flows_store *s, struct bwl_err *e)
{
	int r;

	if (mkdir(s->path, 0700) && errno != EEXIST)
		return bwl_fail(e, errno, "cannot make %s: %s", s->path, strerror(errno));
	s->dir = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->dir < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", s->path, strerror(errno));
	r = bwl_group_give(s->dir, BWL_GROUP_READ, 0750);
	return r ? bwl_fail(e, -r, "cannot give %s to a group: %s", s->path, strerror(-r)) : 0;
}

/*
 * Left by a killed process, also of version 0.3. With one name for all of them; so, and because a
 * thinned file is a copy that keeps its time, not by bwl_bytes_replace_at().
 */
static void drop_rests(struct flows_store *s)
{
	static const char *const name[] = { FRESH, THIN, "new.jsonl", "thin.jsonl" };

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		unlinkat(s->dir, name[i], 0);
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
		drop_rests(s);
		r = look(s, e);
	}
	if (r) {
		flows_store_close(s);
		return r;
	}
	read_heads(s);
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

void flows_store_lost(const struct flows_store *s, uint64_t *ret_thinned, uint64_t *ret_dropped)
{
	*ret_thinned = s->thinned;
	*ret_dropped = s->dropped;
}

static int open_new(const struct flows_store *s, const char *name, int *ret)
{
	unlinkat(s->dir, name, 0);
	*ret = openat(s->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return *ret < 0 ? -errno : 0;
}

/* When it is whole, and before it gets its name: no reader finds a file that cannot be opened. */
static int give(int fd)
{
	return bwl_group_give(fd, BWL_GROUP_READ, 0640);
}

static int write_fresh(struct flows_store *s, const char *text, size_t len, uint64_t *ret)
{
	BWL_AUTO_CLOSE int fd = -1;
	struct stat st;
	int r = open_new(s, FRESH, &fd);

	if (!r)
		r = bwl_bytes_write(fd, text, len);
	if (!r)
		r = give(fd);
	if (!r && (fdatasync(fd) || fstat(fd, &st)))
		r = -errno;
	if (!r)
		*ret = taken(&st);
	else
		unlinkat(s->dir, FRESH, 0);
	return r;
}

/* Copies all lines except flows, and marks the first one. */
static bool copy_thin(FILE *from, FILE *to)
{
	char *line = NULL, *mark;
	size_t room = 0;
	ssize_t n;
	bool first = true;

	while ((n = getline(&line, &room, from)) > 0) {
		mark = first ? strstr(line, FLOWS_WHOLE) : NULL;
		if (mark)
			fprintf(to, "%.*s" FLOWS_THIN "%s", (int)(mark - line), line,
				mark + sizeof(FLOWS_WHOLE) - 1);
		else if (strncmp(line, FLOWS_FLOW, sizeof(FLOWS_FLOW) - 1))
			fwrite(line, 1, (size_t)n, to);
		first = false;
	}
	free(line);
	return !ferror(from) && !ferror(to) && !fflush(to);
}

/* It keeps its time: readers rely on when an interval was written. */
static bool write_thin(const struct flows_store *s, const char *name, FILE *from, FILE *to,
		       uint64_t *ret)
{
	struct timespec times[2];
	struct stat st;

	if (fstat(fileno(from), &st) || !copy_thin(from, to) || give(fileno(to)))
		return false;
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (futimens(fileno(to), times) || fdatasync(fileno(to)) || fstat(fileno(to), &st))
		return false;
	*ret = taken(&st);
	return !renameat(s->dir, THIN, s->dir, name);
}

static FILE *stream_of(int fd, const char *mode)
{
	FILE *f = fd < 0 ? NULL : fdopen(fd, mode);

	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* The oldest that still has its flows loses them. The newest keeps them. */
static bool thin_oldest(struct flows_store *s)
{
	struct file *f = &s->file[s->nthin];
	char name[FLOWS_NAME];
	uint64_t bytes = f->bytes;
	FILE *from, *to;
	bool done = true;
	int fd = -1, r;

	if (s->nthin + 1 >= s->n)
		return false;
	if (f->bytes > BLOCK) {
		from = stream_of(openat(s->dir, flows_store_name(f->number, name),
					O_RDONLY | O_CLOEXEC),
				 "r");
		r = open_new(s, THIN, &fd);
		to = stream_of(fd, "w");
		done = !r && from && to && write_thin(s, name, from, to, &bytes);
		if (from)
			fclose(from);
		if (to)
			fclose(to);
		if (!done)
			unlinkat(s->dir, THIN, 0);
		s->thinned += done;
	}
	s->bytes -= f->bytes - bytes;
	f->bytes = bytes;
	s->nthin += done;
	return done;
}

static bool make_room(struct flows_store *s)
{
	return thin_oldest(s) || drop_oldest(s);
}

static uint64_t free_bytes(const struct flows_store *s)
{
	struct statvfs v;

	return fstatvfs(s->dir, &v) ? 0 : (uint64_t)v.f_bavail * v.f_frsize;
}

/* If the disk is full older intervals make room, if that can be enough. */
static int write_somehow(struct flows_store *s, const char *text, size_t len, uint64_t *ret)
{
	uint64_t need = len + BLOCK, begun = s->bytes, others;
	int r = write_fresh(s, text, len, ret);

	while (r == -ENOSPC || r == -EDQUOT) {
		others = s->n ? s->bytes - s->file[s->n - 1].bytes : 0;
		/*
		 * If the space that was freed does not help, something else is full: no more
		 * intervals are removed.
		 */
		if (free_bytes(s) + others < need || begun - s->bytes >= need || !make_room(s))
			break;
		while (free_bytes(s) < need && begun - s->bytes < need && make_room(s))
			;
		r = write_fresh(s, text, len, ret);
	}
	return r;
}

int flows_store_put(struct flows_store *s, const struct flows_id *id, const char *text, size_t len,
		    struct bwl_err *e)
{
	uint64_t bytes = 0;
	char name[FLOWS_NAME];
	int r;

	while (s->bytes + len > s->most && make_room(s))
		;
	r = write_somehow(s, text, len, &bytes);
	if (!r && renameat(s->dir, FRESH, s->dir, flows_store_name(s->next, name))) {
		r = -errno;
		unlinkat(s->dir, FRESH, 0);
	}
	if (r)
		return bwl_fail(e, -r, "cannot write below %s: %s", s->path, strerror(-r));
	note(s, s->next, bytes);
	s->newest = *id;
	s->has_newest = true;
	return 0;
}
