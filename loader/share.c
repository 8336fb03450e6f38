// SPDX-License-Identifier: GPL-2.0-or-later
/* Pins for users without root: bwl/reader.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bwl/inner.h>
#include <bwl/map_io.h>
#include <bwl/reader.h>
#include "load.h"
#include "fallback.h"

#define PATH 300

static int give(const char *path, gid_t gid, mode_t mode, struct bwl_err *e)
{
	int r = bwl_group_give_path(path, gid, mode);

	if (!r)
		return 0;
	bwl_fail(e, -r, "cannot give %s to group %lu: %s", path, (unsigned long)gid, strerror(-r));
	return bwl_group_hint(e);
}

/*
 * Creates it if missing. Users outside the groups may traverse it if others must, but see nothing.
 */
static int give_dir(const char *path, gid_t gid, mode_t mode, struct bwl_err *e)
{
	if (mkdir(path, 0700) && errno != EEXIST)
		return bwl_fail(e, errno, "cannot make %s: %s", path, strerror(errno));
	return give(path, gid, mode, e);
}

static int inner(const struct bwl_pins *p, struct bwl_err *e)
{
	int i, r = 0;

	for (i = 0; !r && i < _BWL_PIN_MAX; i++)
		if (bwl_inner_shape(i, NULL))
			r = bwl_inner_share(p->dir, p->fd[i]);
	if (!r)
		return 0;
	bwl_fail(e, -r, "cannot pin the policy's maps under %s: %s", p->dir, strerror(-r));
	return bwl_group_hint(e);
}

static int for_writers(const struct bwl_pins *p, gid_t gid, struct bwl_err *e)
{
	char path[PATH];
	int i, r;

	/*
	 * The folder is readable: the reader of the events' ring buffer holds a lock on it
	 * (bwl_event_lock()).
	 */
	snprintf(path, sizeof(path), "%s/maps", p->dir);
	r = give_dir(path, gid, 0750, e);
	for (i = 0; !r && i < _BWL_PIN_MAX; i++) {
		snprintf(path, sizeof(path), "%s/maps/%s", p->dir, bwl_pin_name(i));
		r = give(path, gid, 0660, e);
	}
	snprintf(path, sizeof(path), "%s/" BWL_INNER_DIR, p->dir);
	return r ? r : give_dir(path, gid, 0710, e);
}

/* Makes another pin of the same map. An existing pin may be of a map that was since replaced. */
static int pin_again(const char *dir, const char *name, int fd, gid_t gid, struct bwl_err *e)
{
	char path[PATH], fresh[PATH];
	int r;

	snprintf(path, sizeof(path), "%s/" BWL_READ_DIR "/%s", dir, name);
	snprintf(fresh, sizeof(fresh), "%s/" BWL_READ_DIR "/new_%s", dir, name);
	unlink(fresh);
	if (bwl_map_pin(fd, fresh))
		return bwl_fail(e, errno, "cannot pin %s: %s", fresh, strerror(errno));
	r = give(fresh, gid, 0440, e);
	if (!r && rename(fresh, path))
		r = bwl_fail(e, errno, "cannot rename %s: %s", fresh, strerror(errno));
	if (r)
		unlink(fresh);
	return r;
}

static int for_readers(const struct bwl_pins *p, gid_t gid, struct bwl_err *e)
{
	char path[PATH];
	int i, r, fd;

	snprintf(path, sizeof(path), "%s/" BWL_READ_DIR, p->dir);
	r = give_dir(path, gid, 0710, e);
	/*
	 * Reading the ring buffer means writing to it: readers get events from a socket of
	 * bwlimitd.
	 */
	for (i = 0; !r && i < _BWL_PIN_MAX; i++)
		if (i != BWL_PIN_event)
			r = pin_again(p->dir, bwl_pin_name(i), p->fd[i], gid, e);
	snprintf(path, sizeof(path), "%s/" BWL_NOTES, p->dir);
	fd = bpf_obj_get(path);
	if (!r && fd >= 0)
		r = pin_again(p->dir, BWL_NOTES, fd, gid, e);
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "%s/" BWL_READ_DIR "/" BWL_INNER_DIR, p->dir);
	return r ? r : give_dir(path, gid, 0710, e);
}

int bwl_load_share(const struct bwl_pins *p, struct bwl_err *e)
{
	gid_t writers = 0, readers = 0;
	bool write = bwl_group_id(BWL_GROUP, &writers),
	     read = bwl_group_id(BWL_GROUP_READ, &readers);
	int r = write || read ? give_dir(p->dir, 0, 0711, e) : 0;

	if (!r && write)
		r = for_writers(p, writers, e);
	if (!r && read)
		r = for_readers(p, readers, e);
	if (!r && (write || read))
		r = inner(p, e);
	return r;
}
