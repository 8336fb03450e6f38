// SPDX-License-Identifier: GPL-2.0-or-later
/* See suspend.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bwl/tables.h>
#include "bwlimit.skel.h"
#include "hook/hook.h"
#include "suspend.h"

#define TRACEPOINT "suspend_resume"
#define PROG "bwl_tp_suspend"

/* Kernels built without suspend lack this file, or it is empty. */
static bool can_suspend(void)
{
	FILE *f = fopen("/sys/power/state", "re");
	bool can = f && fgetc(f) > ' ';

	if (f)
		fclose(f);
	return can;
}

int bwl_suspend_attach(const struct bwl_load *l, struct bwl_err *e)
{
	char path[300], fresh[300];
	int fd, err;

	snprintf(path, sizeof(path), "%s/links/suspend", l->dir);
	snprintf(fresh, sizeof(fresh), "%s/links/new_suspend", l->dir);
	unlink(fresh);
	fd = bpf_raw_tracepoint_open(TRACEPOINT, bwl_load_prog(l->skel, PROG));
	if (fd < 0) {
		if (can_suspend())
			bwl_warn(
				"the kernel does not report a suspend (%s): after one, each CPU may pass up to 256 KiB of a grant that has ended",
				strerror(errno));
		return 0;
	}
	err = bpf_obj_pin(fd, fresh) || rename(fresh, path) ? errno : 0;
	close(fd);
	return err ? bwl_fail(e, err, "cannot pin %s: %s", path, strerror(err)) : 0;
}

/* Returns the program of the pinned link; 0: there is no such link. */
static uint32_t linked_prog(const struct bwl_pins *p)
{
	char path[300], name[sizeof(TRACEPOINT)] = "";
	struct bpf_link_info info = { .raw_tracepoint = { .tp_name = (uintptr_t)name,
							  .tp_name_len = sizeof(name) } };
	__u32 len = sizeof(info);
	int fd, r;

	snprintf(path, sizeof(path), "%s/links/suspend", p->dir);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return 0;
	r = bpf_obj_get_info_by_fd(fd, &info, &len);
	close(fd);
	return r || info.type != BPF_LINK_TYPE_RAW_TRACEPOINT || strcmp(name, TRACEPOINT)
		       ? 0
		       : info.prog_id;
}

void bwl_suspend_check(struct bwl_report *r, const struct bwl_pins *p, struct bwlimit *built)
{
	uint32_t linked = linked_prog(p);
	struct bpf_prog_info info = {};
	char path[300], tag[17] = "", want[17] = "";
	__u32 len = sizeof(info);
	int fd;

	snprintf(path, sizeof(path), "%s/progs/" PROG, p->dir);
	fd = bpf_obj_get(path);
	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len))
		bwl_hook_tag(fd, tag);
	if (fd >= 0)
		close(fd);
	if (built)
		bwl_hook_tag(bwl_load_prog(built, PROG), want);
	if (!linked || linked != info.id)
		bwl_check(
			r, "suspend", can_suspend() ? BWL_WARN : BWL_OK, "bwlimit-load attach",
			can_suspend()
				? "no program notes a suspend: after one, each CPU may pass up to 256 KiB of a grant that has ended"
				: "this kernel cannot suspend");
	else if (*want && strcmp(want, tag))
		bwl_check(r, "suspend", BWL_FAIL, "bwlimit-load upgrade",
			  PROG " has tag %s, this version's is %s", tag, want);
	else
		bwl_check(r, "suspend", BWL_OK, "",
			  "a suspend is noted before any packet is judged by the ticks, tag %s",
			  tag);
}
