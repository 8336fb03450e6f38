/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Properties of a peer's packet other than its grant: class, tenant, zone, mode, and when it may
 * depart.
 */
#ifndef BWL_PACE_H
#define BWL_PACE_H

#include "ctx.h"
#include "limit.h"

/* The limit of the packet's class, if the peer has one; otherwise NULL. */
static __always_inline int bwl_class_of(struct bwl_work *w, const struct bwl_peer *peer,
					const struct bwl_limit **ret)
{
	const struct bwl_peer_meta *m = &peer->meta;
	__u32 bit = 1U << (w->class & 15), n;

	*ret = 0;
	if (!(m->class_mask & bit))
		return BWL_R_NONE;
	/* Its index among the peer's class limits: the number of lower bits that are set. */
	n = m->class_mask & (bit - 1);
	n = (n & 0x5555) + (n >> 1 & 0x5555);
	n = (n & 0x3333) + (n >> 2 & 0x3333);
	n = (n & 0x0f0f) + (n >> 4 & 0x0f0f);
	n = (n & 0x1f) + (n >> 8);
	*ret = bwl_inner(&bwl_sub_v1, w->slot, m->sub_base + n);
	if (!*ret)
		return BWL_R_CLASS_RATE;
	w->tally |= (*ret)->volume.state | 1;
	return BWL_R_NONE;
}

/* The limit of the packet's host port to the peer, if there is one; otherwise NULL. */
static __always_inline int bwl_tenant_of(struct bwl_work *w, const struct bwl_peer *peer,
					 const struct bwl_limit **ret)
{
	__u32 port = bwl_mask(w->port_id, BWL_MAX_PORTS - 1), base = peer->meta.sub_base;
	const struct bwl_tenants *t;

	*ret = 0;
	if (!(peer->meta.class_mask & BWL_HAS_TENANTS))
		return BWL_R_NONE;
	t = bwl_inner(&bwl_sub_v1, w->slot, base - 1);
	if (!t)
		return BWL_R_PORT_RATE;
	if (!(t->ports >> port & 1))
		return BWL_R_NONE;
	*ret = bwl_inner(&bwl_sub_v1, w->slot, bwl_tenant_index(t, base, port));
	if (!*ret)
		return BWL_R_PORT_RATE;
	w->tally |= (__u64)((*ret)->volume.state | 1) << 32;
	return BWL_R_NONE;
}

static __always_inline const struct bwl_limit *bwl_zone_of(const struct bwl_peer *peer,
							   const struct bwl_base *base)
{
	const struct bwl_limit *zone = 0;

	if (peer->meta.zone)
		zone = &base->zone[peer->meta.zone].limit;
	/*
	 * Callers test this pointer, not meta.zone again, to know whether there is a zone: the
	 * verifier of Linux 6.1 does not connect the two.
	 */
	return bwl_opaque(zone);
}

/* The peer's portion of its zone, if the zone is shared by weight. */
static __always_inline const struct bwl_limit *bwl_portion_of(const struct bwl_work *w,
							      const struct bwl_peer *peer)
{
	return bwl_inner(&bwl_sub_v1, w->slot, bwl_portion_sub(&peer->meta));
}

static __always_inline _Bool bwl_has_portion(const struct bwl_peer *peer)
{
	return peer->meta.flags & BWL_PEER_PORTION;
}

static __always_inline _Bool bwl_monitors(const struct bwl_peer *peer)
{
	return peer->meta.mode == BWL_MODE_MONITOR;
}

/* Modes shape and mark, with a live grant. */
static __always_inline _Bool bwl_paces(const struct bwl_work *w, const struct bwl_peer *peer)
{
	return peer->meta.mode != BWL_MODE_POLICE && !bwl_monitors(peer) && !w->lapsed &&
	       !(peer->grant.rate.flags & BWL_RATE_UNLIMITED);
}

/* Needs the exact time, because the debt decides on CE. */
static __always_inline _Bool bwl_marks(const struct bwl_work *w, const struct bwl_peer *peer)
{
	return peer->meta.mode == BWL_MODE_MARK && bwl_paces(w, peer);
}

/*
 * Modes shape and mark: packets over the burst may leave within the horizon, each at its time. Only
 * if a qdisc keeps departure times; otherwise these modes police. Mark needs this if the round trip
 * is short: a TCP that is told to slow down still sends two packets per round trip.
 */
static __always_inline int bwl_slack(const struct bwl_work *w, const struct bwl_peer *peer,
				     const struct bwl_base *base, __u32 *ret_slack)
{
	const struct bwl_rate *r = &peer->grant.rate;

	*ret_slack = 0;
	if (!w->paced || !bwl_paces(w, peer))
		return BWL_R_NONE;
	if (w->charge + bwl_rate_jitter(r) > r->burst_bytes)
		return BWL_R_PEER_RATE;
	*ret_slack = bwl_rate_slack(r, base->horizon_ns);
	return BWL_R_NONE;
}

/*
 * Decides when the packet departs, and whether it gets CE. end: its place, the byte count at which
 * it has drained. Mode mark: CE once the debt is past ce_from/256 of the burst.
 */
static __always_inline void bwl_pace(struct bwl_work *w, const struct bwl_peer *peer, __u64 end,
				     __u32 slack)
{
	const struct bwl_rate *r = &peer->grant.rate;
	__u64 debt = bwl_rate_debt(end, bwl_rate_drained(r, w->now_ns));

	if (peer->meta.mode == BWL_MODE_MARK && debt > (r->burst_bytes * r->ce_from) >> 8)
		w->ce = 1;
	if (!slack)
		return;
	w->delay_ns = bwl_rate_delay(r, debt);
	w->ce |= bwl_rate_crowded(r, debt, slack);
}

/* Nothing departs after expiry, or after the end of its policy's trial. */
static __always_inline int bwl_departs(const struct bwl_work *w, const struct bwl_base *base,
				       const struct bwl_peer *peer)
{
	const struct bwl_ctl *ctl;
	__u64 at = w->now_ns + w->delay_ns;
	__u32 zero = 0;

	if (at >= peer->meta.expiry_ns)
		return BWL_R_EXPIRED;
	if (bwl_likely(!w->delay_ns) || w->id == base->self_id)
		return BWL_R_NONE;
	ctl = bpf_map_lookup_elem(&bwl_ctl_v1, &zero);
	return ctl && at < bwl_trial_ends(w, ctl) ? BWL_R_NONE : BWL_R_EXPIRED;
}

#endif
