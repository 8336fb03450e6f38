// SPDX-License-Identifier: GPL-2.0-or-later
/* The number of the last commit: see seq.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "bwl/cleanup.h"
#include "bwl/sha256.h"
#include "seq.h"

#define SECTOR 512

struct record {
	char magic[8];
	uint64_t seq;
	unsigned char sum[32];
};

static void make(struct record *r, uint64_t seq)
{
	memset(r, 0, sizeof(*r));
	memcpy(r->magic, "bwlseq1", 7);
	r->seq = seq;
	EVP_Digest(r, offsetof(struct record, sum), r->sum, NULL, bwl_sha256(), NULL);
}

static bool reads(const struct record *r)
{
	struct record want;

	make(&want, r->seq);
	return !memcmp(r, &want, sizeof(want));
}

static int write_record(int fd, uint64_t seq)
{
	struct record r;

	make(&r, seq);
	errno = EIO; /* for a partial write */
	return pwrite(fd, &r, sizeof(r), (off_t)(seq % 2) * SECTOR) == sizeof(r) ? 0 : -errno;
}

int ledger_seq_write(int fd, uint64_t seq, struct bwl_err *e)
{
	int r = write_record(fd, seq);

	if (!r && fdatasync(fd))
		r = -errno;
	return r ? bwl_fail(e, -r, "ledger.seq: cannot be written: %s", strerror(-r)) : 0;
}

static int begin(int fd, const char *dir, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = write_record(fd, 1); /* gives the file its full length */

	if (!r)
		r = write_record(fd, 0);
	if (!r && (fsync(fd) || folder < 0 || fsync(folder)))
		r = -errno;
	return r ? bwl_fail(e, -r, "ledger.seq: cannot be created: %s", strerror(-r)) : 0;
}

static int read_last(int fd, uint64_t *ret, struct bwl_err *e)
{
	struct record r[2] = { 0 };

	*ret = 0;
	for (int i = 0; i < 2; i++)
		if (pread(fd, &r[i], sizeof(r[i]), i * SECTOR) < 0)
			return bwl_fail(e, errno, "ledger.seq: cannot be read: %s",
					strerror(errno));
	if (!reads(&r[0]) && !reads(&r[1]))
		return bwl_fail(e, EUCLEAN, "ledger.seq: both of its records are damaged");
	for (int i = 0; i < 2; i++)
		if (reads(&r[i]) && r[i].seq > *ret)
			*ret = r[i].seq;
	return 0;
}

int ledger_seq_open(const char *dir, bool is_new, int *ret_fd, uint64_t *ret_last,
		    struct bwl_err *e)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/ledger.seq", dir);
	fd = open(path, O_RDWR | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0), 0600);
	if (fd < 0)
		return bwl_fail(e, errno, "ledger.seq: cannot be opened: %s", strerror(errno));
	*ret_fd = fd;
	*ret_last = 0;
	if (is_new)
		return begin(fd, dir, e);
	return read_last(fd, ret_last, e);
}

uint64_t ledger_seq_read(const char *dir)
{
	BWL_AUTO_CLOSE int fd = -1;
	char path[512];
	uint64_t last = 0;

	snprintf(path, sizeof(path), "%s/ledger.seq", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || read_last(fd, &last, NULL) ? 0 : last;
}
