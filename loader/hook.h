/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One program on one hook of one device, pinned as a bpf_link where the kernel has links for
 * the hook (XDP 5.9, tcx 6.6); a clsact filter otherwise. Decided by trying, read back after.
 */
#ifndef BWL_LOADER_HOOK_H
#define BWL_LOADER_HOOK_H

#include <bwl/err.h>
#include <bwl/netdev.h>

enum bwl_hook { BWL_HOOK_XDP, BWL_HOOK_INGRESS, BWL_HOOK_EGRESS };
enum bwl_tc_way { BWL_TC_AUTO, BWL_TC_TCX, BWL_TC_CLSACT };
enum bwl_xdp_way { BWL_XDP_AUTO, BWL_XDP_NATIVE, BWL_XDP_GENERIC, BWL_XDP_NONE };

struct bwl_hook_state {
	bool attached;
	const char *how;	/* "tcx", "clsact", "xdp native", "xdp generic" */
	uint32_t prog_id, link_id;	/* link_id 0: no bpf_link, the weaker form */
	bool first;		/* nothing foreign runs before it */
	char tag[17];
};

/* Attach, or replace in place when our link is there; *ret_how says what was taken. */
int bwl_hook_attach(const char *pin_dir, const struct bwl_netdev *d, enum bwl_hook hook,
		    int prog_fd, const char *prog_name, enum bwl_tc_way tc, enum bwl_xdp_way xdp,
		    struct bwl_err *e);
int bwl_hook_detach(const char *pin_dir, const struct bwl_netdev *d, enum bwl_hook hook,
		    const char *prog_name, struct bwl_err *e);
/* What the kernel says is there now. */
int bwl_hook_query(const char *pin_dir, const struct bwl_netdev *d, enum bwl_hook hook,
		   const char *prog_name, struct bwl_hook_state *ret, struct bwl_err *e);

#endif
