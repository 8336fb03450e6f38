/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Charges a packet from what this CPU holds: this is how nearly all passing packets are charged.
 * Writes no word that other CPUs write, except those of a peer that sends too rarely to have a
 * share.
 */
#ifndef BWL_HELD_H
#define BWL_HELD_H

#include "pace.h"
#include "take.h"

/*
 * Spends from this CPU's shares of the limits around a peer, inner to outer. Returns how many of
 * them sufficed and were spent.
 */
#define BWL_AROUND 3
static __always_inline __u32 bwl_around_spend(const struct bwl_work *w, struct bwl_cpu *cpu,
					      const struct bwl_peer *peer,
					      const struct bwl_base *base,
					      const struct bwl_port *port)
{
	const struct bwl_limit *zone = bwl_zone_of(peer, base);

	if (bwl_unlikely(zone && !bwl_cpu_spend(w, &cpu->zone[peer->meta.zone], zone)))
		return 0;
	if (bwl_unlikely(!bwl_cpu_spend(w, &cpu->port[bwl_mask(w->port_id, BWL_MAX_PORTS - 1)],
					&port->limit)))
		return 1;
	return bwl_likely(bwl_cpu_spend(w, &cpu->node, &base->node)) ? BWL_AROUND : 2;
}

/* Puts back what was spent from the first n of them. */
BWL_FUNC int bwl_around_unspend(const struct bwl_work *w, struct bwl_cpu *cpu,
				const struct bwl_peer *peer, const struct bwl_base *base, __u32 n)
{
	__u32 port = bwl_mask(w->port_id, BWL_MAX_PORTS - 1);

	if (n > 0 && peer->meta.zone)
		bwl_cpu_unspend(w, &cpu->zone[peer->meta.zone], &base->zone[peer->meta.zone].limit);
	if (n > 1)
		bwl_cpu_unspend(w, &cpu->port[port], &base->port[port].limit);
	if (n > 2)
		bwl_cpu_unspend(w, &cpu->node, &base->node);
	return 0;
}

/*
 * Does this CPU hold enough of the peer's portion of its zone? Its share of the zone is only for
 * packets that are surely within their portion.
 */
BWL_GLOBAL int bwl_portion_held(const struct bwl_work *w, const struct bwl_peer *peer)
{
	const struct bwl_limit *l = w && peer ? bwl_portion_of(w, peer) : 0;
	struct bwl_share_entry *x = l ? bwl_cpu_entry(l->volume.state) : 0;

	return x &&
	       bwl_share_has(&x->share, &l->rate, bwl_cpu_owner(w, l), bwl_latest(w), w->charge);
}

/*
 * Charges the portion for a packet that passed within it: from what this CPU holds, which is filled
 * if needed, otherwise exactly. It is not refused any more: what other CPUs took in the meantime
 * becomes debt.
 */
BWL_GLOBAL int bwl_portion_charge(const struct bwl_work *w, const struct bwl_peer *peer)
{
	const struct bwl_limit *l = w && peer ? bwl_portion_of(w, peer) : 0;
	struct bwl_share *s;
	__u64 was = 0; /* initialised for kernels before 6.3 */
	__u32 n, j;

	if (!l)
		return 0;
	s = bwl_cpu_claim(w, l->volume.state, &l->rate);
	if (s && bwl_cpu_spend(w, s, l))
		return 0;
	n = s ? bwl_wants(w, l, s) : 0;
	j = n ? bwl_take(w, l, n, 0, &was) : BWL_OVER_RATE;
	if ((j & 255) == BWL_OK)
		bwl_fill(w, l, s, n | (__u64)(j >> BWL_HOW_SHIFT) << 32, was);
	else
		bwl_take(w, l, w->charge, BWL_DEBT, &was);
	return 0;
}

/* The limit of the packet's class, if there is one, from what this CPU holds of it. */
static __always_inline _Bool bwl_class_held(struct bwl_work *w, const struct bwl_peer *peer)
{
	const struct bwl_limit *class;
	struct bwl_share_entry *y;

	if (bwl_class_of(w, peer, &class) != BWL_R_NONE)
		return 0;
	y = class ? bwl_cpu_entry(class->volume.state) : 0;
	return !class || (y && bwl_cpu_spend(w, &y->share, class));
}

/*
 * The same for a peer with tenants: the class and the packet's host port, both or neither. Global,
 * because few peers have tenants.
 */
