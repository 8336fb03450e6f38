// SPDX-License-Identifier: GPL-2.0-or-later
/* See log_end.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "log_end.h"

void bwl_audit_end_close(struct bwl_audit_end *x)
{
	if (x->fd >= 0)
		close(x->fd);
	x->fd = -1;
}

/* A line that is neither, or that is no line, would be BAD for every reader, for ever. */
static bool reads_back(const char *line, size_t n)
{
	struct bwl_audit_item i;

	if (n >= BWL_AUDIT_LINE || memchr(line, '\n', n))
		return false;
	bwl_audit_parse(line, n, &i);
	json_decref(i.json);
	return i.kind == BWL_AUDIT_RECORD || i.kind == BWL_AUDIT_CHECKPOINT;
}

int bwl_audit_end_write(struct bwl_audit_end *x, const char *line, struct bwl_err *e)
{
	size_t n = strlen(line);
	char *text;
	int r;

	if (!reads_back(line, n))
		return bwl_fail(e, EBADMSG, "the audit log could not be read with this line");
	text = malloc(n + 1);
	if (!text)
		return bwl_fail(e, ENOMEM, "out of memory");
	memcpy(text, line, n);
	text[n] = '\n';
	r = bwl_bytes_pwrite(x->fd, text, n + 1, (off_t)x->at);
	free(text);
	if (!r && fdatasync(x->fd))
		r = -errno;
	if (!r) {
		x->at += n + 1;
		return 0;
	}
	/* if this fails too, the next process that opens the log finds it torn */
	if (ftruncate(x->fd, (off_t)x->at))
		bwl_warn("the audit log ends in a torn line: %s", strerror(errno));
	bwl_audit_end_close(x);
	return bwl_fail(e, -r, "cannot write to the audit log (%s): %s", x->name, strerror(-r));
}

char *bwl_audit_signed_line(const struct bwl_frontier *f, const char *extension,
			    const struct bwl_note_key *k, struct bwl_err *e)
{
	struct bwl_checkpoint c = { .size = f->n };
	char note[BWL_CHECKPOINT_NOTE], *line;
	size_t len;

	strcpy(c.origin, k->name);
	snprintf(c.extension, sizeof(c.extension), "%s", extension);
	bwl_frontier_root(f, &c.root);
	if (bwl_checkpoint_sign(k, &c, note, &len, e))
		return NULL;
	line = bwl_audit_checkpoint_line(note, f);
	if (!line)
		bwl_fail(e, ENOMEM, "out of memory");
	return line;
}

int bwl_audit_end_sign(struct bwl_audit_end *x, const struct bwl_note_key *k, struct bwl_err *e)
{
	char *line = bwl_audit_signed_line(&x->frontier, "", k, e);
	int r = line ? bwl_audit_end_write(x, line, e) : -EIO;

	free(line);
	return r;
}

int bwl_audit_make_file(const char *dir, int dir_fd, const char *name, const void *data, size_t len,
			off_t reserve, struct bwl_err *e)
{
	const struct bwl_replace how = { .reserve = reserve };
	int r = bwl_bytes_replace_at(dir_fd, name, &how, &(struct bwl_bytes){ data, len }, 1);

	return r ? bwl_fail(e, -r, "cannot make %s/%s: %s", dir, name, strerror(-r)) : 0;
}

static int begin_file(const char *dir, int dir_fd, const struct bwl_frontier *f, off_t reserve,
		      const struct bwl_note_key *k, struct bwl_err *e)
{
	char name[BWL_AUDIT_NAME], *line = bwl_audit_signed_line(f, "", k, e);
	size_t n;
	int r;

	if (!line)
		return -EIO;
	n = strlen(line);
	line[n++] = '\n'; /* replaces the NUL */
	snprintf(name, sizeof(name), "log-%020llu.jsonl", (unsigned long long)f->n);
	r = bwl_audit_make_file(dir, dir_fd, name, line, n, reserve, e);
	free(line);
	return r;
}

int bwl_audit_end_begin(const char *dir, int dir_fd, const struct bwl_note_key *k,
			struct bwl_err *e)
{
	static const struct bwl_frontier none;
	struct bwl_audit_file *file;
	size_t n;
	int r = bwl_audit_files(dir, &file, &n, e);
	struct stat st;
	bool used;

	if (r)
		return r;
	/*
	 * a single line without a record was left by an init that was killed before it made the key
	 */
	used = n > 1 || (n == 1 && (fstatat(dir_fd, file[0].name, &st, 0) ||
				    st.st_size > BWL_CHECKPOINT_NOTE));
	free(file);
	if (used)
		return bwl_fail(e, EEXIST, "%s has files of another audit log", dir);
	return begin_file(dir, dir_fd, &none, 0, k, e);
}

