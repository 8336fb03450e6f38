// SPDX-License-Identifier: GPL-2.0-or-later
/* See tile_files.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "tile_files.h"

void bwl_tile_path(char buf[static BWL_TILE_PATH], unsigned level, uint64_t n, unsigned width)
{
	char parts[7 * 5 + 1] = "", part[48], was[sizeof(parts)];

	for (bool last = true;; last = false) {
		strcpy(was, parts);
		snprintf(part, sizeof(part), "%s%03llu%s", last ? "" : "x",
			 (unsigned long long)(n % 1000), last ? "" : "/");
		snprintf(parts, sizeof(parts), "%.5s%.30s", part, was);
		n /= 1000;
		if (!n)
			break;
	}
	if (level == BWL_TILE_ENTRIES)
		strcpy(part, "entries");
	else
		snprintf(part, sizeof(part), "%u", level);
	if (width % BWL_TILE_WIDTH)
		snprintf(buf, BWL_TILE_PATH, "tile/%.7s/%s.p/%u", part, parts, width % 256);
	else
		snprintf(buf, BWL_TILE_PATH, "tile/%.7s/%s", part, parts);
}

/* Opens the folder of path; makes it if it is missing, and syncs that. */
static int open_folder(int root, const char *path)
{
	int at = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (const char *s = path, *slash; at >= 0 && (slash = strchr(s, '/')); s = slash + 1) {
		char name[BWL_TILE_PATH];
		int next = -1;

		snprintf(name, sizeof(name), "%.*s", (int)(slash - s), s);
		if ((!mkdirat(at, name, 0755) && !fsync(at)) || errno == EEXIST)
			next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
	}
	return at;
}

int bwl_tile_put(int root, const char *path, const void *data, size_t len, bool once,
		 struct bwl_err *e)
{
	const struct bwl_replace how = { .mode = 0644 };
	BWL_AUTO_CLOSE int folder = -1;
	BWL_AUTO_FREE char *was = NULL;
	const char *name = strrchr(path, '/');
	size_t was_len = 0;
	int r = bwl_tile_get(root, path, len + 1, &was, &was_len, e);

	if (!r && was && was_len == len && !memcmp(was, data, len))
		return 1;
	if ((!r || r == -EMSGSIZE) && once)
		return bwl_fail(
			e, EEXIST,
			"%s exists with different content: it belongs to another log, or is damaged",
			path);
	if (r && r != -ENOENT && r != -EMSGSIZE)
		return r;
	folder = open_folder(root, path);
	r = folder < 0 ? -errno
		       : bwl_bytes_replace_at(folder, name ? name + 1 : path, &how,
					      &(struct bwl_bytes){ data, len }, 1);
	return r ? bwl_fail(e, -r, "cannot write %s: %s", path, strerror(-r)) : 0;
}

int bwl_tile_get(int root, const char *path, size_t most, char **ret, size_t *ret_len,
		 struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *buf;

	if (fd < 0 || fstat(fd, &st))
		return bwl_fail(e, errno == ENOTDIR ? ENOENT : errno, "cannot read %s: %s", path,
				strerror(errno));
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > most)
		return bwl_fail(e, EMSGSIZE, "%s must be a file of at most %zu bytes", path, most);
	buf = bwl_must(malloc((size_t)st.st_size + 1));
	if (read(fd, buf, (size_t)st.st_size) != st.st_size) {
		free(buf);
		return bwl_fail(e, EIO, "cannot read %s", path);
	}
	buf[st.st_size] = '\0';
	*ret = buf;
	*ret_len = (size_t)st.st_size;
	return 0;
}

bool bwl_tile_is_there(int root, const char *path)
{
	return !faccessat(root, path, F_OK, 0);
}

int bwl_tile_drop_parts(int root, unsigned level, uint64_t n, struct bwl_err *e)
{
	char path[BWL_TILE_PATH + 8];
	struct dirent *de;
	DIR *d;
	int fd, r = 0;

	bwl_tile_path(path, level, n, 0);
	strcat(path, ".p");
	fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : bwl_fail(e, errno, "cannot remove %s: %s", path, strerror(errno));
	d = fdopendir(fd);
	if (!d)
		abort(); /* no memory */
	while (!r && (de = readdir(d)))
		if (strcmp(de->d_name, ".") && strcmp(de->d_name, "..") &&
		    unlinkat(fd, de->d_name, 0))
			r = -errno;
	closedir(d);
	if (!r && unlinkat(root, path, AT_REMOVEDIR))
		r = -errno;
	return r ? bwl_fail(e, -r, "cannot remove %s: %s", path, strerror(-r)) : 0;
}
