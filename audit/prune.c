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

/* The file's bytes; 0 if it is missing. */
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

/*
 * Is it a leftover? Half-made files; files that a `least` replaces; notes about a damaged file that
 * is gone, from before the log's beginning. Remains of tampering are not ours: the kept part of a
 * file whose hashes were removed stays for investigation.
 */
static bool is_left(int dir_fd, const char *name, const struct bwl_audit_file *file, size_t n)
{
	const char *tail;
	uint64_t first, end;

	if (!strncmp(name, ".log-", strlen(".log-")))
		return true;
	tail = bwl_audit_name(name, &first, &end);
	if (!tail || !strcmp(tail, "jsonl"))
		return false;
	for (size_t i = 0; i < n; i++)
		if (file[i].least && first >= file[i].first && first < file[i].end &&
		    strcmp(name, file[i].name))
			return true;
	return first < file[0].first && !strcmp(tail, "damaged") &&
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
	while (!r && n && (de = readdir(d)))
		if (is_left(dir_fd, de->d_name, file, n) && unlinkat(dir_fd, de->d_name, 0))
			r = bwl_fail(e, errno, "cannot remove %s/%s: %s", dir, de->d_name,
				     strerror(errno));
	closedir(d);
	free(file);
	return r;
}

/* What is read of the file that is to be pruned. */
struct look {
	const struct bwl_note_key *key;
	struct bwl_audit_cut *cut;
	struct bwl_frontier head; /* of the file's first checkpoint */
	bool any_head;
	size_t room, hash_room;
	struct bwl_audit_problem first; /* the first problem that was found */
	uint64_t problems, kept;
	uint64_t at; /* number of the next record */
	struct node {
		uint64_t from;
		unsigned bits;
		struct bwl_hash hash;
	} gap[128]; /* nodes over the records removed since the last kept one */
	size_t gaps;
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

/* Two neighbouring nodes become one if the tree has a node over both. */
static void skip(struct look *l, unsigned bits, const struct bwl_hash *hash)
{
	struct node x = { .from = l->at, .bits = bits, .hash = *hash };

	l->at += 1ULL << bits;
	for (; l->gaps; l->gaps--) {
		const struct node *left = &l->gap[l->gaps - 1];

		if (left->bits != x.bits || left->from & ((2ULL << x.bits) - 1))
			break;
		bwl_hash_node(&left->hash, &x.hash, &x.hash);
		x.from = left->from;
		x.bits++;
	}
	l->gap[l->gaps++] = x;
}

static void put_gap(struct look *l)
{
	for (size_t i = 0; i < l->gaps; i++) {
		char *line = bwl_audit_node_line(l->gap[i].bits, &l->gap[i].hash);

		keep_line(l, line, strlen(line));
		free(line);
	}
	l->gaps = 0;
}

static bool is_flagged(const struct bwl_audit_item *i, const char *what)
{
	return json_is_true(json_object_get(i->json, what));
}

/* For `least`: records that an operator did not cause become part of a gap. */
static int on_least(const struct bwl_audit_item *i, struct look *l)
{
	switch (i->kind) {
	case BWL_AUDIT_LEAF:
		skip(l, 0, &i->leaf);
		break;
	case BWL_AUDIT_NODE:
		skip(l, i->bits, &i->leaf);
		break;
	case BWL_AUDIT_RECORD:
		if (is_flagged(i, "host") || is_flagged(i, "regular")) {
			skip(l, 0, &i->leaf);
			break;
		}
		put_gap(l);
		l->at++;
		l->kept++;
		keep_line(l, i->line, i->len);
		break;
	default:
		break;
	}
	/* too many gaps: it is damaged, and nothing is made from it */
	return l->gaps == sizeof(l->gap) / sizeof(*l->gap);
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
	if (c->what == BWL_CUT_HOST)
		return on_least(i, l);
	if (i->kind != BWL_AUDIT_RECORD)
		return 0;
	c->hash = room_for(c->hash, &l->hash_room, c->hashes + 1, sizeof(*c->hash));
	c->hash[c->hashes++] = i->leaf;
	if (c->what == BWL_CUT_ALL && bwl_audit_tells_damage(i, &told))
		merge(&c->damage, told.from, told.to);
	if (is_flagged(i, "junk"))
		return 0;
	l->kept++;
	keep_line(l, i->line, i->len);
	return 0;
}

static void on_problem(const struct bwl_audit_problem *p, void *arg)
{
	struct look *l = arg;

	/* a record about damage in other files is passed on, and is no damage of this one */
	if (p->fault != BWL_FAULT_DAMAGED && !l->problems++)
		l->first = *p;
}

/*
 * The first line of the kept part: the file's first checkpoint, signed together with a hash of the
 * other lines.
 */
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
	line[n++] = '\n'; /* replaces the NUL */
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

/* Are the files intact? If not, nothing is removed from them. */
static int look_into(const char *dir, const struct bwl_audit_file *file, size_t mine, size_t n,
		     struct look *l, struct bwl_err *e)
{
	struct bwl_audit_cut *c = l->cut;
	int r;

