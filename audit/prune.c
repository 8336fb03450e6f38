// SPDX-License-Identifier: GPL-2.0-or-later
/* See prune.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "prune.h"

static void name_of(char buf[static BWL_AUDIT_NAME], uint64_t first, const char *tail)
{
	snprintf(buf, BWL_AUDIT_NAME, "log-%020llu.%s", (unsigned long long)first, tail);
}

/* Bytes; 0 of what is not there. */
static uint64_t size_of(int dir_fd, uint64_t first, const char *tail)
{
	char name[BWL_AUDIT_NAME];
	struct stat st;

	name_of(name, first, tail);
	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ? 0 : (uint64_t)st.st_size;
}

static bool is_there(int dir_fd, uint64_t first, const char *tail)
{
	char name[BWL_AUDIT_NAME];

	name_of(name, first, tail);
	return !faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

static bool is_damaged(int dir_fd, uint64_t first)
{
	return is_there(dir_fd, first, "damaged");
}

/* Half made, or beside a file that has gone: of a file that is still read nothing is taken here. */
static bool is_left(int dir_fd, const char *name)
{
	const char *tail;
	uint64_t first;

	if (!strncmp(name, ".log-", strlen(".log-")))
		return true;
	tail = bwl_audit_name(name, &first);
	return tail && (!strcmp(tail, "kept") || !strcmp(tail, "damaged")) &&
	       !is_there(dir_fd, first, "jsonl") && !is_there(dir_fd, first, "hashes");
}

int bwl_audit_prune_sweep(const char *dir, int dir_fd, struct bwl_err *e)
{
	struct bwl_audit_file *file = NULL;
	DIR *d = opendir(dir);
	struct dirent *de;
	size_t n = 0;
	int r;

	if (!d)
		return bwl_fail(e, errno, "cannot read the audit log in %s: %s", dir,
				strerror(errno));
	r = bwl_audit_files(dir, &file, &n, e);
	while (!r && n && (de = readdir(d))) {
		uint64_t first = 0;

		/* what somebody tore a hole into further on is not ours */
		if (bwl_audit_name(de->d_name, &first) && first >= file[0].first)
			continue;
		if (is_left(dir_fd, de->d_name) && unlinkat(dir_fd, de->d_name, 0))
			r = bwl_fail(e, errno, "cannot remove %s/%s: %s", dir, de->d_name,
				     strerror(errno));
	}
	closedir(d);
	free(file);
	return r;
}

/* What is read of a file that goes. */
struct look {
	const struct bwl_note_key *key;
	struct bwl_audit_cut *cut;
	struct bwl_frontier head;	/* of its first checkpoint */
	bool any_head;
	size_t room, hash_room;
	struct bwl_audit_problem first;	/* that was found */
	uint64_t problems, kept;
};

static void *room_for(void *p, size_t *room, size_t need, size_t unit)
{
	while (*room < need)
		*room = *room ? 2 * *room : 4096;
	p = realloc(p, *room * unit);
	if (!p)
		abort();
	return p;
}

static void merge(struct bwl_audit_damage *to, uint64_t from, uint64_t end)
{
	if (!to->to || from < to->from)
		to->from = from;
	if (end > to->to)
		to->to = end;
}

static void keep_line(struct look *l, const char *line, size_t len)
{
	struct bwl_audit_cut *c = l->cut;

	c->kept = room_for(c->kept, &l->room, c->kept_len + len + 1, 1);
	memcpy(c->kept + c->kept_len, line, len);
	c->kept_len += len;
	c->kept[c->kept_len++] = '\n';
}

static int on_item(const struct bwl_audit_item *i, void *arg)
{
	struct look *l = arg;
	struct bwl_audit_cut *c = l->cut;
	struct bwl_audit_damage told;
	struct bwl_checkpoint head;

	if (i->kind == BWL_AUDIT_CHECKPOINT && !l->any_head)
		l->any_head = !bwl_checkpoint_open(l->key, i->note, i->note_len, &head, NULL) &&
			      bwl_audit_frontier(i, &head, &l->head);
	if (i->kind != BWL_AUDIT_RECORD)
		return 0;
	c->hash = room_for(c->hash, &l->hash_room, c->hashes + 1, sizeof(*c->hash));
	c->hash[c->hashes++] = i->leaf;
	if (c->what == BWL_CUT_ALL && bwl_audit_tells_damage(i, &told))
		merge(&c->damage, told.from, told.to);
	if (json_is_true(json_object_get(i->json, "junk")))
		return 0;
	l->kept++;
	keep_line(l, i->line, i->len);
	return 0;
}

static void on_problem(const struct bwl_audit_problem *p, void *arg)
{
	struct look *l = arg;

	/* what a record tells of other files is carried on, and no damage of this one */
	if (p->fault != BWL_FAULT_DAMAGED && !l->problems++)
		l->first = *p;
}

/* The first line of what is kept: the file's first checkpoint, signed with a hash of the others. */
static int put_head(struct look *l, struct bwl_err *e)
{
	char extension[80] = BWL_AUDIT_KEPT_EXTENSION, text[BWL_HASH_TEXT], *line, *all;
	struct bwl_audit_cut *c = l->cut;
	struct bwl_hash rest;
	size_t n;

	bwl_hash_plain(c->kept, c->kept_len, &rest);
	strcat(extension, bwl_hash_format(&rest, text));
	line = bwl_audit_signed_line(&l->head, extension, l->key, e);
	if (!line)
		return -EIO;
	n = strlen(line);
	line[n++] = '\n';	/* in place of the NUL */
	all = malloc(n + c->kept_len);
	if (!all)
		abort();
	memcpy(all, line, n);
	if (c->kept_len)
		memcpy(all + n, c->kept, c->kept_len);
	free(line);
	free(c->kept);
	c->kept = all;
	c->kept_len += n;
	return 0;
}

/* Is it whole? Else nothing is taken out of it. */
static int look_into(const char *dir, const struct bwl_audit_file *file, size_t n, struct look *l,
		     struct bwl_err *e)
{
	struct bwl_audit_cut *c = l->cut;
	int r = bwl_audit_verify_file(dir, file, n, l->key, on_item, on_problem, l, e);

	if (r)
		return r;
	if (l->problems) {
		merge(&c->damage, c->from, c->to);
		if (c->what == BWL_CUT_JUNK)
			c->what = BWL_CUT_REFUSED;
	}
	c->gone = c->to - c->from - (c->what == BWL_CUT_JUNK ? l->kept : 0);
	return c->what == BWL_CUT_JUNK ? put_head(l, e) : 0;
}

static void say(struct look *l)
{
	struct bwl_audit_cut *c = l->cut;
	unsigned long long from = c->from, last = c->to - 1;

	switch (c->what) {
	case BWL_CUT_JUNK:
		snprintf(c->text, sizeof(c->text), "records %llu to %llu: %llu of a host's junk are only hashes from now on, to keep the log below its size",
			 from, last, (unsigned long long)c->gone);
		break;
	case BWL_CUT_REFUSED:
		snprintf(c->text, sizeof(c->text), "records %llu to %llu (%s) are damaged and stay as they are, until they are the oldest: %.160s",
			 from, last, c->name, l->first.text);
		break;
	default:
		snprintf(c->text, sizeof(c->text), "records %llu to %llu are removed with their hashes, to keep the log below its size%s",
			 from, last, c->damage.to ? "; there was damage in them, or before them" : "");
	}
}

int bwl_audit_prune_look(const char *dir, int dir_fd, uint64_t size, const struct bwl_note_key *k,
			 struct bwl_audit_cut *ret, struct bwl_err *e)
{
	static const char *const tails[] = { "jsonl", "hashes", "kept" };
	struct look l = { .key = k, .cut = ret };
	struct bwl_audit_file *file = NULL;
	uint64_t all = 0, cut = 0;
	size_t n = 0, lines = SIZE_MAX, i;
	int r = bwl_audit_files(dir, &file, &n, e);

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < n; i++) {
		bool whole = !file[i].hashes && !is_damaged(dir_fd, file[i].first);
		uint64_t bytes = 0;

		for (size_t t = 0; t < sizeof(tails) / sizeof(*tails); t++)
			bytes += size_of(dir_fd, file[i].first, tails[t]);
		all += bytes;
		cut += whole ? 0 : bytes;	/* nothing of it can go but all */
		if (whole && lines == SIZE_MAX && i + 1 < n)	/* the last one is being written */
			lines = i;
	}
	if (r || all <= size || n < 2) {
		free(file);
		return r;
	}
	i = lines != SIZE_MAX && (cut <= size / 2 || !lines) ? lines : 0;
	ret->what = i == lines ? BWL_CUT_JUNK : BWL_CUT_ALL;
	ret->from = file[i].first;
	ret->to = file[i + 1].first;
	strcpy(ret->name, file[i].name);
	r = look_into(dir, file + i, n - i, &l, e);
	if (r)
		bwl_audit_prune_free(ret);
	else
		say(&l);
	free(file);
	return r;
}

