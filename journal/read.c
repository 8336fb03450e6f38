// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the journal's files. A record is on disk before `end` names it: so what `end` names must be
 * there, and nothing relied on what follows it. A compacted file replaces the old one in one
 * rename, and says after which record it continues: `end` may still name that record.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <openssl/evp.h>
#include <bwl/cleanup.h>
#include "file.h"

#define FILE_MAX (256U << 20) /* bytes of a file that is read */

void bwl_journal_anchor_make(struct bwl_journal_anchor *a, uint64_t seq, const uint8_t *digest)
{
	memset(a, 0, sizeof(*a));
	memcpy(a->magic, "bwljend", 7);
	a->seq = seq;
	memcpy(a->digest, digest, sizeof(a->digest));
	EVP_Digest(a, offsetof(struct bwl_journal_anchor, sum), a->sum, NULL, EVP_sha256(), NULL);
}

static bool anchor_reads(const uint8_t *end, size_t size, unsigned sector,
			 struct bwl_journal_anchor *ret)
{
	struct bwl_journal_anchor want;

	if (size < sector * BWL_JOURNAL_SECTOR + sizeof(*ret))
		return false;
	memcpy(ret, end + sector * BWL_JOURNAL_SECTOR, sizeof(*ret));
	bwl_journal_anchor_make(&want, ret->seq, ret->digest);
	return !memcmp(ret, &want, sizeof(want));
}

bool bwl_journal_anchor_find(const uint8_t *end, size_t size, struct bwl_journal_anchor *ret)
{
	struct bwl_journal_anchor x;
	bool found = false;

	for (unsigned i = 0; i < 2; i++) {
		if (!anchor_reads(end, size, i, &x) || (found && x.seq < ret->seq))
			continue;
		*ret = x;
		found = true;
	}
	return found;
}

static void cut(struct bwl_journal *j, const char *why)
{
	bwl_closed_free(&j->closed);
	j->state = BWL_JOURNAL_CUT;
	snprintf(j->why, sizeof(j->why), "%s", why);
}

/* A damaged record: if it can be read, what it closes counts. */
static void take_torn(struct bwl_journal *j, const struct bwl_journal_rec *r)
{
	if (r->seq == j->seq + 1 &&
	    (r->kind == BWL_J_CLOSE || r->kind == BWL_J_STOP || r->kind == BWL_J_CLAMP))
		bwl_closed_add(&j->closed, r);
}

struct walk {
	const struct bwl_journal_anchor *end;
	bool met;      /* the record that `end` names was found */
	uint64_t must; /* records that the file had from its beginning, after the first */
};

/* false: the journal ends here. */
static bool take(struct bwl_journal *j, struct walk *w, const uint8_t *at, size_t left)
{
	struct bwl_journal_rec r;
	struct bwl_pfx *pfx;
	uint8_t digest[32];
	size_t size;
	enum bwl_journal_read got = bwl_journal_decode(at, left, j->digest, &r, &pfx, &size,
						       digest);
	bool first = !j->records;

	if (got == BWL_JR_TORN && w->met)
		take_torn(j, &r);
	if (got != BWL_JR_WHOLE || first != (r.kind == BWL_J_BEGIN) ||
	    (!first && r.seq != j->seq + 1) || (first && r.seq != r.after_seq + 1) ||
	    (w->met && j->seq >= w->end->seq && j->records > w->must &&
	     bwl_journal_opens(r.kind))) {
		free(pfx);
		return false;
	}
	if (first) {
		w->must = r.records;
		w->met = r.after_seq == w->end->seq &&
			 !memcmp(r.after, w->end->digest, sizeof(r.after));
	}
	bwl_closed_add(&j->closed, &r);
	free(pfx);
	j->seq = r.seq;
	j->records++;
	memcpy(j->digest, digest, sizeof(digest));
	j->end += size;
	if (j->seq == w->end->seq && !memcmp(j->digest, w->end->digest, sizeof(j->digest)))
		w->met = true;
	return true;
}

void bwl_journal_parse(const uint8_t *log, size_t size, const uint8_t *end, size_t end_size,
		       struct bwl_journal *j)
{
	struct bwl_journal_anchor a;
	struct walk w = { .end = &a };

