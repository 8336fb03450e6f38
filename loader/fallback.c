// SPDX-License-Identifier: GPL-2.0-or-later
/* See fallback.h: HASH "<program>_<device>" -> text, pinned as <dir>/notes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bwl/map_io.h>
#include <bwl/reader.h>
#include "fallback.h"

#define KEY_LEN 48
#define MAX_NOTES 256 /* two programs on each of 64 ports, and some room */

static void note_path(const char *dir, char path[240])
{
	snprintf(path, 240, "%s/" BWL_NOTES, dir);
}

static int open_notes(const char *dir)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	char path[240];
	int fd;

	note_path(dir, path);
	fd = bpf_obj_get(path);
	if (fd < 0 && errno == EACCES) {
		snprintf(path, sizeof(path), "%s/" BWL_READ_DIR "/" BWL_NOTES, dir);
		fd = bwl_pin_get(path, true);
	}
	if (fd >= 0 && (bpf_obj_get_info_by_fd(fd, &info, &len) || info.key_size != KEY_LEN ||
			info.value_size != BWL_WHY_LEN)) {
		close(fd); /* not ours: a lookup would write past the buffer */
		return -1;
	}
	return fd;
}

static void note_key(const struct bwl_hook_at *at, char key[KEY_LEN])
{
	memset(key, 0, KEY_LEN);
	snprintf(key, KEY_LEN, "%s_%s", at->prog, at->dev->name);
}

int bwl_note_put(const struct bwl_hook_at *at, const char *why, struct bwl_err *e)
{
	char key[KEY_LEN], text[BWL_WHY_LEN] = "", path[240];
	int fd = open_notes(at->pin_dir), r = 0;

	note_path(at->pin_dir, path);
	note_key(at, key);
	if (fd < 0 && !*why)
		return 0;
	if (fd < 0) {
		fd = bwl_map_create(BPF_MAP_TYPE_HASH, "bwl_notes", KEY_LEN, BWL_WHY_LEN, MAX_NOTES,
				    NULL);
		if (fd < 0 || bwl_map_pin(fd, path)) {
			r = bwl_fail(e, errno, "cannot pin %s: %s", path, strerror(errno));
			if (fd >= 0)
				close(fd);
			return r;
		}
	}
	snprintf(text, sizeof(text), "%s", why);
	if (*why ? bwl_map_put(fd, key, text, 0) : bwl_map_delete(fd, key) && errno != ENOENT)
		r = bwl_fail(e, errno, "cannot write %s: %s", path, strerror(errno));
	close(fd);
	return r;
}

void bwl_note_get(const struct bwl_hook_at *at, char *why)
{
	int fd = open_notes(at->pin_dir);
	char key[KEY_LEN];

	note_key(at, key);
	if (fd < 0 || bwl_map_get(fd, key, why))
		why[0] = '\0';
	why[BWL_WHY_LEN - 1] = '\0';
	if (fd >= 0)
		close(fd);
}

int bwl_note_close(const char *pin_dir, const struct bwl_netdev *d, bool closed, struct bwl_err *e)
{
	struct bwl_hook_at at = { .pin_dir = pin_dir, .dev = d, .prog = "closed" };

	return bwl_note_put(&at, closed ? "until verify is clean" : "", e);
}

bool bwl_note_is_closed(const char *pin_dir, const struct bwl_netdev *d)
{
	struct bwl_hook_at at = { .pin_dir = pin_dir, .dev = d, .prog = "closed" };
	char why[BWL_WHY_LEN] = "";

	bwl_note_get(&at, why);
	return *why;
}

void bwl_note_drop(const char *pin_dir)
{
	char path[240];

	note_path(pin_dir, path);
	unlink(path);
}
