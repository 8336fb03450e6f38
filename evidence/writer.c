// SPDX-License-Identifier: GPL-2.0-or-later
/* See writer.h. */
#include <bwl/bytes.h>
#include <bwl/cleanup.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/log.h"
#include "entered.h"
#include "flows/list.h"
#include "keys.h"
#include "writer.h"

#define DAY_S 86400
#define AT_ONCE 16 /* intervals per step, so that the caller's other work gets its turn */
#define BACK 10000 /* newest files, at most, that are searched for one that is in the log */
#define PAUSE_MAX_S 60
#define HEAD 4096 /* bytes of a file, enough for its first line */

struct ev_writer {
	char state_dir[400], dir[BWL_AUDIT_PATH];
	struct bwl_audit_log *log;
	struct ev_entered entered;
	bool known, skipped; /* skipped: the file before the next one was not entered */
	uint64_t done;       /* files up to this number are done */
	uint64_t epoch;
	bool has_key;
	uint8_t key[32];
	/*
	 * The computed entry of a file that is not in the log yet. It is kept because computing it
	 * takes long.
	 */
	struct stat made_of; /* st_ino 0: none */
	struct ev_entry made;
};

struct ev_writer *ev_writer_new(const char *state_dir, const char *dir)
{
	struct ev_writer *w = bwl_must(calloc(1, sizeof(*w)));

	dir = bwl_audit_dir(dir);
	snprintf(w->state_dir, sizeof(w->state_dir), "%s", state_dir);
	snprintf(w->dir, sizeof(w->dir), "%s", dir ? dir : "");
	return w;
}

void ev_writer_free(struct ev_writer *w)
{
	if (!w)
		return;
	bwl_audit_close(w->log);
	ev_entered_free(&w->entered);
	explicit_bzero(w, sizeof(*w));
	free(w);
}

static int open_file(const struct ev_writer *w, uint64_t number)
{
	char path[500], name[FLOWS_NAME];

	snprintf(path, sizeof(path), "%s/" FLOWS_DIR "/%s", w->state_dir,
		 flows_store_name(number, name));
	return open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

static bool read_id(const struct ev_writer *w, uint64_t number, struct ev_id *ret)
{
	BWL_AUTO_CLOSE int fd = open_file(w, number);
	char head[HEAD];
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));
	const char *nl = n > 0 ? memchr(head, '\n', (size_t)n) : NULL;

	return nl && ev_id_parse(head, (size_t)(nl - head), ret);
}

/* The last file that is in the log. A log without any begins with the newest file. */
static uint64_t find_done(struct ev_writer *w, const uint64_t *number, size_t n)
{
	struct ev_id id;
	size_t i;

	if (!w->entered.n)
		return n > 1 ? number[n - 2] : 0;
	for (i = n; i-- > 0 && n - i <= BACK;)
		if (read_id(w, number[i], &id) && ev_entered_has(&w->entered, &id))
			return number[i];
	return n > BACK ? number[n - BACK - 1] : 0;
}

static int look(struct ev_writer *w, const uint64_t *number, size_t n, struct bwl_err *e)
{
	int r;

	if (w->known)
		return 0;
	ev_entered_free(&w->entered);
	r = ev_entered_read(w->dir, &w->entered, e);
	if (r)
		return r;
	w->done = find_done(w, number, n);
	w->known = true;
	return 0;
}

static int take_key(struct ev_writer *w, uint64_t epoch, struct bwl_err *e)
{
	int r;

	if (w->has_key && w->epoch == epoch)
		return 0;
	r = ev_key_make(w->state_dir, epoch, w->key, e);
	w->has_key = !r;
	w->epoch = epoch;
	return r;
}

static int append(struct ev_writer *w, const struct ev_entry *x, struct bwl_err *e)
{
	json_t *data = ev_entry_json(x);
	char text[100];
	int r;

	snprintf(text, sizeof(text), "commitment to the flow records of interval %llu",
		 (unsigned long long)x->id.sequence);
	r = bwl_audit_append(w->log, BWL_AUDIT_REGULAR, EV_EVENT, text, data, NULL, e);
	json_decref(data);
	if (r && r != -EBUSY)
		w->known = false; /* the entry may be in the log nevertheless */
	return r;
}