BWL_GLOBAL int bwl_subs_held(struct bwl_work *w, const struct bwl_peer *peer)
{
	const struct bwl_limit *class, *tenant;
	struct bwl_share_entry *x, *y = 0;

	if (!w || !peer || bwl_class_of(w, peer, &class) != BWL_R_NONE ||
	    bwl_tenant_of(w, peer, &tenant) != BWL_R_NONE)
		return 0;
	if (class) {
		y = bwl_cpu_entry(class->volume.state);
		if (!y || !bwl_cpu_spend(w, &y->share, class))
			return 0;
	}
	if (!tenant)
		return 1;
	x = bwl_cpu_entry(tenant->volume.state);
	if (x && bwl_cpu_spend(w, &x->share, tenant))
		return 1;
	if (class && y)
		bwl_cpu_unspend(w, &y->share, class);
	return 0;
}

/* The peer's own limit, its class's and its tenant's, from what this CPU holds: all or none. */
static __always_inline _Bool bwl_own_held(struct bwl_work *w, const struct bwl_peer *peer)
{
	struct bwl_share_entry *x = bwl_cpu_entry(peer->grant.volume.state);

	if (!x || w->lapsed || !bwl_cpu_spend(w, &x->share, &peer->grant))
		return 0;
	if (bwl_unlikely(peer->meta.class_mask) &&
	    !(bwl_unlikely(peer->meta.class_mask & BWL_HAS_TENANTS) ? bwl_subs_held(w, peer)
								    : bwl_class_held(w, peer))) {
		bwl_cpu_unspend(w, &x->share, &peer->grant);
		return 0;
	}
	/* Its place is within the burst, so it departs now and at most gets marked. */
	if (bwl_marks(w, peer))
		bwl_pace(w, peer, bwl_share_place(&x->share), 0);
	return 1;
}

static __always_inline _Bool bwl_cold_one(struct bwl_work *w, const struct bwl_limit *l,
					  __u64 least_ns, struct bwl_taken *t)
{
	struct bwl_cold c = { .now_ns = w->now_ns, .least_ns = least_ns, .len = w->charge };
	struct bwl_state *s = bwl_state_of(l->volume.state);

	if (!s)
		return 0;
	c.released = bwl_released(l->volume.state);
	if (bwl_likely(bwl_limit_try(l, s, bwl_window_of(&l->volume), &c, t)))
		return 1;
	if (t->rate)
		w->lost += w->charge;
	return 0;
}

/*
 * The same for a peer that sends too rarely for a share: charged to its own words by the ticks'
 * time. false: nothing is charged, and the clock must be read. The class's share is not looked up:
 * a peer without a share has none for its classes either. Peers with tenants are charged by the
 * clock.
 */
BWL_GLOBAL int bwl_own_cold(struct bwl_work *w, const struct bwl_peer *peer)
{
	const struct bwl_limit *grant = &peer->grant, *class = 0;
	struct bwl_taken t, of_class;
	struct bwl_cpu *cpu;

	if (!w || !peer || w->exact || w->lapsed || bwl_paces(w, peer) ||
	    peer->meta.class_mask & BWL_HAS_TENANTS)
		return 0;
	cpu = bwl_cpu_of(w);
	if (!cpu || cpu->unclocked + w->charge > BWL_UNCLOCKED_MAX ||
	    bwl_cpu_claim(w, grant->volume.state, &grant->rate) ||
	    bwl_class_of(w, peer, &class) != BWL_R_NONE ||
	    !bwl_cold_one(w, grant, cpu->exact_ns, &t))
		return 0;
	if (class) {
		if (bwl_unlikely(!bwl_cold_one(w, class, cpu->exact_ns, &of_class))) {
			w->lost += bwl_undo(w, grant,
					    t.rate * BWL_HOW_RATE | t.volume * BWL_HOW_VOLUME,
					    t.was);
			return 0;
		}
		bwl_limit_commit(bwl_window_of(&class->volume), w->charge, &of_class);
	}
	bwl_limit_commit(bwl_window_of(&grant->volume), w->charge, &t);
	cpu->unclocked += w->charge;
	return 1;
}

/*
 * Charges every limit from what this CPU holds, except that the peer's own may be charged by
 * bwl_own_cold(): otherwise nothing is charged. One pass, because it nearly always suffices.
 */
static __always_inline _Bool bwl_charge_held(struct bwl_work *w, struct bwl_cpu *cpu,
					     const struct bwl_peer *peer,
					     const struct bwl_base *base,
					     const struct bwl_port *port)
{
	__u32 n;

	if (bwl_unlikely(bwl_has_portion(peer)) && !bwl_portion_held(w, peer))
		return 0;
	n = bwl_around_spend(w, cpu, peer, base, port);
	if (bwl_likely(n == BWL_AROUND) &&
	    (bwl_likely(bwl_own_held(w, peer)) || bwl_own_cold(w, peer)))
		return 1;
	bwl_around_unspend(w, cpu, peer, base, n);
	return 0;
}

#endif
