// SPDX-License-Identifier: GPL-2.0-or-later
/* The journal and a TPM's counter: see journal.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <openssl/evp.h>
#include "bwl/bytes.h"
#include "file.h"

struct bound_file {
	char magic[8];
	struct bwl_journal_bound b;
	uint8_t sum[32];
};

static void make(struct bound_file *f, const struct bwl_journal_bound *b)
{
	memset(f, 0, sizeof(*f));
	memcpy(f->magic, "bwljtpm", 7);
	f->b = *b;
	EVP_Digest(f, offsetof(struct bound_file, sum), f->sum, NULL, EVP_sha256(), NULL);
}

int bwl_journal_bound_read(const char *dir, struct bwl_journal_bound *ret)
{
	struct bound_file f, want;
	uint8_t *b;
	size_t n;
	int r = bwl_journal_file(dir, "bound", &b, &n);

	if (r)
		return r;
	if (n == sizeof(f)) {
		memcpy(&f, b, sizeof(f));
		make(&want, &f.b);
		*ret = f.b;
	}
	r = n == sizeof(f) && !memcmp(&f, &want, sizeof(f)) ? 0 : -EUCLEAN;
	free(b);
	return r;
}

int bwl_journal_bind(const char *dir, const struct bwl_journal_bound *b)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
	struct bound_file f;

	if (fd < 0)
		return -errno;
	make(&f, b);
	r = bwl_bytes_replace_at(fd, "bound", NULL, &(struct bwl_bytes){ &f, sizeof(f) }, 1);
	close(fd);
	return r;
}

int bwl_journal_unbind(const char *dir)
{
	char path[BWL_JOURNAL_PATH];

	if (snprintf(path, sizeof(path), "%s/bound", dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

bool bwl_journal_fits(const char *dir, const struct bwl_journal_bound *b,
		      const uint8_t tag[BWL_JOURNAL_TAG], uint64_t count, char why[BWL_JOURNAL_WHY])
{
	unsigned long long is = b->epoch, want = count, seq = b->seq;
	const size_t n = BWL_JOURNAL_WHY;

	if (memcmp(b->tag, tag, BWL_JOURNAL_TAG))
		snprintf(why, n, "it is bound to another counter than this TPM's");
	else if (is < want)
		snprintf(why, n, "it is at epoch %llu but the TPM counts %llu: it is an old copy",
			 is, want);
	else if (is > want + 1)
		snprintf(why, n,
			 "it is at epoch %llu but the TPM counts only %llu: it is another TPM", is,
			 want);
	else if (!bwl_journal_has(dir, b->seq, b->digest))
		snprintf(
			why, n,
			"record %llu, confirmed by the TPM's counter, is missing: it is an old copy",
			seq);
	else
		return true;
	return false;
}
