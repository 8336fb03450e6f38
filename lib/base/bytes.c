/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole files: see bytes.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bwl/bytes.h>
#include <bwl/cleanup.h>

int bwl_bytes_read(int fd, size_t most, char **ret, size_t *ret_len, struct bwl_err *e)
{
	BWL_AUTO_FREE char *buf = NULL;
	size_t size = 65536, len = 0;
	struct stat st;
	ssize_t n = 1;

	if (fstat(fd, &st))
		return bwl_fail(e, errno, "cannot read: %s", strerror(errno));
	if (S_ISREG(st.st_mode) && st.st_size > (off_t)most)
		return bwl_fail(e, EFBIG, "larger than %zu bytes", most);
	if (S_ISREG(st.st_mode))
		size = (size_t)st.st_size + 4096;
	buf = malloc(size);
	while (buf && n) {
		n = read(fd, buf + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return bwl_fail(e, errno, "cannot read: %s", strerror(errno));
		len += (size_t)n;
		if (len > most)
			return bwl_fail(e, EFBIG, "larger than %zu bytes", most);
		if (len == size) {
			char *grown = realloc(buf, size *= 2);

			if (!grown)
				break;
			buf = grown;
		}
	}
	if (!buf || n)
		return bwl_fail(e, ENOMEM, "out of memory");
	buf[len] = '\0'; /* there is room: the last read had found some */
	*ret = bwl_take_ptr(&buf);
	*ret_len = len;
	return 0;
}

int bwl_bytes_write(int fd, const void *buf, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t w = write(fd, (const char *)buf + at, n - at);

		if (w < 0 && errno != EINTR)
			return -errno;
		at += w > 0 ? (size_t)w : 0;
	}
	return 0;
}

static int write_all(int fd, const struct bwl_bytes *part, size_t n)
{
	int r = 0;

	for (size_t i = 0; !r && i < n; i++)
		r = bwl_bytes_write(fd, part[i].at, part[i].len);
	return r;
}

int bwl_bytes_replace(const char *dir, const char *name, const struct bwl_bytes *part, size_t n,
		      struct bwl_err *e)
{
	BWL_AUTO_CLOSE int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	char fresh[NAME_MAX];

	snprintf(fresh, sizeof(fresh), "%s.new", name);
	if (at < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", dir, strerror(errno));
	fd = openat(at, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || write_all(fd, part, n) || fsync(fd)) {
		bwl_fail(e, errno, "cannot write %s/%s: %s", dir, fresh, strerror(errno));
		if (fd >= 0)
			unlinkat(at, fresh, 0); /* it may have filled up the disk */
		return -(e ? e->code : EIO);
	}
	if (renameat(at, fresh, at, name))
		return bwl_fail(e, errno, "cannot replace %s/%s: %s", dir, name, strerror(errno));
	return fsync(at) ? bwl_fail(e, errno, "cannot sync %s: %s", dir, strerror(errno)) : 0;
}