struct hashes {
	uint8_t *buf;
	size_t n, size;
};

static int take_hash(const struct bwl_audit_item *i, void *arg)
{
	struct hashes *h = arg;

	if (i->kind != BWL_AUDIT_RECORD)
		return 0;
	if (h->n == h->size) {
		h->size = h->size ? 2 * h->size : 1024;
		h->buf = realloc(h->buf, h->size * 32);
		if (!h->buf)
			abort();
	}
	memcpy(h->buf + h->n++ * 32, i->leaf.b, 32);
	return 0;
}

int bwl_audit_end_rotate(struct bwl_audit_end *x, const char *dir, int dir_fd,
			 const struct bwl_note_key *k, struct bwl_err *e)
{
	char path[BWL_AUDIT_PATH], name[BWL_AUDIT_NAME];
	struct hashes h = { 0 };
	FILE *f;
	int r = bwl_audit_path(path, dir, x->name, e);

	f = r ? NULL : fopen(path, "re");
	if (!f)
		return r ? r : bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	r = bwl_audit_scan_file(f, x->name, take_hash, &h, e);
	fclose(f);
	if (!r && h.n != x->frontier.n - x->first)
		r = bwl_fail(e, EBADMSG, "%s has %zu records but %llu are signed", path, h.n,
			     (unsigned long long)(x->frontier.n - x->first));
	snprintf(name, sizeof(name), "log-%020llu.hashes", (unsigned long long)x->first);
	if (!r)
		r = bwl_audit_make_file(dir, dir_fd, name, h.buf, h.n * 32, 0, e);
	free(h.buf);
	if (!r)
		r = begin_file(dir, dir_fd, &x->frontier, BWL_AUDIT_RESERVE, k, e);
	if (r)
		return r;
	/* the next file has its own reserve: this one's is returned to the disk */
	if (ftruncate(x->fd, (off_t)x->at))
		bwl_warn("cannot release the reserved space of %s/%s: %s", dir, x->name,
			 strerror(errno));
	bwl_audit_end_close(x);
	return 0;
}

/* What follows our last checkpoint. */
struct tail {
	const struct bwl_note_key *key;
	struct bwl_frontier frontier;
	uint64_t base;    /* offset in the file where the scan begins */
	uint64_t end;     /* after the last whole line */
	uint64_t adopted; /* whole records after the last checkpoint */
	bool any;         /* a checkpoint was found */
	bool bad;         /* something that a crash cannot cause */
	bool torn;        /* nothing after this is trusted */
};

static int walk(const struct bwl_audit_item *i, void *arg)
{
	struct tail *t = arg;
	struct bwl_checkpoint c;
	struct bwl_frontier f;

	if (i->kind == BWL_AUDIT_CHECKPOINT &&
	    !bwl_checkpoint_open(t->key, i->note, i->note_len, &c, NULL) &&
	    bwl_audit_frontier(i, &c, &f)) {
		struct bwl_hash root;

		bwl_frontier_root(&t->frontier, &root);
		/* our checkpoint, but over other records */
		t->bad |= t->any &&
			  (t->torn || c.size != t->frontier.n || !bwl_hash_equal(&root, &c.root));
		t->frontier = f;
		t->any = true;
		t->adopted = 0;
		t->end = t->base + i->offset + i->len + 1;
	} else if (t->any && !t->torn && i->kind == BWL_AUDIT_RECORD && i->n == t->frontier.n) {
		bwl_frontier_add(&t->frontier, &i->leaf);
		t->adopted++;
		t->end = t->base + i->offset + i->len + 1;
	} else if (t->any) {
		t->torn = true;
	}
	return 0;
}

/*
 * Reads from the last window that contains a checkpoint. A window may begin in the middle of a
 * line.
 */
static int read_tail(struct bwl_audit_end *x, uint64_t size, struct tail *t, struct bwl_err *e)
{
	for (uint64_t window = 4 * BWL_AUDIT_LINE;; window *= 4) {
		uint64_t from = size > window ? size - window : 0;
		char *buf = malloc(size - from + 1);
		int r = 0;
		FILE *f;

		*t = (struct tail){ .key = t->key, .base = from };
		if (!buf)
			return bwl_fail(e, ENOMEM, "out of memory");
		if (pread(x->fd, buf, size - from, (off_t)from) != (ssize_t)(size - from)) {
			free(buf);
			return bwl_fail(e, EIO, "cannot read the audit log (%s)", x->name);
		}
		f = size > from ? fmemopen(buf, size - from, "r") : NULL;
		if (f) {
			r = bwl_audit_scan_file(f, x->name, walk, t, e);
			fclose(f);
		}
		free(buf);
		if (r)
			return r;
		if (t->any || !from)
			break;
	}
	if (t->any && !t->bad)
		return 0;
	bwl_fail(
		e, EBADMSG,
		t->any ? "the audit log was changed: in %s a checkpoint does not match the records before it"
		       : "%s has no checkpoint signed by the log's key",
		x->name);
	return bwl_hint(
		e,
		"bwlimit-ctl audit verify shows the place; nothing is appended to a changed log");
}

