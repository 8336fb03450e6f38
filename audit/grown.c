// SPDX-License-Identifier: GPL-2.0-or-later
/* See grown.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bwl/cleanup.h"
#include "grown.h"

/* A checkpoint follows every record, so the last one is within two lines of the end. */
#define TAIL (3 * BWL_AUDIT_LINE)

/* Is this line a whole checkpoint of the key? */
static bool take_mark(const struct bwl_note_key *k, const char *line, size_t len,
		      struct bwl_audit_mark *ret)
{
	struct bwl_audit_item i;
	bool ok;

	memset(&i, 0, sizeof(i));
	bwl_audit_parse(line, len, &i);
	ok = i.kind == BWL_AUDIT_CHECKPOINT && i.note_len < sizeof(ret->note) &&
	     !bwl_checkpoint_open(k, i.note, i.note_len, &ret->c, NULL) &&
	     bwl_audit_frontier(&i, &ret->c, &ret->frontier);
	if (ok)
		snprintf(ret->note, sizeof(ret->note), "%.*s", (int)i.note_len, i.note);
	json_decref(i.json);
	return ok;
}

/* The last checkpoint at the end of a file. buf has len bytes, beginning at that offset. */
static bool last_mark(const struct bwl_note_key *k, const char *buf, size_t len, uint64_t offset,
		      struct bwl_audit_mark *ret)
{
	const char *end, *line;

	while ((end = memrchr(buf, '\n', len))) {
		line = memrchr(buf, '\n', (size_t)(end - buf));
		line = line ? line + 1 : buf;
		/* in the middle of a file the first line may be the end of one */
		if ((line > buf || !offset) && take_mark(k, line, (size_t)(end - line), ret)) {
			ret->offset = offset + (uint64_t)(end + 1 - buf);
			return true;
		}
		len = (size_t)(line - buf);
	}
	return false;
}

static int read_end(const char *dir, const char *name, const struct bwl_note_key *k,
		    struct bwl_audit_mark *ret, struct bwl_err *e)
{
	BWL_AUTO_FREE char *buf = malloc(TAIL);
	BWL_AUTO_CLOSE int fd = -1;
	char path[BWL_AUDIT_PATH];
	ssize_t n;
	off_t at;
	int r = bwl_audit_path(path, dir, name, e);

	if (r)
		return r;
	if (!buf)
		abort();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	at = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (at < 0)
		return bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	at = at > TAIL ? at - TAIL : 0;
	n = pread(fd, buf, TAIL, at);
	if (n < 0)
		return bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	if (!last_mark(k, buf, (size_t)n, (uint64_t)at, ret))
		return bwl_fail(e, ENOENT, "%s has no checkpoint of the key %s at its end", path,
				k->name);
	snprintf(ret->file, sizeof(ret->file), "%s", name);
	return 0;
}

int bwl_audit_public_key(const char *dir, struct bwl_note_key *ret, struct bwl_err *e)
{
	char path[BWL_AUDIT_PATH], text[BWL_NOTE_KEY_TEXT + 2] = "";
	FILE *f = NULL;
	int r = bwl_audit_path(path, dir, "key.pub", e);

	if (!r)
		f = fopen(path, "re");
	if (!f)
		return r ? r : bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	if (!fgets(text, sizeof(text), f))
		*text = '\0';
	fclose(f);
	return bwl_note_key_parse(text, ret, e);
}

int bwl_audit_newest(const char *dir, const struct bwl_note_key *k, struct bwl_audit_mark *ret,
		     struct bwl_err *e)
{
	BWL_AUTO_FREE struct bwl_audit_file *file = NULL;
	size_t n = 0;
	int r = bwl_audit_files(dir, &file, &n, e);

	memset(ret, 0, sizeof(*ret));
	if (!r && !n)
		r = bwl_fail(e, ENOENT, "%s has no log", dir);
	return r ? r : read_end(dir, file[n - 1].name, k, ret, e);
}

enum { NO_BEGIN = 1, ONE_HASH, DONE };

struct climb {
	const struct bwl_note_key *k;
	struct bwl_frontier f; /* of what is before the current place, while below m */
	bool begun;
	struct bwl_prover *p;
};

/* The frontier describes all of the first m records: the largest subtree is the leftmost. */
static void reach(struct climb *c)
{
	for (unsigned b = 64; b-- > 0 && c->p->next < c->p->m;)
		if (c->f.n >> b & 1)
			bwl_prover_node(c->p, b, &c->f.node[b]);
}

