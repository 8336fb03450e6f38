// SPDX-License-Identifier: GPL-2.0-or-later
/* See keys.h. */
#include <bwl/bytes.h>
#include <bwl/cleanup.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "keys.h"

#define NAME_FORMAT "epoch-%08" PRIu64 ".key"
#define NAME 40

static int open_folder(const char *state_dir, bool make, int *ret, struct bwl_err *e)
{
	char path[500];

	snprintf(path, sizeof(path), "%s/" EV_KEYS_DIR, state_dir);
	if (make && mkdir(path, 0700) && errno != EEXIST)
		return bwl_fail(e, errno, "cannot make %s: %s", path, strerror(errno));
	*ret = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret < 0 ? bwl_fail(e, errno, "cannot open %s: %s", path, strerror(errno)) : 0;
}

/* -EBADMSG: the file is not 32 bytes long. */
static int read_key(int dir, const char *name, uint8_t ret[static 32])
{
	BWL_AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint8_t text[33];
	size_t have = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = read(fd, text + have, sizeof(text) - have);
		have += n > 0 ? (size_t)n : 0;
	} while (have < sizeof(text) && (n > 0 || (n < 0 && errno == EINTR)));
	if (n < 0)
		return -errno;
	memcpy(ret, text, 32);
	explicit_bzero(text, sizeof(text));
	return have == 32 ? 0 : -EBADMSG;
}

/*
 * Makes the file atomically: whole under its name, or absent. If another process makes it at the
 * same time, the first one counts.
 */
static int make_key(int dir, const char *name)
{
	BWL_AUTO_CLOSE int fd = -1;
	uint8_t key[32];
	char own[NAME];
	int r;

	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return -EIO;
	snprintf(own, sizeof(own), "new-%ld.key", (long)gettid());
	unlinkat(dir, own, 0); /* left by a killed process with this id */
	fd = openat(dir, own, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = bwl_bytes_write(fd, key, sizeof(key));
	explicit_bzero(key, sizeof(key));
	if (!r && (fsync(fd) || (linkat(dir, own, dir, name, 0) && errno != EEXIST)))
		r = -errno;
	unlinkat(dir, own, 0);
	if (!r && fsync(dir))
		r = -errno;
	return r;
}

static int fail(struct bwl_err *e, int r, const char *state_dir, const char *name)
{
	if (r != -EBADMSG)
		return bwl_fail(e, -r, "%s/" EV_KEYS_DIR "/%s: %s", state_dir, name, strerror(-r));
	bwl_fail(e, EBADMSG, "%s/" EV_KEYS_DIR "/%s: it must have 32 bytes", state_dir, name);
	return bwl_hint(
		e,
		"intervals of its day cannot be opened; move it away, and bwlimitd makes a new one");
}

static int by_epoch(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int ev_key_make(const char *state_dir, uint64_t epoch, uint8_t ret[static 32], struct bwl_err *e)
{
	BWL_AUTO_CLOSE int dir = -1;
	char name[NAME];
	int r = open_folder(state_dir, true, &dir, e);

	if (r)
		return r;
	snprintf(name, sizeof(name), NAME_FORMAT, epoch);
	r = read_key(dir, name, ret);
	if (r == -ENOENT) {
		r = make_key(dir, name);
		if (!r)
			r = read_key(dir, name, ret);
		if (!r)
			ev_keys_expire(state_dir, epoch);
	}
	return r ? fail(e, r, state_dir, name) : 0;
}

int ev_key_read(const char *state_dir, uint64_t epoch, uint8_t ret[static 32], struct bwl_err *e)
{
	BWL_AUTO_CLOSE int dir = -1;
	char name[NAME];
	int r = open_folder(state_dir, false, &dir, e);

	if (r)
		return r;
	snprintf(name, sizeof(name), NAME_FORMAT, epoch);
	r = read_key(dir, name, ret);
	if (!r)
		return 0;
	fail(e, r, state_dir, name);
	if (r == -ENOENT)
		bwl_hint(e, "secrets are kept %d days: what is older cannot be opened any more",
			 EV_KEYS_KEPT);
	return r;
}

void ev_keys_expire(const char *state_dir, uint64_t today)
{
	uint64_t epoch, *all = NULL;
	char path[500], again[NAME];
	size_t n = 0, room = 0;
	struct dirent *f;
	DIR *d;

	snprintf(path, sizeof(path), "%s/" EV_KEYS_DIR, state_dir);
	d = opendir(path);
	while (d && (f = readdir(d))) {
		if (sscanf(f->d_name, "epoch-%" SCNu64 ".key", &epoch) != 1)
			continue;
		snprintf(again, sizeof(again), NAME_FORMAT, epoch);
		if (strcmp(again, f->d_name))
			continue;
		if (n == room)
			all = bwl_must(reallocarray(all, room = 2 * room + 64, sizeof(*all)));
		all[n++] = epoch;
	}
	if (n)
		qsort(all, n, sizeof(*all), by_epoch);
	for (size_t i = 0; i + EV_KEYS_KEPT < n; i++) {
		snprintf(again, sizeof(again), NAME_FORMAT, all[i]);
		if (all[i] < today && today - all[i] > EV_KEYS_KEPT)
			unlinkat(dirfd(d), again, 0);
	}
	free(all);
	if (d)
		closedir(d);
}
