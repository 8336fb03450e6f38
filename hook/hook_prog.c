// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether a program is ours, its tag and its pins: see hook_tc.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "hook_tc.h"

#define MAX_MAPS 64 /* a program uses fewer */

static void tag_text(const struct bpf_prog_info *info, char tag[17])
{
	int i;

	for (i = 0; i < 8; i++)
		snprintf(tag + 2 * i, 3, "%02x", info->tag[i]);
}

void bwl_hook_tag(int prog_fd, char tag[17])
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	tag[0] = '\0';
	if (prog_fd >= 0 && !bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		tag_text(&info, tag);
}

uint32_t bwl_hook_prog_id(int prog_fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog_fd, &info, &len) ? 0 : info.id;
}

void bwl_hook_prog_path(const struct bwl_hook_at *at, const char *before, char path[BWL_LINK_PATH])
{
	snprintf(path, BWL_LINK_PATH, "%s/progs/%s%s_%s", at->pin_dir, before, at->prog,
		 at->dev->name);
}

int bwl_hook_open_prog(const struct bwl_hook_at *at, uint32_t prog_id)
{
	char path[2][BWL_LINK_PATH];
	unsigned i;
	int fd;

	bwl_hook_prog_path(at, "", path[0]);
	bwl_hook_prog_path(at, BWL_HOOK_NEW, path[1]);
	for (i = 0; i < 2; i++) {
		fd = bpf_obj_get(path[i]);
		if (fd >= 0 && bwl_hook_prog_id(fd) == prog_id)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	/* Without ctl_id the name decides: for programs whose pins are hidden. */
	return at->ctl_id ? -1 : bpf_prog_get_fd_by_id(prog_id);
}

bool bwl_hook_link_info(const struct bwl_hook_at *at, struct bpf_link_info *ret)
{
	__u32 len = sizeof(*ret);
	char path[BWL_LINK_PATH];
	int fd;
	bool ok;

	memset(ret, 0, sizeof(*ret));
	snprintf(path, sizeof(path), "%s/links/%s_%s", at->pin_dir, at->prog, at->dev->name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return false;
	ok = !bpf_obj_get_info_by_fd(fd, ret, &len) && ret->xdp.ifindex == at->dev->ifindex;
	close(fd);
	return ok;
}

bool bwl_hook_uses_map(int prog_fd, uint32_t map_id)
{
	uint32_t maps[MAX_MAPS], i;
	struct bpf_prog_info info = { .map_ids = (__u64)(uintptr_t)maps, .nr_map_ids = MAX_MAPS };
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return false;
	for (i = 0; i < info.nr_map_ids && i < MAX_MAPS; i++)
		if (maps[i] == map_id)
			return true;
	return false;
}

bool bwl_hook_is_ours_fd(const struct bwl_hook_at *at, int prog_fd, char tag[17])
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	bool ok = !bpf_obj_get_info_by_fd(prog_fd, &info, &len) && !strcmp(info.name, at->prog) &&
		  (!at->ctl_id || bwl_hook_uses_map(prog_fd, at->ctl_id));

	if (ok && tag)
		tag_text(&info, tag);
	return ok;
}

bool bwl_hook_is_ours(const struct bwl_hook_at *at, uint32_t prog_id, char tag[17])
{
	int fd = prog_id ? bwl_hook_open_prog(at, prog_id) : -1;
	bool ok = fd >= 0 && bwl_hook_is_ours_fd(at, fd, tag);

	if (fd >= 0)
		close(fd);
	return ok;
}

int bwl_hook_offer(const struct bwl_hook_at *at, int prog_fd, struct bwl_err *e)
{
	char fresh[BWL_LINK_PATH];

	bwl_hook_prog_path(at, BWL_HOOK_NEW, fresh);
	unlink(fresh); /* left over from a program that was refused */
	return bpf_obj_pin(prog_fd, fresh)
		       ? bwl_fail(e, errno, "cannot pin %s: %s", fresh, strerror(errno))
		       : 0;
}

int bwl_hook_drop_progs(const struct bwl_hook_at *at, struct bwl_err *e)
{
	static const char *const before[] = { "", BWL_HOOK_NEW };
	char path[BWL_LINK_PATH];
	unsigned i;

	for (i = 0; i < 2; i++) {
		bwl_hook_prog_path(at, before[i], path);
		if (unlink(path) && errno != ENOENT)
			return bwl_fail(e, errno, "cannot remove %s: %s", path, strerror(errno));
	}
	return 0;
}
