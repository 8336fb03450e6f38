/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal's files. A record is on disk before `end` names it; so what `end` names must be there, and
 * what is behind it nobody relied on. A compacted file takes the place of the old one in one rename, and
 * says after which record it goes on: `end` may still name that one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <openssl/evp.h>
#include "journal.h"

#define PATH 512
#define LIMIT (1U << 20)
#define MOST (256U << 20)	/* bytes of a file that is read */
#define RESERVE (256 << 10)	/* bytes of the disk left for closures */
#define SECTOR 512

struct anchor {
	char magic[8];
	uint64_t seq;
	uint8_t digest[BWL_JOURNAL_DIGEST];
	uint8_t sum[32];
};

static size_t limit = LIMIT;

void bwl_journal_set_limit(size_t bytes)
{
	limit = bytes;
}

const char *bwl_journal_dir(bool drill)
{
	const char *env = getenv("BWLIMIT_JOURNAL_DIR");

	if (env)
		return *env ? env : NULL;
	return drill ? NULL : BWL_JOURNAL_DIR;
}

static void anchor_make(struct anchor *a, uint64_t seq, const uint8_t *digest)
{
	memset(a, 0, sizeof(*a));
	memcpy(a->magic, "bwljend", 7);
	a->seq = seq;
	memcpy(a->digest, digest, sizeof(a->digest));
	EVP_Digest(a, offsetof(struct anchor, sum), a->sum, NULL, EVP_sha256(), NULL);
}

static bool anchor_reads(const uint8_t *end, size_t size, unsigned slot, struct anchor *ret)
{
	struct anchor want;

	if (size < slot * SECTOR + sizeof(*ret))
		return false;
	memcpy(ret, end + slot * SECTOR, sizeof(*ret));
	anchor_make(&want, ret->seq, ret->digest);
	return !memcmp(ret, &want, sizeof(want));
}

