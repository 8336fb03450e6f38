/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What attaching and asking share. */
#ifndef BWL_HOOK_TC_H
#define BWL_HOOK_TC_H

#include <bpf/libbpf.h>
#include "hook.h"

/* Not in the headers of Debian 12 (kernel 6.1); include/uapi/linux/bpf.h of 6.6. */
#define BWL_TCX_INGRESS 46
#define BWL_TCX_EGRESS 47
#define BWL_F_BEFORE (1U << 3) /* with no other program named: in front of all */

#define BWL_CLSACT_HANDLE 1
#define BWL_CLSACT_PRIORITY 1

#define BWL_LINK_PATH 300

static inline struct bpf_tc_hook bwl_clsact_of(const struct bwl_hook_at *at)
{
	return (struct bpf_tc_hook){ .sz = sizeof(struct bpf_tc_hook),
				     .ifindex = (int)at->dev->ifindex,
				     .attach_point = at->hook == BWL_HOOK_INGRESS ? BPF_TC_INGRESS
										  : BPF_TC_EGRESS };
}

/* Is the filter of our handle and priority ours? ret (may be NULL): its program and tag. */
bool bwl_clsact_ours(const struct bwl_hook_at *at, struct bwl_hook_state *ret);

#endif