/* The day on which the interval ended; today if that is not known. */
static uint64_t day_of(const char *text, size_t len, int64_t wall_s)
{
	const char *nl = memchr(text, '\n', len);
	struct ev_id id;
	int64_t end_s;

	if (nl && ev_id_parse(text, (size_t)(nl - text), &id) && ev_time_s(id.end, &end_s))
		wall_s = end_s;
	return (uint64_t)(wall_s / DAY_S);
}

static bool is_made(const struct ev_writer *w, const struct stat *st)
{
	const struct stat *was = &w->made_of;

	return was->st_ino && was->st_ino == st->st_ino && was->st_dev == st->st_dev &&
	       was->st_size == st->st_size && was->st_mtim.tv_sec == st->st_mtim.tv_sec &&
	       was->st_mtim.tv_nsec == st->st_mtim.tv_nsec;
}

/* Computes w->made. -EBADMSG: not an interval's file; -ENOENT: it was deleted meanwhile. */
static int make(struct ev_writer *w, uint64_t number, int64_t wall_s, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = open_file(w, number);
	struct ev_interval v;
	struct stat st;
	char *text;
	size_t len;
	bool good;
	int r;

	if (fd < 0 || fstat(fd, &st))
		return bwl_fail(e, errno, "an interval's file: %s", strerror(errno));
	if (is_made(w, &st))
		return 0;
	w->made_of.st_ino = 0;
	r = bwl_bytes_read(fd, EV_FILE_MAX, &text, &len, e);
	if (r)
		return r;
	r = take_key(w, day_of(text, len, wall_s), e);
	if (r) {
		free(text);
		return -EIO; /* not the file's fault, so the file is not skipped */
	}
	r = ev_interval_make(text, len, w->key, &v, e);
	if (r)
		return r;
	good = ev_entry_of(&v, w->epoch, NULL, &w->made);
	ev_interval_free(&v);
	if (!good)
		return bwl_fail(e, EBADMSG, "its sums are above 2^64");
	w->made_of = st;
	return 0;
}

static int enter(struct ev_writer *w, uint64_t number, int64_t wall_s, struct bwl_err *e)
{
	const struct ev_entry *last = w->entered.n ? &w->entered.last : NULL;
	struct ev_entry x;
	int r = make(w, number, wall_s, e);

	if (r)
		return r;
	x = w->made;
	if (last)
		x.previous = last->root;
	if (w->skipped || w->entered.unread || (last && !ev_follows(&last->id, &x.id)))
		x.id.gap = true;
	r = append(w, &x, e);
	if (r)
		return r;
	w->made_of.st_ino = 0;
	ev_entered_add(&w->entered, &x);
	return 0;
}

static int enter_some(struct ev_writer *w, const uint64_t *number, size_t n, int64_t wall_s,
		      struct bwl_err *e)
{
	unsigned entered = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		if (number[i] <= w->done)
			continue;
		if (entered == AT_ONCE)
			return 1;
		r = enter(w, number[i], wall_s, e);
		if (r == -EBADMSG || r == -EOVERFLOW || r == -E2BIG || r == -EFBIG ||
		    r == -ENOENT) {
			bwl_warn("%s/" FLOWS_DIR ", file %llu is not in the audit log: %s",
				 w->state_dir, (unsigned long long)number[i], e->text);
			w->skipped = true;
		} else if (r) {
			return r;
		} else {
			w->skipped = false;
			entered++;
		}
		w->done = number[i];
	}
	return 0;
}

unsigned ev_writer_pause_s(unsigned failures)
{
	return failures < 6 ? 1U << failures : PAUSE_MAX_S;
}

int ev_writer_step(struct ev_writer *w, int64_t wall_s, struct bwl_err *e)
{
	uint64_t *number = NULL;
	char path[500];
	size_t n = 0;
	int r = 0;

	if (!*w->dir)
		return 0;
	if (!w->log)
		r = bwl_audit_open(w->dir, &w->log, e);
	if (r || !w->log)
		return r;
	if (wall_s < 0)
		return bwl_fail(e, ERANGE, "the clock is before 1970: set it");
	snprintf(path, sizeof(path), "%s/" FLOWS_DIR, w->state_dir);
	r = flows_store_list(path, &number, &n, e);
	/* The folder was moved away, and a new one was begun. */
	if (!r && n && w->known && number[n - 1] < w->done)
		w->known = false;
	if (!r)
		r = look(w, number, n, e);
	if (!r)
		r = enter_some(w, number, n, wall_s, e);
	free(number);
	return r;
}
