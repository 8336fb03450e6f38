/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See bwl/inner.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bwl/inner.h>

#define INNER_PATH 300
#define INNER_TRIES 100 /* a policy is replaced between two steps: then there is a newer one */

static uint32_t id_of(int fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

static void path_of(const char *dir, uint32_t id, char path[INNER_PATH])
{
	snprintf(path, INNER_PATH, "%s/" BWL_INNER_DIR "/%u", dir, id);
}

static int open_id(const char *dir, uint32_t id)
{
	char path[INNER_PATH];
	int fd;

	path_of(dir, id, path);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	if (id_of(fd) == id)
		return fd;
	close(fd);
	return -ESTALE; /* whoever put it there is none of our tools */
}

int bwl_inner_open(const char *dir, int outer, uint32_t slot)
{
	uint32_t id, again;
	int tries, r;

	for (tries = 0; tries < INNER_TRIES; tries++) {
		if (bpf_map_lookup_elem(outer, &slot, &id))
			return -errno;
		r = open_id(dir, id);
		if (r != -ENOENT)
			return r;
		if (!bpf_map_lookup_elem(outer, &slot, &again) && again == id)
			return -ENOLINK;
	}
	return -EAGAIN;
}

int bwl_inner_pin(const char *dir, int fd)
{
	char path[INNER_PATH];

	snprintf(path, sizeof(path), "%s/" BWL_INNER_DIR, dir);
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	path_of(dir, id_of(fd), path);
	return bpf_obj_pin(fd, path) && errno != EEXIST ? -errno : 0;
}

int bwl_inner_adopt(const char *dir, int outer)
{
	uint32_t slot, id;
	int fd, r = 0;

	for (slot = 0; !r && slot < BWL_GENERATIONS; slot++) {
		fd = bwl_inner_open(dir, outer, slot);
		if (fd == -ENOLINK && !bpf_map_lookup_elem(outer, &slot, &id)) {
			fd = bpf_map_get_fd_by_id(id);
			r = fd < 0 ? -errno : bwl_inner_pin(dir, fd);
		} else if (fd < 0 && fd != -ENOENT) {
			r = fd;
		}
		if (fd >= 0)
			close(fd);
	}
	return r;
}

static bool is_used(const struct bwl_pins *p, uint32_t id)
{
	uint32_t slot, has;
	int i;

	for (i = 0; i < _BWL_PIN_MAX; i++)
		for (slot = 0; bwl_inner_shape(i, NULL) && slot < BWL_GENERATIONS; slot++)
			if (!bpf_map_lookup_elem(p->fd[i], &slot, &has) && has == id)
				return true;
	return false;
}

/* p NULL: all of them. */
static int sweep(const char *dir, const struct bwl_pins *p)
{
	struct dirent *f;
	char path[INNER_PATH];
	int r = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/" BWL_INNER_DIR, dir);
	d = opendir(path);
	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (!r && (f = readdir(d)))
		if (f->d_name[0] != '.' &&
		    !(p && is_used(p, (uint32_t)strtoul(f->d_name, NULL, 10))) &&
		    unlinkat(dirfd(d), f->d_name, 0) && errno != ENOENT)
			r = -errno;
	closedir(d);
	return r;
}

int bwl_inner_sweep(const struct bwl_pins *p)
{
	return sweep(p->dir, p);
}

int bwl_inner_forget(const char *dir)
{
	char path[INNER_PATH];
	int r = sweep(dir, NULL);

	snprintf(path, sizeof(path), "%s/" BWL_INNER_DIR, dir);
	return !r && rmdir(path) && errno != ENOENT ? -errno : r;
}