static bool anchor_find(const uint8_t *end, size_t size, struct anchor *ret)
{
	struct anchor x;
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

/* One that is not as it should be: what it says about closing counts where it reads. */
static void take_torn(struct bwl_journal *j, const struct bwl_journal_rec *r)
{
	if (r->seq == j->seq + 1 && (r->kind == BWL_J_CLOSE || r->kind == BWL_J_STOP || r->kind == BWL_J_CLAMP))
		bwl_closed_add(&j->closed, r);
}

struct walk {
	const struct anchor *end;
	bool met;		/* what `end` names was there */
	uint64_t must;		/* records that the file had from the start */
};

/* false: it ends here. */
static bool take(struct bwl_journal *j, struct walk *w, const uint8_t *at, size_t left)
{
	struct bwl_journal_rec r;
	struct bwl_pfx *pfx;
	uint8_t digest[32];
	size_t size;
	enum bwl_journal_read got = bwl_journal_decode(at, left, j->digest, &r, &pfx, &size, digest);
	bool first = !j->records;

	if (got == BWL_JR_TORN && w->met)
		take_torn(j, &r);
	if (got != BWL_JR_WHOLE || first != (r.kind == BWL_J_BEGIN) || (!first && r.seq != j->seq + 1) ||
	    (first && r.seq != r.after_seq + 1) ||
	    (w->met && j->seq >= w->end->seq && j->records >= w->must && bwl_journal_opens(r.kind))) {
		free(pfx);
		return false;
	}
	if (first) {
		w->must = r.records;
		w->met = r.after_seq == w->end->seq && !memcmp(r.after, w->end->digest, sizeof(r.after));
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

void bwl_journal_parse(const uint8_t *log, size_t size, const uint8_t *end, size_t end_size, struct bwl_journal *j)
{
	struct anchor a;
	struct walk w = { .end = &a };

	memset(j, 0, sizeof(*j));
	j->state = BWL_JOURNAL_OK;
	if (!anchor_find(end, end_size, &a)) {
		cut(j, "the file `end` does not read");
		return;
	}
	j->anchor_seq = a.seq;
	memcpy(j->anchor_digest, a.digest, sizeof(a.digest));
	while (j->end < size && take(j, &w, log + j->end, size - j->end))
		;
	j->torn = size - j->end;
	if (!w.met || j->records < w.must + 1)
		cut(j, j->torn ? "a record in the middle does not read" : "records that were acknowledged are gone");
	else
		bwl_closed_settle(&j->closed);
}

static int read_file(const char *dir, const char *name, uint8_t **ret, size_t *ret_n)
{
	char path[PATH];
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
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > (off_t)MOST)
		err = -EFBIG;
	*ret = err ? NULL : malloc((size_t)st.st_size + 1);
	while (*ret && r > 0 && n < (size_t)st.st_size) {
		r = read(fd, *ret + n, (size_t)st.st_size - n);
		n += r > 0 ? (size_t)r : 0;
	}
	if (r < 0)
		err = -errno;
	close(fd);
	*ret_n = n;
	return *ret || err ? err : -ENOMEM;
}

/* Whoever began it anew was killed: what was cut is no less so. */
static bool was_set_aside(const char *dir)
{
	char log[PATH], end[PATH];

	return snprintf(log, sizeof(log), "%s/log.bad", dir) >= (int)sizeof(log) ||
	       snprintf(end, sizeof(end), "%s/end.bad", dir) >= (int)sizeof(end) || !access(log, F_OK) ||
	       !access(end, F_OK);
}

void bwl_journal_look(const char *dir, struct bwl_journal *j)
{
	uint8_t *log = NULL, *end = NULL;
	size_t n = 0, nend = 0;
	int r, r2;

	memset(j, 0, sizeof(*j));
	if (!dir)
		return;
	r = read_file(dir, "log", &log, &n);
	r2 = read_file(dir, "end", &end, &nend);
	if (r == -ENOENT && r2 == -ENOENT && was_set_aside(dir)) {
		j->state = BWL_JOURNAL_CUT;
		snprintf(j->why, sizeof(j->why), "there is none in %.150s but one that did not read (*.bad)", dir);
	} else if (r == -ENOENT && r2 == -ENOENT) {
		j->state = BWL_JOURNAL_MISSING;
		snprintf(j->why, sizeof(j->why), "there is none in %.200s", dir);
	} else if (r || r2) {
		j->state = BWL_JOURNAL_CUT;
		snprintf(j->why, sizeof(j->why), "%.200s/%s: %s", dir, r ? "log" : "end", strerror(r ? -r : -r2));
	} else {
		bwl_journal_parse(log, n, end, nend, j);
	}
	free(log);
	free(end);
}

void bwl_journal_free(struct bwl_journal *j)
{
	bwl_closed_free(&j->closed);
}

static int lock(const char *dir, unsigned tries, int *ret, struct bwl_err *e)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return bwl_fail(e, errno, "cannot open the journal %s: %s", dir, strerror(errno));
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || !tries--) {
			close(fd);
			return bwl_fail(e, EBUSY, "the journal %s is in use by another process", dir);
		}
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	*ret = fd;
	return 0;
}

static int write_all(int fd, const uint8_t *buf, size_t n, off_t at)
{
	while (n) {
		ssize_t r = pwrite(fd, buf, n, at);

		if (r <= 0 && errno != EINTR)
			return r ? -errno : -EIO;
		if (r > 0) {
			buf += r;
			at += r;
			n -= (size_t)r;
		}
	}
	return 0;
}

static int anchor_write(int dir_fd, uint64_t seq, const uint8_t *digest)
{
	int fd = openat(dir_fd, "end", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), r;
	struct anchor a;

	if (fd < 0)
		return -errno;
	anchor_make(&a, seq, digest);
	r = write_all(fd, (const uint8_t *)&a, sizeof(a), (off_t)(seq % 2) * SECTOR);
	if (!r && fsync(fd))
		r = -errno;
	close(fd);
	return r;
}

struct bytes {
	uint8_t *b;
	size_t n, room;
	uint64_t seq, records;
	uint8_t digest[BWL_JOURNAL_DIGEST];
};

/* at 0: it happens now. */
static void put(struct bytes *x, struct bwl_journal_rec r, uint64_t wall_s)
{
	size_t need = bwl_journal_encode(&r, x->digest, NULL, NULL);

	while (x->room - x->n < need) {
		x->room = x->room ? 2 * x->room : 4096;
		x->b = realloc(x->b, x->room);
		if (!x->b)
			abort();
	}
	r.seq = ++x->seq;
	if (!r.at)
		r.at = r.seq;
	if (!r.wall_s)
		r.wall_s = wall_s;
	x->n += bwl_journal_encode(&r, x->digest, x->b + x->n, x->digest);
	x->records++;
}