	memset(j, 0, sizeof(*j));
	j->state = BWL_JOURNAL_OK;
	if (!bwl_journal_anchor_find(end, end_size, &a)) {
		cut(j, "the file `end` cannot be read");
		return;
	}
	j->anchor_seq = a.seq;
	memcpy(j->anchor_digest, a.digest, sizeof(a.digest));
	while (j->end < size && take(j, &w, log + j->end, size - j->end))
		;
	j->torn = size - j->end;
	if (!w.met || j->records < w.must + 1)
		cut(j, j->torn ? "a record in the middle cannot be read"
			       : "acknowledged records are gone");
	else
		bwl_closed_settle(&j->closed);
}

int bwl_journal_file(const char *dir, const char *name, uint8_t **ret, size_t *ret_n)
{
	char path[BWL_JOURNAL_PATH];
	struct stat st;
	size_t n = 0;
	ssize_t r = 1;
	int fd, err = 0;

	*ret = NULL;
	*ret_n = 0;
	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > (off_t)FILE_MAX)
		err = -EFBIG;
	*ret = err ? NULL : malloc((size_t)st.st_size + 1);
	while (*ret && r > 0 && n < (size_t)st.st_size) {
		r = read(fd, *ret + n, (size_t)st.st_size - n);
		n += r > 0 ? (size_t)r : 0;
	}
	if (r < 0)
		err = -errno;
	close(fd);
	if (!*ret && !err)
		err = -ENOMEM;
	if (err)
		free(bwl_take_ptr(ret));
	*ret_n = n;
	return err;
}

/* After a killed `journal init` the journal still counts as cut. */
static bool was_set_aside(const char *dir)
{
	char log[BWL_JOURNAL_PATH], end[BWL_JOURNAL_PATH];

	return snprintf(log, sizeof(log), "%s/log.bad", dir) >= (int)sizeof(log) ||
	       snprintf(end, sizeof(end), "%s/end.bad", dir) >= (int)sizeof(end) ||
	       !access(log, F_OK) || !access(end, F_OK);
}

void bwl_journal_look(const char *dir, struct bwl_journal *j)
{
	uint8_t *log = NULL, *end = NULL;
	size_t n = 0, nend = 0;
	int r, r2;

	memset(j, 0, sizeof(*j));
	if (!dir)
		return;
	r = bwl_journal_file(dir, "log", &log, &n);
	r2 = bwl_journal_file(dir, "end", &end, &nend);
	if (r == -ENOENT && r2 == -ENOENT && was_set_aside(dir)) {
		j->state = BWL_JOURNAL_CUT;
		snprintf(j->why, sizeof(j->why),
			 "there is none in %.150s, only one that was set aside (*.bad)", dir);
	} else if (r == -ENOENT && r2 == -ENOENT) {
		j->state = BWL_JOURNAL_MISSING;
		snprintf(j->why, sizeof(j->why), "there is none in %.200s", dir);
	} else if (r || r2) {
		j->state = BWL_JOURNAL_CUT;
		snprintf(j->why, sizeof(j->why), "%.200s/%s: %s", dir, r ? "log" : "end",
			 strerror(r ? -r : -r2));
	} else {
		bwl_journal_parse(log, n, end, nend, j);
	}
	free(log);
	free(end);
}

bool bwl_journal_has(const char *dir, uint64_t seq, const uint8_t digest[BWL_JOURNAL_DIGEST])
{
	uint8_t *log, prev[BWL_JOURNAL_DIGEST] = { 0 }, mine[BWL_JOURNAL_DIGEST] = { 0 };
	size_t n, at = 0, size;
	struct bwl_journal_rec r;
	struct bwl_pfx *pfx;
	bool has = false, done = bwl_journal_file(dir, "log", &log, &n);

	while (!done && at < n) {
		done = bwl_journal_decode(log + at, n - at, prev, &r, &pfx, &size, mine) !=
		       BWL_JR_WHOLE;
		free(pfx);
		if (!done && !at && r.after_seq >= seq) {
			has = r.after_seq > seq || !memcmp(r.after, digest, sizeof(r.after));
			done = true;
		} else if (!done && r.seq == seq) {
			has = !memcmp(mine, digest, sizeof(mine));
			done = true;
		}
		memcpy(prev, mine, sizeof(prev));
		at += size;
	}
	free(log);
	return has;
}

void bwl_journal_free(struct bwl_journal *j)
{
	bwl_closed_free(&j->closed);
}