	l->at = c->begin = file->first;
	r = bwl_audit_verify_files(dir, file, mine, n, l->key, on_item, on_problem, l, e);
	if (r)
		return r;
	if (c->what == BWL_CUT_HOST)
		put_gap(l);
	if (l->problems) {
		merge(&c->damage, c->from, c->to);
		if (c->what != BWL_CUT_ALL)
			c->what = BWL_CUT_REFUSED;
	}
	c->gone = c->what == BWL_CUT_REFUSED
			  ? 0
			  : c->to - c->begin - (c->what == BWL_CUT_ALL ? 0 : l->kept);
	return c->what == BWL_CUT_JUNK || c->what == BWL_CUT_HOST ? put_head(l, e) : 0;
}

static void say(struct look *l)
{
	struct bwl_audit_cut *c = l->cut;
	unsigned long long from = c->from, last = c->to - 1;

	switch (c->what) {
	case BWL_CUT_JUNK:
		snprintf(
			c->text, sizeof(c->text),
			"records %llu to %llu: hosts' junk, %llu of them, is reduced to hashes, to keep the log within its size",
			from, last, (unsigned long long)c->gone);
		break;
	case BWL_CUT_HOST:
		snprintf(
			c->text, sizeof(c->text),
			"records %llu to %llu: what hosts caused, %llu of them, is reduced to hashes over many, to keep the log within its size",
			from, last, (unsigned long long)c->gone);
		break;
	case BWL_CUT_REFUSED:
		snprintf(
			c->text, sizeof(c->text),
			"records %llu to %llu (%s) are damaged and kept until they are the oldest: %.160s",
			from, last, c->name, l->first.text);
		break;
	default:
		snprintf(
			c->text, sizeof(c->text),
			"records %llu to %llu are removed with their hashes, to keep the log within its size%s",
			from, last,
			c->damage.to ? "; they, or records before them, were damaged" : "");
	}
}

static uint64_t size_of_file(int dir_fd, const struct bwl_audit_file *file)
{
	static const char *const tails[] = { "jsonl", "hashes", "kept" };
	struct stat st;
	uint64_t n = 0;

	if (file->least)
		return fstatat(dir_fd, file->name, &st, AT_SYMLINK_NOFOLLOW) ? 0
									     : (uint64_t)st.st_size;
	for (size_t t = 0; t < sizeof(tails) / sizeof(*tails); t++)
		n += size_of(dir_fd, file->first, tails[t]);
	return n;
}

/* Chooses what to remove, and from which file. BWL_CUT_NONE: nothing. */
static size_t choose(int dir_fd, const struct bwl_audit_file *file, size_t n, uint64_t size,
		     struct bwl_audit_cut *ret)
{
	uint64_t all = 0, cut = 0;
	size_t lines = n, kept = n; /* the oldest file of each kind that is intact */

	for (size_t i = 0; i < n; i++) {
		bool damaged = is_damaged(dir_fd, file[i].first);
		bool whole = !file[i].hashes && !file[i].least && !damaged;
		uint64_t bytes = size_of_file(dir_fd, &file[i]);

		all += bytes;
		cut += whole ? 0 : bytes;
		if (whole && lines == n && i + 1 < n) /* the last one is being written */
			lines = i;
		if (*file[i].kept && !damaged && kept == n)
			kept = i;
	}
	if (all <= size || n < 2)
		return 0;
	/* as long as records caused by a host are left, no whole file is removed */
	if (lines < n && (cut <= size / 2 || kept == n)) {
		ret->what = BWL_CUT_JUNK;
		return lines;
	}
	ret->what = kept < n ? BWL_CUT_HOST : BWL_CUT_ALL;
	return kept < n ? kept : 0;
}

/* Is the previous file small enough to be merged with it? */
static bool is_small(int dir_fd, const struct bwl_audit_file *file, uint64_t size)
{
	return file->least && !is_damaged(dir_fd, file->first) &&
	       size_of_file(dir_fd, file) < size / 8;
}

int bwl_audit_prune_look(const char *dir, int dir_fd, const struct bwl_audit_file *file, size_t n,
			 uint64_t size, const struct bwl_note_key *k, struct bwl_audit_cut *ret,
			 struct bwl_err *e)
{
	struct look *l = calloc(1, sizeof(*l));
	struct bwl_audit_cut was;
	size_t i, before;
	int r = 0;