static int on_climb(const struct bwl_audit_item *i, void *arg)
{
	struct climb *c = arg;
	struct bwl_checkpoint at;

	if (c->begun && c->p->next >= c->p->n)
		return DONE;
	if (i->kind == BWL_AUDIT_CHECKPOINT && !c->begun) {
		if (bwl_checkpoint_open(c->k, i->note, i->note_len, &at, NULL) ||
		    at.size > c->p->m || !bwl_audit_frontier(i, &at, &c->f))
			return NO_BEGIN;
		c->begun = true;
		if (c->f.n == c->p->m)
			reach(c);
		return 0;
	}
	if (i->kind != BWL_AUDIT_NODE && i->kind != BWL_AUDIT_RECORD && i->kind != BWL_AUDIT_LEAF)
		return 0;
	if (!c->begun)
		return NO_BEGIN;
	if (c->p->next >= c->p->m)
		return bwl_prover_node(c->p, i->bits, &i->leaf) ? 0 : ONE_HASH;
	if (!bwl_frontier_add_node(&c->f, i->bits, &i->leaf) || c->f.n > c->p->m)
		return ONE_HASH;
	if (c->f.n == c->p->m)
		reach(c);
	return 0;
}

static int ended(int r, const char *dir, const struct bwl_prover *p, struct bwl_err *e)
{
	if (r == ONE_HASH)
		return bwl_fail(
			e, ENOENT,
			"the records around %llu were pruned to one hash in %s: no proof can start there",
			(unsigned long long)p->m, dir);
	if (r == NO_BEGIN)
		return bwl_fail(e, ENOENT,
				"the first records of the log, or their hashes, are not in %s",
				dir);
	if (r >= 0 && p->next < p->n)
		return bwl_fail(e, EBADMSG,
				"%s has %llu records, but its newest checkpoint covers %llu", dir,
				(unsigned long long)p->next, (unsigned long long)p->n);
	return r < 0 ? r : 0;
}

static int check_sizes(uint64_t m, uint64_t n, struct bwl_err *e)
{
	return m <= n ? 0
		      : bwl_fail(
				e, ERANGE,
				"the old checkpoint covers %llu records, the log's newest %llu: the log was cut",
				(unsigned long long)m, (unsigned long long)n);
}

int bwl_audit_prove_from(const char *dir, const struct bwl_audit_mark *from, uint64_t n,
			 struct bwl_prover *ret, struct bwl_err *e)
{
	BWL_AUTO_FREE struct bwl_audit_file *file = NULL;
	struct climb c = { .f = from->frontier, .begun = true, .p = ret };
	char path[BWL_AUDIT_PATH];
	size_t nfiles = 0, i = 0;
	FILE *f = NULL;
	int r = check_sizes(from->c.size, n, e);

	bwl_prover_begin(ret, from->c.size, n);
	reach(&c);
	if (!r)
		r = bwl_audit_files(dir, &file, &nfiles, e);
	if (!r)
		r = bwl_audit_path(path, dir, from->file, e);
	while (!r && i < nfiles && strcmp(file[i].name, from->file))
		i++;
	if (!r && i < nfiles)
		f = fopen(path, "re");
	if (!r && (!f || fseeko(f, (off_t)from->offset, SEEK_SET)))
		r = bwl_fail(e, ENOENT, "%s was changed", path);
	if (!r)
		r = bwl_audit_scan_file(f, from->file, on_climb, &c, e);
	if (f)
		fclose(f);
	if (!r)
		r = bwl_audit_scan_files(dir, file + i + 1, nfiles - i - 1, on_climb, &c, e);
	return ended(r, dir, ret, e);
}

int bwl_audit_prove(const char *dir, const struct bwl_note_key *k, uint64_t m, uint64_t n,
		    struct bwl_prover *ret, struct bwl_err *e)
{
	BWL_AUTO_FREE struct bwl_audit_file *file = NULL;
	size_t nfiles = 0, i = 0;
	int r = check_sizes(m, n, e);

	if (!r)
		r = bwl_audit_files(dir, &file, &nfiles, e);
	if (r)
		return r;
	while (i < nfiles && file[i].first <= m)
		i++;
	/*
	 * A file with only hashes does not say what was before it: then the scan begins at the
	 * previous file.
	 */
	for (r = NO_BEGIN; r == NO_BEGIN && i-- > 0;) {
		struct climb c = { .k = k, .begun = !file[i].first, .p = ret };

		bwl_prover_begin(ret, m, n);
		r = bwl_audit_scan_files(dir, file + i, nfiles - i, on_climb, &c, e);
	}
	return ended(r, dir, ret, e);
}
