/* SPDX-License-Identifier: GPL-2.0-only */
/* Is the packet's source genuine: VLAN tags, MAC and address of the host port? */
#ifndef BWL_SOURCE_H
#define BWL_SOURCE_H

#include "ctx.h"

static __always_inline _Bool bwl_vlan_ok(const struct bwl_port *p, __u16 vid)
{
	__u32 i;

	for (i = 0; i < BWL_MAX_VLANS && i < p->nvlans; i++)
		if (p->vlan[i] == vid)
			return 1;
	return 0;
}

BWL_GLOBAL int bwl_src4_ok(const struct bwl_port *p, __be32 a)
{
	__u32 i;

	if (!p)
		return 0;
	for (i = 0; i < BWL_MAX_SOURCES && i < p->nsrc4; i++)
		if ((a & p->src4[i].mask) == p->src4[i].addr)
			return 1;
	return 0;
}

BWL_GLOBAL int bwl_src6_ok(const struct bwl_port *p, const struct bwl_key6 *addr)
{
	const struct bwl_prefix6 *x;
	const __be32 *a;
	__u32 i;

	if (!p || !addr)
		return 0;
	a = addr->addr;
	for (i = 0; i < BWL_MAX_SOURCES && i < p->nsrc6; i++) {
		x = &p->src6[i];
		if (!(((a[0] & x->mask[0]) ^ x->addr[0]) | ((a[1] & x->mask[1]) ^ x->addr[1]) |
		      ((a[2] & x->mask[2]) ^ x->addr[2]) | ((a[3] & x->mask[3]) ^ x->addr[3])))
			return 1;
	}
	return 0;
}

/* tag: the VLAN tag that TC keeps beside the frame, -1: none. */
BWL_GLOBAL int bwl_tags_ok(const struct bwl_port *p, const struct bwl_pkt *k, int tag)
{
	__u32 i;

	if (!p || !k)
		return 0;
	if (tag >= 0 && !bwl_vlan_ok(p, tag & 0x0fff))
		return 0;
	if (tag >= 0 && k->nvid >= BWL_MAX_TAGS)
		return 0; /* a third tag */
	for (i = 0; i < BWL_MAX_TAGS && i < k->nvid; i++)
		if (!bwl_vlan_ok(p, k->vid[i]))
			return 0;
	return 1;
}

/* Destinations that no peer can have: they end at the DPU. Of IPv6 ::/32 as well (bwl_parse()). */
static __always_inline _Bool bwl_ends_here(const struct bwl_pkt *k)
{
	__u32 d = bwl_ntohl(k->daddr[3]);

	if (k->group)
		return 1;
	if (k->family == 4) /* 0/8, 127/8, 169.254/16, 224/3 */
		return d >> 24 == 0 || d >> 24 == 127 || d >> 16 == 0xa9fe || d >= 0xe0000000;
	d = bwl_ntohl(k->daddr[0]);
	return d >> 24 == 0xff || (d & 0xffc00000) == 0xfe800000;
}

/* From a link-local address, or from none: a host that is not configured yet, MLD, DHCP. */
static __always_inline _Bool bwl_of_the_link(const struct bwl_pkt *k)
{
	__u32 a = bwl_ntohl(k->saddr[3]);

	if (k->family == 4)
		return !a || a >> 16 == 0xa9fe;
	return (k->saddr[0] & bwl_htonl(0xffc00000)) == bwl_htonl(0xfe800000) ||
	       bwl_is_unspecified(k->saddr);
}

/*
 * Not one of the port's sources. What every host sends on its link is not a forgery; it ends at the
 * DPU.
 */
static __always_inline int bwl_no_source(const struct bwl_pkt *k)
{
	return bwl_of_the_link(k) && bwl_ends_here(k) ? BWL_R_LOCAL_PROTO : BWL_R_SRC_ADDR;
}

/* tag: as in bwl_tags_ok(). */
static __always_inline int bwl_source(struct bwl_ctx *c, int tag)
{
	const struct bwl_port *p = c->port;
	struct bwl_pkt *k = &c->pkt;
	__be32 a = k->saddr[3];

	if (bwl_unlikely(tag >= 0 || k->nvid) && !bwl_tags_ok(p, k, tag))
		return BWL_R_VLAN;
	if ((p->flags & BWL_PORT_MAC) && bwl_mac_differs(p->mac, k->smac))
		return BWL_R_SRC_MAC;
	if (k->arp) /* 0.0.0.0: a probe for one's own address (RFC 5227) */
		return !a || bwl_src4_ok(p, a) ? BWL_R_NONE : BWL_R_SRC_ADDR;
	if (k->family == 4) {
		/* Most hosts have one prefix, and a call costs more than the comparison. */
		if (bwl_likely(p->nsrc4 && (a & p->src4[0].mask) == p->src4[0].addr))
			return BWL_R_NONE;
		return bwl_src4_ok(p, a) ? BWL_R_NONE : bwl_no_source(k);
	}
	/* Neighbour discovery may come from a link-local or no address. It ends here. */
	if (k->nd && bwl_of_the_link(k))
		return BWL_R_NONE;
	return bwl_src6_ok(p, (const struct bwl_key6 *)k->saddr) ? BWL_R_NONE : bwl_no_source(k);
}

#endif
