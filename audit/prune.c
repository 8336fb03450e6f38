// SPDX-License-Identifier: GPL-2.0-or-later
/* See prune.h. */
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

/* Its first checkpoint and the records that are no junk, as lines. */
struct kept {
	char *buf;
	size_t n, room;
	uint64_t records;
	bool head;
};

static int keep(const struct bwl_audit_item *i, void *arg)
{
	struct kept *k = arg;

	if (i->kind == BWL_AUDIT_CHECKPOINT ? k->head : i->kind != BWL_AUDIT_RECORD ||
							json_is_true(json_object_get(i->json, "junk")))
		return 0;
	k->head = true;
	k->records += i->kind == BWL_AUDIT_RECORD;
	while (k->room < k->n + i->len + 1) {
		k->room = k->room ? 2 * k->room : 1 << 16;
		k->buf = realloc(k->buf, k->room);
		if (!k->buf)
			abort();
	}
	memcpy(k->buf + k->n, i->line, i->len);
	k->n += i->len;
	k->buf[k->n++] = '\n';
	return 0;
}

static int keep_rest(const char *dir, int dir_fd, const struct bwl_audit_file *file, struct bwl_audit_cut *ret,
		     struct bwl_err *e)
{
	char path[BWL_AUDIT_PATH], name[BWL_AUDIT_NAME];
	struct kept k = { 0 };
	int r = bwl_audit_path(path, dir, file->name, e);
	FILE *f = r ? NULL : fopen(path, "re");

	if (!f)
		return r ? r : bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	r = bwl_audit_scan_file(f, file->name, keep, &k, e);
	fclose(f);
	name_of(name, file->first, "kept");
	if (!r)
		r = bwl_audit_make_file(dir, dir_fd, name, k.buf, k.n, 0, e);
	ret->kept = k.records;
	free(k.buf);
	return r;
}

static int cut_lines(const char *dir, int dir_fd, const struct bwl_audit_file *file, struct bwl_audit_cut *ret,
		     struct bwl_err *e)
{
	uint64_t n = ret->to - ret->from;
	int r;

	/* a log of an older version may have none; it can be made only while the lines are there */
	if (size_of(dir_fd, file->first, "hashes") != 32 * n)
		return bwl_fail(e, ENOENT, "%s/%s has no hashes beside it: it is not pruned", dir, file->name);
	r = keep_rest(dir, dir_fd, file, ret, e);
	ret->any = !r;
	snprintf(ret->text, sizeof(ret->text), "records %llu to %llu: %llu of a host's junk are only hashes from now on, to keep the log below its size",
		 (unsigned long long)ret->from, (unsigned long long)ret->to - 1,
		 (unsigned long long)(n - ret->kept));
	return r;
}

static void cut_all(struct bwl_audit_cut *ret)
{
	ret->any = ret->remove = true;
	snprintf(ret->text, sizeof(ret->text), "records %llu to %llu are removed with their hashes, to keep the log below its size",
		 (unsigned long long)ret->from, (unsigned long long)ret->to - 1);
}

int bwl_audit_prune_next(const char *dir, int dir_fd, uint64_t size, struct bwl_audit_cut *ret, struct bwl_err *e)
{
	struct bwl_audit_file *file = NULL;
	uint64_t all = 0, cut = 0;
	size_t n = 0, lines = 0, i;
	int r = bwl_audit_files(dir, &file, &n, e);

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < n; i++) {
		uint64_t rest = size_of(dir_fd, file[i].first, "hashes") + size_of(dir_fd, file[i].first, "kept");

		all += rest + size_of(dir_fd, file[i].first, "jsonl");
		cut += file[i].hashes ? rest : 0;
	}
	while (lines + 1 < n && file[lines].hashes)
		lines++;	/* the oldest that has its lines; the last one is being written */
	if (r || all <= size || n < 2) {
		free(file);
		return r;
	}
	i = lines + 1 < n && (cut <= size / 2 || !lines) ? lines : 0;
	ret->from = file[i].first;
	ret->to = file[i + 1].first;
	if (i == lines && lines + 1 < n)
		r = cut_lines(dir, dir_fd, &file[i], ret, e);
	else
		cut_all(ret);
	free(file);
	return r;
}

static int take(const char *dir, int dir_fd, uint64_t first, const char *tail, struct bwl_err *e)
{
	char name[BWL_AUDIT_NAME];

	name_of(name, first, tail);
	if (unlinkat(dir_fd, name, 0) && errno != ENOENT)
		return bwl_fail(e, errno, "cannot remove %s/%s: %s", dir, name, strerror(errno));
	return 0;
}

int bwl_audit_prune_do(const char *dir, int dir_fd, const struct bwl_audit_cut *c, struct bwl_err *e)
{
	int r;

	if (!c->remove)
		return take(dir, dir_fd, c->from, "jsonl", e);
	/* what was kept is read only beside its hashes, so those go first */
	r = take(dir, dir_fd, c->from, "hashes", e);
	return r ? r : take(dir, dir_fd, c->from, "kept", e);
}
