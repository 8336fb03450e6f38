// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/inner.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bwl/inner.h>
#include <bwl/map_io.h>
#include <bwl/reader.h>

#define INNER_PATH 300
#define INNER_TRIES 100 /* a policy is replaced between two steps: then there is a newer one */

static uint32_t id_of(int fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

static const char *folder_of(bool reader)
{
	return reader ? BWL_READ_DIR "/" BWL_INNER_DIR : BWL_INNER_DIR;
}

static void path_of(const char *dir, bool reader, uint32_t id, char path[INNER_PATH])
{
	snprintf(path, INNER_PATH, "%s/%s/%u", dir, folder_of(reader), id);
}

static int open_id(const char *dir, bool reader, uint32_t id)
{
	char path[INNER_PATH];
	int fd;

	path_of(dir, reader, id, path);
	fd = bwl_pin_get(path, reader);
	if (fd < 0)
		return fd;
	if (id_of(fd) == id)
		return fd;
	close(fd);
	return -ESTALE; /* none of our tools put it there */
}

int bwl_inner_open(const char *dir, int outer, uint32_t slot, bool reader)
{
	uint32_t id, again;
	int tries, r;

	for (tries = 0; tries < INNER_TRIES; tries++) {
		if (bwl_map_get(outer, &slot, &id))
			return -errno;
		r = open_id(dir, reader, id);
		if (r != -ENOENT)
			return r;
		if (!bwl_map_get(outer, &slot, &again) && again == id)
			return -ENOLINK;
	}
	return -EAGAIN;
}

/* The pin gets the group of its folder if that may enter: units may not set a set-group-id bit. */
static int pin_for(const char *dir, bool reader, int fd)
{
	char path[INNER_PATH];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, folder_of(reader));
	if ((!reader && mkdir(path, 0700) && errno != EEXIST) || stat(path, &st))
		return reader && errno == ENOENT ? 0 : -errno; /* there are no readers */
	path_of(dir, reader, id_of(fd), path);
	if (bwl_map_pin(fd, path) && errno != EEXIST)
		return -errno;
	return st.st_mode & S_IXGRP ? bwl_group_give_path(path, st.st_gid, reader ? 0440 : 0660)
				    : 0;
}

int bwl_inner_pin(const char *dir, int fd)
{
	int r = pin_for(dir, false, fd);

	return r ? r : pin_for(dir, true, fd);
}

int bwl_inner_share(const char *dir, int outer)
{
	uint32_t slot;
	int fd, r = 0;

	for (slot = 0; !r && slot < BWL_GENERATIONS; slot++) {
		fd = bwl_inner_open(dir, outer, slot, false);
		if (fd == -ENOENT)
			continue;
		r = fd < 0 ? fd : bwl_inner_pin(dir, fd);
		if (fd >= 0)
			close(fd);
	}
	return r;
}

/* What cannot be read may be used: a map that lost its pin would be lost to every tool. */
static bool is_used(const struct bwl_pins *p, uint32_t id)
{
	uint32_t slot, has;
	int i, r;

	for (i = 0; i < _BWL_PIN_MAX; i++)
		for (slot = 0; bwl_inner_shape(i, NULL) && slot < BWL_GENERATIONS; slot++) {
			r = bwl_map_get(p->fd[i], &slot, &has);
			if (r ? r != -ENOENT : has == id)
				return true;
		}
	return false;
}

/* p NULL: removes all of them. */
static int sweep(const char *dir, bool reader, const struct bwl_pins *p)
{
	struct dirent *f;
	char path[INNER_PATH];
	int r = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%s", dir, folder_of(reader));
	d = opendir(path);
	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (!r && (f = readdir(d)))
		if (f->d_name[0] != '.' &&
		    !(p && is_used(p, (uint32_t)strtoul(f->d_name, NULL, 10))) &&
		    unlinkat(dirfd(d), f->d_name, 0) && errno != ENOENT &&
		    (errno != EISDIR || unlinkat(dirfd(d), f->d_name, AT_REMOVEDIR)))
			r = -errno;
	closedir(d);
	return r;
}

int bwl_inner_sweep(const struct bwl_pins *p)
{
	int r = sweep(p->dir, true, p);

	return r ? r : sweep(p->dir, false, p);
}

int bwl_inner_forget(const char *dir)
{
	char path[INNER_PATH];
	int r = 0, reader;

	for (reader = 1; !r && reader >= 0; reader--) {
		r = sweep(dir, reader, NULL);
		snprintf(path, sizeof(path), "%s/%s", dir, folder_of(reader));
		if (!r && rmdir(path) && errno != ENOENT)
			r = -errno;
	}
	return r;
}
