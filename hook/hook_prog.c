/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a program is ours, and its tag. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "hook.h"

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

bool bwl_hook_is_ours(const struct bwl_hook_at *at, uint32_t prog_id, char tag[17])
{
	uint32_t maps[MAX_MAPS], i;
	struct bpf_prog_info info = { .map_ids = (__u64)(uintptr_t)maps, .nr_map_ids = MAX_MAPS };
	__u32 len = sizeof(info);
	int fd = prog_id ? bpf_prog_get_fd_by_id(prog_id) : -1;
	bool ok;

	if (fd < 0)
		return false;
	ok = !bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, at->prog);
	close(fd);
	for (i = 0; ok && at->ctl_id && i < info.nr_map_ids && i < MAX_MAPS; i++)
		if (maps[i] == at->ctl_id)
			break;
	ok = ok && (!at->ctl_id || (i < info.nr_map_ids && i < MAX_MAPS));
	if (ok && tag)
		tag_text(&info, tag);
	return ok;
}
