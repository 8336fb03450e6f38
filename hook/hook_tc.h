/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by attaching and querying. */
#ifndef BWL_HOOK_TC_H
#define BWL_HOOK_TC_H

#include <bpf/libbpf.h>
#include "hook.h"

/* Missing in the headers of Debian 12 (kernel 6.1); include/uapi/linux/bpf.h of 6.6. */
#define BWL_TCX_INGRESS 46
#define BWL_TCX_EGRESS 47
#define BWL_F_BEFORE (1U << 3) /* with no other program named: before all */

#define BWL_CLSACT_HANDLE 1
#define BWL_CLSACT_PRIORITY 1

#define BWL_LINK_PATH 300

/* bwl_hook_state.how */
#define BWL_HOW_GENERIC "xdp generic"
#define BWL_HOW_LIBXDP "libxdp dispatcher"

#define BWL_HOOK_NEW "new_" /* before the name of a pin that is to replace the one of that name */
uint32_t bwl_hook_prog_id(int prog_fd); /* 0 on failure */
/* The path of this hook's pinned program. */
void bwl_hook_prog_path(const struct bwl_hook_at *at, const char *before, char path[BWL_LINK_PATH]);
/*
 * Pins the program before it is attached, so that a reader who finds it there finds its pin, too.
 */
int bwl_hook_offer(const struct bwl_hook_at *at, int prog_fd, struct bwl_err *e);
int bwl_hook_drop_progs(const struct bwl_hook_at *at, struct bwl_err *e);
/* The kernel's information about our pinned link on this device; false: there is none. */
bool bwl_hook_link_info(const struct bwl_hook_at *at, struct bpf_link_info *ret);
/*
 * Opens the pinned program with that id; if the name decides, and the caller has CAP_SYS_ADMIN,
 * also one whose pin is not visible. -1: not ours.
 */
int bwl_hook_open_prog(const struct bwl_hook_at *at, uint32_t prog_id);

static inline struct bpf_tc_hook bwl_clsact_of(const struct bwl_hook_at *at)
{
	return (struct bpf_tc_hook){ .sz = sizeof(struct bpf_tc_hook),
				     .ifindex = (int)at->dev->ifindex,
				     .attach_point = at->hook == BWL_HOOK_INGRESS ? BPF_TC_INGRESS
										  : BPF_TC_EGRESS };
}

/* Is the filter with our handle and priority ours? ret (may be NULL): its program and tag. */
bool bwl_clsact_ours(const struct bwl_hook_at *at, struct bwl_hook_state *ret);

#endif
