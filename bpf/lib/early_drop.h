/* SPDX-License-Identifier: GPL-2.0-only */
/* XDP of an uplink: refuses certain packets cheaply. */
#ifndef BWL_EARLY_DROP_H
#define BWL_EARLY_DROP_H

#include "dest.h"
#include "underlay.h"

/* What TC would refuse in any case, judged without clock and limits. */
static __always_inline int bwl_surely_not(struct bwl_ctx *c, int parsed)
{
	__u32 id;

	if (c->pkt.arp || c->pkt.nd || bwl_is_control(c))
		return BWL_R_NONE;
	if (parsed != BWL_R_NONE)
		return parsed;
	if (c->pkt.nvid)
		return BWL_R_VLAN;
	if ((c->pkt.proto == IPPROTO_ESP || bwl_is_ike(&c->pkt)) && bwl_remote(c, c->pkt.saddr))
		return BWL_R_NONE;
	id = bwl_dest(c, c->pkt.saddr);
	return id ? BWL_R_NONE : BWL_R_UPLINK_IN;
}

#endif