static int by_at(const void *a, const void *b)
{
	const struct bwl_pfxset_item *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* Prefixes by the number of their record, in that order. */
static struct bwl_pfx *ordered(const struct bwl_pfxset *s, uint64_t **ret_at)
{
	struct bwl_pfxset_item *i = calloc(s->n + 1, sizeof(*i));
	struct bwl_pfx *p = calloc(s->n + 1, sizeof(*p));
	size_t k;

	*ret_at = calloc(s->n + 1, sizeof(**ret_at));
	if (!i || !p || !*ret_at)
		abort();
	if (s->n)
		memcpy(i, s->item, s->n * sizeof(*i));
	qsort(i, s->n, sizeof(*i), by_at);
	for (k = 0; k < s->n; k++) {
		p[k] = i[k].pfx;
		(*ret_at)[k] = i[k].value;
	}
	free(i);
	return p;
}

static size_t run(const uint64_t *at, size_t from, size_t n)
{
	size_t k = from;

	while (k < n && at[k] == at[from] && k - from < 100000)
		k++;
	return k - from;
}

static void put_sets(struct bytes *x, const struct bwl_closed *c)
{
	const struct bwl_pfxset *set[] = { &c->live, &c->hole, &c->opened };
	size_t s, k, n;

	for (s = 0; s < 3; s++) {
		uint64_t *at;
		struct bwl_pfx *p = ordered(set[s], &at);

		for (k = 0; k < set[s]->n; k += n) {
			struct bwl_journal_rec r = { .kind = s == 2 ? BWL_J_OPEN : BWL_J_CLOSE, .at = at[k] };

			n = run(at, k, set[s]->n);
			if (s == 1) {
				r.hole = p + k;
				r.nholes = (uint32_t)n;
			} else {
				r.pfx = p + k;
				r.npfx = (uint32_t)n;
			}
			put(x, r, 0);
		}
		free(p);
		free(at);
	}
}

/* What holds, as records of their first numbers. */
static void put_state(struct bytes *x, const struct bwl_closed *c, uint64_t wall_s)
{
	size_t i;

	if (c->stop)
		put(x, (struct bwl_journal_rec){ .kind = BWL_J_STOP }, wall_s);
	if (c->clamp)
		put(x, (struct bwl_journal_rec){ .kind = BWL_J_CLAMP }, wall_s);
	for (i = 0; i < c->nnames; i++) {
		struct bwl_journal_rec r = { .kind = BWL_J_CLOSE, .at = c->name[i].at };

		memcpy(r.name, c->name[i].name, sizeof(r.name));
		put(x, r, wall_s);
	}
	put_sets(x, c);
	for (i = 0; i < c->nlimits; i++) {
		const struct bwl_closed_limit *l = &c->limit[i];
		struct bwl_journal_rec r = { .kind = l->zone ? BWL_J_ZONE : BWL_J_PEER, .at = l->at,
					     .wall_s = l->wall_s, .lim = l->lim };

		memcpy(r.name, l->name, sizeof(r.name));
		put(x, r, wall_s);
	}
}

static int replace(int dir_fd, const struct bytes *x)
{
	int fd = openat(dir_fd, "log.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, x->b, x->n, 0);
	if (!r && fsync(fd))
		r = -errno;
	close(fd);
	if (!r && (renameat(dir_fd, "log.new", dir_fd, "log") || fsync(dir_fd)))
		r = -errno;
	return r ? r : anchor_write(dir_fd, x->seq, x->digest);
}

/* A file that begins after `seq` with what c says holds. */
static struct bytes begin(uint64_t seq, const uint8_t *digest, const struct bwl_closed *c)
{
	struct bwl_journal_rec first = { .kind = BWL_J_BEGIN, .after_seq = seq };
	struct bytes body = { .seq = seq + 1 }, x = { .seq = seq };
	uint64_t now = (uint64_t)time(NULL);

	if (digest)
		memcpy(first.after, digest, sizeof(first.after));
	put_state(&body, c, now);	/* to count them: the chain is not theirs yet */
	first.records = body.records;
	free(body.b);
	put(&x, first, now);
	put_state(&x, c, now);
	return x;
}

static void compact(const char *dir, int dir_fd)
{
	struct bwl_journal j;
	struct bytes x;
	int r;

	bwl_journal_look(dir, &j);
	if (j.state == BWL_JOURNAL_OK && j.end > limit) {
		x = begin(j.seq, j.digest, &j.closed);
		r = x.n < j.end / 2 ? replace(dir_fd, &x) : 0;
		if (r)
			bwl_warn("the journal %s stays as long as it is: %s", dir, strerror(-r));
		free(x.b);
	}
	bwl_journal_free(&j);
}

static int append_at(int dir_fd, const struct bwl_journal *j, const struct bytes *x, bool opens)
{
	int fd = openat(dir_fd, "log", O_WRONLY | O_CLOEXEC | O_NOFOLLOW), r = 0;

	if (fd < 0)
		return -errno;
	if (j->torn && ftruncate(fd, (off_t)j->end))
		r = -errno;
	/* Allocated now: a disk that fills up later takes nothing from what must be recorded. */
	if (!r && fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)j->end, (off_t)(x->n + RESERVE)) && opens &&
	    errno != EOPNOTSUPP)
		r = -errno;
	if (!r) {
		r = write_all(fd, x->b, x->n, (off_t)j->end);
		if (!r && fdatasync(fd))
			r = -errno;
		if (r && ftruncate(fd, (off_t)j->end))
			r = -errno;	/* the next one does it */
	}
	close(fd);
	return r ? r : anchor_write(dir_fd, x->seq, x->digest);
}

