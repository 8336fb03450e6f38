/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may leave through a management device: everything that the DPU itself sends, with or without
 * a policy, the stop switch on or off. Not what the kernel made of a packet from a host port or an
 * uplink: an answer has that packet's mark (fwmark_reflect), and a forwarded packet also names its
 * ingress. If anything is missing here the packet passes: a fault of ours never cuts ssh.
 */
#ifndef BWL_MANAGEMENT_H
#define BWL_MANAGEMENT_H

#include "account.h"

/* Charged, or on its way up: the bits common to both. */
static __always_inline _Bool bwl_is_marked(const struct bwl_ctl *ctl, __u32 mark)
{
	return ctl->tag & BWL_MARK_TAG && !((mark ^ ctl->tag) & BWL_MARK_TAG);
}

static __always_inline _Bool bwl_came_by_port(__u32 ifindex)
{
	__u32 *port = ifindex ? bpf_map_lookup_elem(&bwl_ifport_v1, &ifindex) : 0, id;
	struct bwl_dev *dev;

	if (!port || !*port)
		return 0;
	id = *port - 1;
	dev = bpf_map_lookup_elem(&bwl_dev_v1, &id);
	return dev && dev->kind != BWL_PORT_MANAGEMENT;
}

static __always_inline int bwl_leave_management(const struct __sk_buff *skb)
{
	struct bwl_ctl *ctl;
	__u32 zero = 0;

	ctl = bpf_map_lookup_elem(&bwl_ctl_v1, &zero);
	return (ctl && bwl_is_marked(ctl, skb->mark)) || bwl_came_by_port(skb->ingress_ifindex)
		       ? BWL_R_REFLECTED
		       : BWL_R_PASS_OWN;
}

#endif
