// SPDX-License-Identifier: GPL-2.0-or-later
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
#include <bwl/group.h>

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

		if (!w || (w < 0 && errno != EINTR))
			return w ? -errno : -ENOSPC;
		at += w > 0 ? (size_t)w : 0;
	}
	return 0;
}

int bwl_bytes_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t w = pwrite(fd, (const char *)buf + done, n - done, at + (off_t)done);

		if (!w || (w < 0 && errno != EINTR))
			return w ? -errno : -ENOSPC;
		done += w > 0 ? (size_t)w : 0;
	}
	return 0;
}

static int write_parts(int fd, const struct bwl_replace *how, const struct bwl_bytes *part,
		       size_t n)
{
	off_t end = 0;
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		r = bwl_bytes_write(fd, part[i].at, part[i].len);
		end += (off_t)part[i].len;
	}
	if (!r && how->reserve && fallocate(fd, FALLOC_FL_KEEP_SIZE, end, how->reserve) &&
	    errno != EOPNOTSUPP)
		r = -errno;
	if (!r && how->for_readers)
		r = bwl_group_give(fd, BWL_GROUP_READ, 0640);
	if (!r && how->mode && fchmod(fd, how->mode))
		r = -errno;
	return r || how->unsynced || !fsync(fd) ? r : -errno;
}

int bwl_bytes_replace_at(int folder, const char *name, const struct bwl_replace *how,
			 const struct bwl_bytes *part, size_t n)
{
	static const struct bwl_replace usual;
	BWL_AUTO_CLOSE int fd = -1;
	char fresh[NAME_MAX + 1];
	int r;

	how = how ? how : &usual;
	if ((size_t)snprintf(fresh, sizeof(fresh), ".%s.new", name) >= sizeof(fresh))
		return -ENAMETOOLONG;
	unlinkat(folder, fresh, 0); /* left by a process that was killed */
	fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_parts(fd, how, part, n);
	if (!r && renameat(folder, fresh, folder, name))
		r = -errno;
	if (r)
		unlinkat(folder, fresh, 0); /* it may have filled up the disk */
	return r || how->unsynced || !fsync(folder) ? r : -errno;
}

static int replace_in(const char *dir, const char *name, const struct bwl_replace *how,
		      const struct bwl_bytes *part, size_t n, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (folder < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", dir, strerror(errno));
	r = bwl_bytes_replace_at(folder, name, how, part, n);
	return r ? bwl_fail(e, -r, "cannot write %s/%s: %s", dir, name, strerror(-r)) : 0;
}

int bwl_bytes_replace(const char *dir, const char *name, const struct bwl_bytes *part, size_t n,
		      struct bwl_err *e)
{
	return replace_in(dir, name, NULL, part, n, e);
}

int bwl_bytes_replace_path(const char *path, const struct bwl_replace *how, const void *buf,
			   size_t n, struct bwl_err *e)
{
	const struct bwl_bytes part = { buf, n };
	char dir[PATH_MAX], *slash;

	if ((size_t)snprintf(dir, sizeof(dir), "%s", path) >= sizeof(dir))
		return bwl_fail(e, ENAMETOOLONG, "a path has at most %d bytes", PATH_MAX - 1);
	slash = strrchr(dir, '/');
	if (!slash)
		return replace_in(".", path, how, &part, 1, e);
	slash[slash == dir] = '\0'; /* of /NAME the folder is / */
	return replace_in(dir, strrchr(path, '/') + 1, how, &part, 1, e);
}