/* Copies what a crash tore, then cuts it off: it is never lost, and never taken for records. */
static int put_aside(struct bwl_audit_end *x, const char *dir, int dir_fd, uint64_t size,
		     struct bwl_audit_torn *ret, struct bwl_err *e)
{
	size_t n = (size_t)(size - x->at);
	char *buf = malloc(n), name[BWL_AUDIT_NAME];
	int r;

	if (!buf)
		return bwl_fail(e, ENOMEM, "out of memory");
	snprintf(name, sizeof(name), "torn-%llu-%llu", (unsigned long long)x->frontier.n,
		 (unsigned long long)x->at);
	if (pread(x->fd, buf, n, (off_t)x->at) != (ssize_t)n)
		r = bwl_fail(e, EIO, "cannot read the audit log (%s)", x->name);
	else
		r = bwl_audit_make_file(dir, dir_fd, name, buf, n, 0, e);
	free(buf);
	if (!r && (ftruncate(x->fd, (off_t)x->at) || fsync(x->fd)))
		r = bwl_fail(e, errno, "cannot cut the torn end off %s: %s", x->name,
			     strerror(errno));
	ret->bytes = n;
	snprintf(ret->kept, sizeof(ret->kept), "%s", name);
	return r;
}

static int last_file(struct bwl_audit_end *x, const char *dir, int dir_fd, struct stat *st,
		     struct bwl_err *e)
{
	struct bwl_audit_file *file = NULL;
	size_t n = 0;
	int r = bwl_audit_files(dir, &file, &n, e);

	if (!r && (!n || file[n - 1].hashes || file[n - 1].least))
		r = bwl_fail(e, ENOENT, "%s has a key but no file to append to", dir);
	if (!r) {
		strcpy(x->name, file[n - 1].name);
		x->first = file[n - 1].first;
		x->fd = openat(dir_fd, x->name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (x->fd < 0 || fstat(x->fd, st))
			r = bwl_fail(e, errno, "cannot open %s/%s: %s", dir, x->name,
				     strerror(errno));
	}
	free(file);
	return r;
}

int bwl_audit_end_find(struct bwl_audit_end *x, const char *dir, int dir_fd,
		       const struct bwl_note_key *k, struct bwl_audit_torn *ret, struct bwl_err *e)
{
	uint64_t had = x->frontier.n;
	struct tail t = { .key = k };
	struct stat st;
	int r;

	memset(ret, 0, sizeof(*ret));
	/* only the lock's holder starts a new file, and then ours is no longer the last */
	if (x->fd >= 0 && !fstat(x->fd, &st) && st.st_nlink && (uint64_t)st.st_size == x->at) {
		char next[BWL_AUDIT_NAME];

		snprintf(next, sizeof(next), "log-%020llu.jsonl",
			 (unsigned long long)x->frontier.n);
		if (x->frontier.n == x->first || faccessat(dir_fd, next, F_OK, 0))
			return 0;
	}
	bwl_audit_end_close(x);
	r = last_file(x, dir, dir_fd, &st, e);
	if (!r)
		r = read_tail(x, (uint64_t)st.st_size, &t, e);
	if (!r && t.frontier.n < had) {
		bwl_fail(e, EBADMSG,
			 "the audit log was cut: it had %llu records, but %s ends after %llu",
			 (unsigned long long)had, x->name, (unsigned long long)t.frontier.n);
		r = bwl_hint(
			e,
			"bwlimit-ctl audit verify --checkpoint OLD; nothing is appended to a cut log");
	}
	if (!r) {
		x->frontier = t.frontier;
		x->at = t.end;
		ret->adopted = t.adopted;
		if (t.end < (uint64_t)st.st_size)
			r = put_aside(x, dir, dir_fd, (uint64_t)st.st_size, ret, e);
	}
	if (r) {
		bwl_audit_end_close(x);
		x->frontier.n = had; /* remembers that it was cut */
	}
	return r;
}
