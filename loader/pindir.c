// SPDX-License-Identifier: GPL-2.0-or-later
/* The folder of pins: creates it, locks it, gives it to the group, and clears it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include <bwl/inner.h>
#include <bwl/reader.h>
#include <bwl/record.h>
#include "load.h"
#include "fallback.h"

#define LOCK_WAIT_MS 10000

static int make_dir(const char *path, struct bwl_err *e)
{
	struct statfs fs;
	bool made = !mkdir(path, 0750);

	if (!made && errno != EEXIST) {
		bwl_fail(e, errno, "cannot make %s: %s", path, strerror(errno));
		return bwl_hint(e, "mount -t bpf bpf /sys/fs/bpf");
	}
	if (statfs(path, &fs))
		return bwl_fail(e, errno, "cannot query %s: %s", path, strerror(errno));
	if (fs.f_type == BPF_FS_MAGIC)
		return 0;
	if (made) /* leave no trace, and nothing foreign */
		rmdir(path);
	bwl_fail(e, EINVAL, "%s is not on a BPF file system", path);
	return bwl_hint(e, "mount -t bpf bpf /sys/fs/bpf");
}

static int make_dirs(const char *dir, struct bwl_err *e)
{
	static const char *const folders[] = { "", "/maps", "/progs", "/links" };
	char path[240];
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", dir, folders[i]);
		r = make_dir(path, e);
	}
	return r;
}

/* Is this still the directory with that name? A detach may have removed it while we waited. */
static bool still_there(int fd, const char *dir)
{
	struct stat a, b;

	return !fstat(fd, &a) && !stat(dir, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static int lock_dir(struct bwl_load *l, struct bwl_err *e)
{
	struct timespec nap = { .tv_nsec = 10000000 };
	int waited;

	l->dir_fd = open(l->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->dir_fd < 0) {
		bwl_fail(e, errno, "cannot open %s: %s", l->dir, strerror(errno));
		return bwl_hint(e, "nothing is attached there: bwlimit-load attach");
	}
	for (waited = 0; flock(l->dir_fd, LOCK_EX | LOCK_NB); waited += 10) {
		if (errno != EWOULDBLOCK || waited >= LOCK_WAIT_MS) {
			bwl_fail(e, EBUSY, "another bwlimit tool has held %s for %d s", l->dir,
				 waited / 1000);
			return bwl_hint(e, "wait for it to end, then try again");
		}
		nanosleep(&nap, NULL);
	}
	return 0;
}

int bwl_lock_if_free(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void unlock_dir(struct bwl_load *l)
{
	if (l->dir_fd >= 0)
		close(l->dir_fd);
	l->dir_fd = -1;
}

int bwl_load_begin(const char *dir, bool make, struct bwl_load *ret, struct bwl_err *e)
{
	int r, tries;

	memset(ret, 0, sizeof(*ret));
	ret->dir_fd = -1;
	dir = bwl_pin_dir(dir);
	if (strlen(dir) >= sizeof(ret->dir) - 32)
		return bwl_fail(e, ENAMETOOLONG, "--pin-dir: at most %zu characters",
				sizeof(ret->dir) - 33);
	snprintf(ret->dir, sizeof(ret->dir), "%s", dir);
	for (tries = 0; tries < 10; tries++) {
		r = make ? make_dirs(ret->dir, e) : 0;
		if (!r)
			r = lock_dir(ret, e);
		if (!r && still_there(ret->dir_fd, ret->dir))
			return 0;
		unlock_dir(ret);
		if (r)
			return r;
	}
	return bwl_fail(e, EBUSY, "other bwlimit tools keep removing %s", ret->dir);
}

int bwl_load_clear(const char *dir, struct bwl_err *e)
{
	DIR *d = opendir(dir);
	struct dirent *f;
	int r = 0;

	if (!d)
		return errno == ENOENT
			       ? 0
			       : bwl_fail(e, errno, "cannot read %s: %s", dir, strerror(errno));
	while (!r && (f = readdir(d)))
		if (f->d_name[0] != '.' && unlinkat(dirfd(d), f->d_name, 0) && errno != ENOENT)
			r = bwl_fail(e, errno, "cannot remove %s/%s: %s", dir, f->d_name,
				     strerror(errno));
	closedir(d);
	return r;
}

/* Removes the pins that bwl_load_share() and each policy made. */
static int unshare_pins(const char *dir, struct bwl_err *e)
{
	char path[240];
	int r = bwl_inner_forget(dir);

	snprintf(path, sizeof(path), "%s/" BWL_READ_DIR, dir);
	if (r)
		return bwl_fail(e, -r, "cannot unpin a generation's maps under %s: %s", dir,
				strerror(-r));
	r = bwl_load_clear(path, e);
	if (!r && rmdir(path) && errno != ENOENT)
		r = bwl_fail(e, errno, "cannot remove %s: %s", path, strerror(errno));
	return r;
}

/* Removes the recorder's pins (record.h). */
static int drop_record(const char *dir, struct bwl_err *e)
{
	char path[240];
	int r;

	snprintf(path, sizeof(path), "%s/" BWL_REC_DIR, dir);
	r = bwl_load_clear(path, e);
	if (!r && rmdir(path) && errno != ENOENT)
		r = bwl_fail(e, errno, "cannot remove %s: %s", path, strerror(errno));
	return r;
}

int bwl_load_wipe(const char *dir, struct bwl_err *e)
{
	/* Links first: programs are removed before the maps they use. */
	static const char *const folders[] = { "/links", "/progs", "/maps", "" };
	char path[240];
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", dir, folders[i]);
		if (i < 3)
			r = bwl_load_clear(path, e);
		else
			bwl_note_drop(dir);
		if (!r && i == 2)
			r = unshare_pins(dir, e);
		if (!r && i == 2)
			r = drop_record(dir, e);
		if (!r && rmdir(path) && errno != ENOENT)
			r = bwl_fail(e, errno, "cannot remove %s: %s", path, strerror(errno));
	}
	return r;
}