void bwl_audit_prune_free(struct bwl_audit_cut *c)
{
	free(c->hash);
	free(c->kept);
	memset(c, 0, sizeof(*c));
}

bool bwl_audit_prune_stands(int dir_fd, const struct bwl_audit_cut *c)
{
	return !faccessat(dir_fd, c->name, F_OK, AT_SYMLINK_NOFOLLOW) &&
	       (c->what != BWL_CUT_REFUSED || !is_damaged(dir_fd, c->from));
}

static int make(const char *dir, int dir_fd, uint64_t first, const char *tail, const void *data,
		size_t len, struct bwl_err *e)
{
	char name[BWL_AUDIT_NAME];

	name_of(name, first, tail);
	return bwl_audit_make_file(dir, dir_fd, name, data, len, 0, e);
}

static int take(const char *dir, int dir_fd, uint64_t first, const char *tail, struct bwl_err *e)
{
	char name[BWL_AUDIT_NAME];

	name_of(name, first, tail);
	if (unlinkat(dir_fd, name, 0) && errno != ENOENT)
		return bwl_fail(e, errno, "cannot remove %s/%s: %s", dir, name, strerror(errno));
	return 0;
}

static int cut_junk(const char *dir, int dir_fd, const struct bwl_audit_cut *c, struct bwl_err *e)
{
	/* made anew: they are all that is left of the lines, and the lines have just been verified */
	int r = make(dir, dir_fd, c->from, "hashes", c->hash, c->hashes * sizeof(*c->hash), e);

	if (!r)
		r = make(dir, dir_fd, c->from, "kept", c->kept, c->kept_len, e);
	return r ? r : take(dir, dir_fd, c->from, "jsonl", e);
}

static int cut_all(const char *dir, int dir_fd, const struct bwl_audit_cut *c, struct bwl_err *e)
{
	/* what was kept is read only beside its hashes, so those go first */
	static const char *const tails[] = { "damaged", "hashes", "jsonl", "kept" };
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(tails) / sizeof(*tails); i++)
		r = take(dir, dir_fd, c->from, tails[i], e);
	return r;
}

int bwl_audit_prune_do(const char *dir, int dir_fd, const struct bwl_audit_cut *c,
		       struct bwl_err *e)
{
	switch (c->what) {
	case BWL_CUT_JUNK:
		return cut_junk(dir, dir_fd, c, e);
	case BWL_CUT_ALL:
		return cut_all(dir, dir_fd, c, e);
	case BWL_CUT_REFUSED:
		return make(dir, dir_fd, c->from, "damaged", c->text, strlen(c->text), e);
	default:
		return 0;
	}
}
