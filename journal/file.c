// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the journal's files: a record is written before `end` names it; a compacted file replaces
 * the old one in one rename. read.c explains what that guarantees.
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
#include "bwl/bytes.h"
#include "file.h"

#define LIMIT (1U << 20)
#define RESERVE (256 << 10) /* bytes on the disk reserved for closures */

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

#define LOCK_NAP_NS 10000000
#define OPEN_TRIES 1000 /* 10 s */
#define CLOSE_TRIES 200 /* 2 s: whoever closes has already closed the maps */

static int lock(const char *dir, unsigned tries, int *ret, struct bwl_err *e)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return bwl_fail(e, errno, "cannot open the journal %s: %s", dir, strerror(errno));
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || !tries--) {
			close(fd);
			return bwl_fail(e, EBUSY, "the journal %s is in use by another process",
					dir);
		}
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_NAP_NS }, NULL);
	}
	*ret = fd;
	return 0;
}

static int anchor_write(int dir_fd, uint64_t seq, const uint8_t *digest)
{
	int fd = openat(dir_fd, "end", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), r;
	struct bwl_journal_anchor a;

	if (fd < 0)
		return -errno;
	bwl_journal_anchor_make(&a, seq, digest);
	r = bwl_bytes_pwrite(fd, &a, sizeof(a), (off_t)(seq % 2) * BWL_JOURNAL_SECTOR);
	if (!r && fsync(fd))
		r = -errno;
	close(fd);
	return r;
}

static int replace(int dir_fd, const struct bwl_journal_bytes *x)
{
	int r = x->unreadable ? -EBADMSG
			      : bwl_bytes_replace_at(dir_fd, "log", NULL,
						     &(struct bwl_bytes){ x->b, x->n }, 1);

	return r ? r : anchor_write(dir_fd, x->seq, x->digest);
}

static void compact(const char *dir, int dir_fd)
{
	struct bwl_journal j;
	struct bwl_journal_bytes x;
	int r;

	bwl_journal_look(dir, &j);
	if (j.state == BWL_JOURNAL_OK && j.end > limit) {
		x = bwl_journal_state_bytes(j.seq, j.digest, &j.closed);
		r = x.n < j.end / 2 ? replace(dir_fd, &x) : 0;
		if (r)
			bwl_warn("the journal %s cannot be shortened: %s", dir, strerror(-r));
		free(x.b);
	}
	bwl_journal_free(&j);
}

static int append_at(int dir_fd, const struct bwl_journal *j, const struct bwl_journal_bytes *x,
		     bool opens)
{
	int fd = openat(dir_fd, "log", O_WRONLY | O_CLOEXEC | O_NOFOLLOW), r = 0;

	if (fd < 0)
		return -errno;
	if (j->torn && ftruncate(fd, (off_t)j->end))
		r = -errno;
	/*
	 * Allocated in advance: a disk that fills up later takes nothing from what must be
	 * recorded.
	 */
	if (!r && fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)j->end, (off_t)(x->n + RESERVE)) &&
	    opens && errno != EOPNOTSUPP)
		r = -errno;
	if (!r) {
		r = bwl_bytes_pwrite(fd, x->b, x->n, (off_t)j->end);
		if (!r && fdatasync(fd))
			r = -errno;
		if (r && ftruncate(fd, (off_t)j->end))
			r = -errno; /* the next writer repairs it */
	}
	close(fd);
	return r ? r : anchor_write(dir_fd, x->seq, x->digest);
}

static int append_locked(const char *dir, int dir_fd, const struct bwl_journal_rec *r, size_t n,
			 uint64_t expect, bool opens, struct bwl_err *e)
{
	struct bwl_journal j;
	struct bwl_journal_bytes x = { 0 };
	int err = 0;
	size_t i;

	bwl_journal_look(dir, &j);
	if (j.state != BWL_JOURNAL_OK) {
		bwl_fail(e, EUCLEAN, "the journal cannot be trusted: %s", j.why);
		err = bwl_hint(e,
			       "bwlimit-ctl journal init starts a new one with what is closed now");
	} else if (expect != BWL_JOURNAL_ANY && expect != j.seq) {
		err = bwl_fail(e, EAGAIN, "the journal was written meanwhile");
	}
	x.seq = j.seq;
	memcpy(x.digest, j.digest, sizeof(x.digest));
	for (i = 0; !err && i < n; i++)
		bwl_journal_put(&x, r[i], (uint64_t)time(NULL));
	if (!err && x.unreadable && (opens || !x.n)) {
		err = bwl_fail(
			e, EBADMSG,
			"the journal %s could not be read with this record: it stays as it was",
			dir);
	} else if (!err) {
		err = append_at(dir_fd, &j, &x, opens);
		if (err)
			bwl_fail(e, -err, "cannot write the journal %s: %s", dir, strerror(-err));
	}
	if (!err && j.end + x.n > limit)
		compact(dir, dir_fd);
	if (!err && x.unreadable) /* what else is closed is on disk */
		err = bwl_fail(e, EBADMSG,
			       "a record could not be read back, and is not in the journal %s",
			       dir);
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
	err = lock(dir, opens ? OPEN_TRIES : CLOSE_TRIES, &fd, e);
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

int bwl_journal_set_aside(const char *dir, struct bwl_err *e)
{
	int fd, r = lock(dir, OPEN_TRIES, &fd, e);

	if (r)
		return r;
	r = aside(fd);
	if (!r && fsync(fd))
		r = -errno;
	close(fd);
	return r ? bwl_fail(e, -r, "cannot set the journal %s aside: %s", dir, strerror(-r)) : 0;
}

/*
 * A number above all that anybody may know of earlier journals: so a new journal is never taken for
 * an old copy.
 */
static uint64_t next_after(const char *dir, const struct bwl_journal *j)
{
	uint64_t last = j->anchor_seq;
	struct bwl_journal_anchor a;
	struct bwl_journal_bound b;
	uint8_t *end;
	size_t n;

	if (!bwl_journal_file(dir, "end.bad", &end, &n) && bwl_journal_anchor_find(end, n, &a) &&
	    a.seq > last)
		last = a.seq;
	free(end);
	if (!bwl_journal_bound_read(dir, &b) && b.seq > last)
		last = b.seq;
	return last && last < 1ULL << 62 ? last + 1 : 0;
}

int bwl_journal_make(const char *dir, const struct bwl_journal_rec *rec, size_t n,
		     enum bwl_journal_state *ret_was, struct bwl_err *e)
{
	static const struct bwl_closed nothing;
	struct bwl_journal j;
	struct bwl_journal_bytes x;
	int fd, r;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return bwl_fail(e, errno, "cannot make %s: %s", dir, strerror(errno));
	r = lock(dir, OPEN_TRIES, &fd, e);
	if (r)
		return r;
	bwl_journal_look(dir, &j);
	*ret_was = j.state;
	if (j.state != BWL_JOURNAL_OK) {
		x = bwl_journal_state_bytes(next_after(dir, &j), NULL, &nothing);
		r = aside(fd);
		while (n--)
			bwl_journal_put(&x, *rec++, (uint64_t)time(NULL));
		/*
		 * `end` first: `end` without a journal means that it was cut, not that it was never
		 * made.
		 */
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