static int append_locked(const char *dir, int dir_fd, const struct bwl_journal_rec *r, size_t n, uint64_t expect,
			 bool opens, struct bwl_err *e)
{
	struct bwl_journal j;
	struct bytes x = { 0 };
	int err = 0;
	size_t i;

	bwl_journal_look(dir, &j);
	if (j.state != BWL_JOURNAL_OK) {
		bwl_fail(e, EUCLEAN, "the journal is not to be believed: %s", j.why);
		err = bwl_hint(e, "bwlimit-ctl journal init begins a new one with what is closed now");
	} else if (expect != BWL_JOURNAL_ANY && expect != j.seq) {
		err = bwl_fail(e, EAGAIN, "the journal was written meanwhile");
	}
	x.seq = j.seq;
	memcpy(x.digest, j.digest, sizeof(x.digest));
	for (i = 0; !err && i < n; i++)
		put(&x, r[i], (uint64_t)time(NULL));
	if (!err) {
		err = append_at(dir_fd, &j, &x, opens);
		if (err)
			bwl_fail(e, -err, "cannot write the journal %s: %s", dir, strerror(-err));
	}
	if (!err && j.end + x.n > limit)
		compact(dir, dir_fd);
	free(x.b);
	bwl_journal_free(&j);
	return err;
}

int bwl_journal_append(const char *dir, const struct bwl_journal_rec *r, size_t n, uint64_t expect,
		       struct bwl_err *e)
{
	struct bwl_err mine = { 0 };
	bool opens = false;
	int fd, err;
	size_t i;

	for (i = 0; i < n; i++)
		opens |= bwl_journal_opens(r[i].kind);
	e = e ? e : &mine;
	err = lock(dir, opens ? 1000 : 200, &fd, e);
	if (err)
		return err;
	err = append_locked(dir, fd, r, n, expect, opens, e);
	close(fd);
	return err;
}

static int aside(int dir_fd)
{
	static const char *const name[] = { "log", "end" };

	for (unsigned i = 0; i < 2; i++) {
		char bad[16];

		snprintf(bad, sizeof(bad), "%s.bad", name[i]);
		if (renameat(dir_fd, name[i], dir_fd, bad) && errno != ENOENT)
			return -errno;
	}
	return 0;
}

int bwl_journal_make(const char *dir, const struct bwl_journal_rec *rec, size_t n, enum bwl_journal_state *ret_was,
		     struct bwl_err *e)
{
	static const struct bwl_closed nothing;
	struct bwl_journal j;
	struct bytes x;
	int fd, r;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return bwl_fail(e, errno, "cannot make %s: %s", dir, strerror(errno));
	r = lock(dir, 1000, &fd, e);
	if (r)
		return r;
	bwl_journal_look(dir, &j);
	*ret_was = j.state;
	if (j.state != BWL_JOURNAL_OK) {
		r = aside(fd);
		x = begin(0, NULL, &nothing);
		while (n--)
			put(&x, *rec++, (uint64_t)time(NULL));
		/* `end` first: alone it is a journal that was cut, not one that was never made. */
		if (!r)
			r = anchor_write(fd, x.seq, x.digest);
		if (!r)
			r = replace(fd, &x);
		free(x.b);
		if (r)
			bwl_fail(e, -r, "cannot make the journal %s: %s", dir, strerror(-r));
	}
	bwl_journal_free(&j);
	close(fd);
	return r;
}
