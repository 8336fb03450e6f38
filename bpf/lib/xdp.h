/* SPDX-License-Identifier: GPL-2.0-only */
/* What only the XDP hook needs. */
#ifndef BWL_XDP_H
#define BWL_XDP_H

#include <bpf/bpf_core_read.h>
#include "ctx.h"

/* The whole frame, including fragments (bpf_xdp_get_buff_len: kernel 5.18, as xdp.frags). */
static __always_inline __u32 bwl_xdp_len(struct xdp_md *xdp)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_xdp_get_buff_len))
		return bpf_xdp_get_buff_len(xdp);
	return xdp->data_end - xdp->data;
}

/*
 * Global like bwl_tc_parse(), and for Linux 6.1, whose verifier loses track of the frame when it is
 * inlined.
 */
BWL_GLOBAL int bwl_xdp_parse(struct xdp_md *xdp, struct bwl_pkt *k)
{
	__u32 len = bwl_xdp_len(xdp);

	if (!k || len > BWL_IP_MAX) /* BIG TCP, at generic XDP: only TC knows whose it is */
		return BWL_R_TRUNCATED;
	return bwl_parse(k, (void *)(long)xdp->data, (void *)(long)xdp->data_end, len, 0);
}

static __always_inline int bwl_xdp_parse_host(struct xdp_md *xdp, struct bwl_pkt *k, __u32 len)
{
	if (bwl_likely(
		    bwl_parse_plain(k, (void *)(long)xdp->data, (void *)(long)xdp->data_end, len)))
		return BWL_R_NONE;
	*k = (struct bwl_pkt){};
	return bwl_xdp_parse(xdp, k);
}

/*
 * What XDP leaves to TC: headers may lie beyond the linear part, and a VLAN tag may be kept beside
 * the frame where only TC sees it, which would make the host's source look wrong.
 */
static __always_inline _Bool bwl_xdp_unsure(int reason)
{
	return reason == BWL_R_TRUNCATED;
}

#endif