	if (!l)
		abort();
	memset(ret, 0, sizeof(*ret));
	i = choose(dir_fd, file, n, size, ret);
	if (ret->what == BWL_CUT_NONE)
		goto out;
	ret->from = file[i].first;
	ret->to = file[i + 1].first;
	strcpy(ret->name, file[i].name);
	before = ret->what == BWL_CUT_HOST && i && is_small(dir_fd, &file[i - 1], size);
	was = *ret;
	*l = (struct look){ .key = k, .cut = ret };
	r = look_into(dir, file + i - before, 1 + before, n - i + before, l, e);
	if (!r && before && ret->what == BWL_CUT_REFUSED) { /* which of the two is damaged? */
		bwl_audit_prune_free(ret);
		*ret = was;
		before = 0;
		*l = (struct look){ .key = k, .cut = ret };
		r = look_into(dir, file + i, 1, n - i, l, e);
	}
	if (before)
		strcpy(ret->with, file[i - 1].name);
	if (!r)
		say(l);
	else
		bwl_audit_prune_free(ret);
out:
	free(l);
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
	       (!*c->with || !faccessat(dir_fd, c->with, F_OK, AT_SYMLINK_NOFOLLOW)) &&
	       (c->what != BWL_CUT_REFUSED || !is_damaged(dir_fd, c->from));
}

static int make(const char *dir, int dir_fd, uint64_t first, const char *tail, const void *data,
		size_t len, struct bwl_err *e)
{
	char name[BWL_AUDIT_NAME];

	name_of(name, first, tail);
	return bwl_audit_make_file(dir, dir_fd, name, data, len, 0, e);
}

static int take_name(const char *dir, int dir_fd, const char *name, struct bwl_err *e)
{
	if (unlinkat(dir_fd, name, 0) && errno != ENOENT)
		return bwl_fail(e, errno, "cannot remove %s/%s: %s", dir, name, strerror(errno));
	return 0;
}

static int take(const char *dir, int dir_fd, uint64_t first, const char *tail, struct bwl_err *e)
{
	char name[BWL_AUDIT_NAME];

	name_of(name, first, tail);
	return take_name(dir, dir_fd, name, e);
}

static int cut_junk(const char *dir, int dir_fd, const struct bwl_audit_cut *c, struct bwl_err *e)
{
	/*
	 * written anew: after this they are all that is left of the lines, which have just been
	 * verified
	 */
	int r = make(dir, dir_fd, c->from, "hashes", c->hash, c->hashes * sizeof(*c->hash), e);

	if (!r)
		r = make(dir, dir_fd, c->from, "kept", c->kept, c->kept_len, e);
	return r ? r : take(dir, dir_fd, c->from, "jsonl", e);
}

static int cut_host(const char *dir, int dir_fd, const struct bwl_audit_cut *c, struct bwl_err *e)
{
	char name[BWL_AUDIT_NAME];
	int r;

	snprintf(name, sizeof(name), BWL_AUDIT_NAME_MIN, (unsigned long long)c->begin,
		 (unsigned long long)c->to);
	/* from here on the other files are no longer read */
	r = bwl_audit_make_file(dir, dir_fd, name, c->kept, c->kept_len, 0, e);
	if (!r)
		r = take(dir, dir_fd, c->from, "hashes", e);
	if (!r)
		r = take(dir, dir_fd, c->from, "kept", e);
	if (!r && *c->with)
		r = take_name(dir, dir_fd, c->with, e);
	return r;
}

static int cut_all(const char *dir, int dir_fd, const struct bwl_audit_cut *c, struct bwl_err *e)
{
	/*
	 * in this order kept lines are never there without their hashes, unless somebody else
	 * removes these
	 */
	static const char *const tails[] = { "damaged", "kept", "hashes", "jsonl" };
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(tails) / sizeof(*tails); i++)
		r = take(dir, dir_fd, c->from, tails[i], e);
	return r ? r : take_name(dir, dir_fd, c->name, e);
}

int bwl_audit_prune_do(const char *dir, int dir_fd, const struct bwl_audit_cut *c,
		       struct bwl_err *e)
{
	switch (c->what) {
	case BWL_CUT_JUNK:
		return cut_junk(dir, dir_fd, c, e);
	case BWL_CUT_HOST:
		return cut_host(dir, dir_fd, c, e);
	case BWL_CUT_ALL:
		return cut_all(dir, dir_fd, c, e);
	case BWL_CUT_REFUSED:
		return make(dir, dir_fd, c->from, "damaged", c->text, strlen(c->text), e);
	default:
		return 0;
	}
}
