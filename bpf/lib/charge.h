/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Charges a packet to all its limits, or to none: tenant, peer, floor, class, zone, port, node,
 * inner to outer. The tenant's limit, of one host port to the peer, comes first: what a port sends
 * above it leaves no trace in limits that are shared with others.
 *
 * If this CPU holds enough of each limit (cpu.h), the packet is paid from that: no cache line of
 * another CPU is written. Otherwise the limits are charged in turn, by filling a share or exactly.
 * A refusal undoes the charges made so far (limit.h); only a charge after which another packet came
 * in between stands, and is counted as lost.
 *
 * In a zone that is shared by weight, a packet within the peer's portion may use all of the zone's
 * burst, and is charged to the portion once it passes. A packet beyond its portion leaves the
 * zone's reserve, and what the CPU holds of the zone, to the others.
 */
#ifndef BWL_CHARGE_H
#define BWL_CHARGE_H

#include "again.h"
#include "held.h"
#include "pace.h"
#include "take.h"

/* Limits whose charge may have to be undone; the node's limit is the last one. */
enum bwl_level { BWL_L_PEER, BWL_L_FLOOR, BWL_L_CLASS, BWL_L_ZONE, BWL_L_PORT, BWL_LEVELS };

struct bwl_bill {
	__u64 was[BWL_LEVELS]; /* of limits that were charged exactly */
	__u8 how[BWL_LEVELS];  /* enum bwl_how; 0: nothing to undo */
	__u8 node;             /* the same for the node, which is charged last */
	__u8 passes, within;
};

/* This CPU's shares of the limits around the peer; NULL: it has none, or must not use them now. */
static __always_inline struct bwl_share *bwl_share_of_zone(struct bwl_cpu *cpu,
							   const struct bwl_peer *peer)
{
	return cpu ? &cpu->zone[peer->meta.zone] : 0;
}

static __always_inline struct bwl_share *bwl_share_of_port(struct bwl_cpu *cpu,
							   const struct bwl_work *w)
{
	return cpu ? &cpu->port[bwl_mask(w->port_id, BWL_MAX_PORTS - 1)] : 0;
}

/*
 * Charges one limit from the CPU's share of it (NULL: none), which is filled if needed, otherwise
 * exactly. No packet waits for a share: if the limit has too little left to fill one, the packet is
 * charged without. *was: see bwl_take(); with a share, the packet's place.
 */
static __always_inline int bwl_bill(struct bwl_work *w, const struct bwl_limit *l,
				    struct bwl_share *s, __u64 opts, __u32 reason, __u64 *was,
				    __u8 *how)
{
	__u32 n = 0, j;

	if (bwl_limits_nothing(l))
		return BWL_R_NONE;
	if (s) {
		if (bwl_likely(bwl_cpu_spend(w, s, l))) {
			*was = bwl_share_place(s);
			*how = BWL_HOW_SHARE;
			return BWL_R_NONE;
		}
		n = bwl_wants(w, l, s);
	}
	/* Bytes that fill a share must not need to wait. */
	j = bwl_take(w, l, n ? n : w->charge, n ? 0 : opts, was);
	if (n && (j & 255) == BWL_OK) {
		*was = bwl_fill(w, l, s, n | (__u64)(j >> BWL_HOW_SHIFT) << 32, *was);
		*how = BWL_HOW_SHARE;
		return BWL_R_NONE;
	}
	if (n && (j & 255) != BWL_CLOCK) {
		if (j >> BWL_HOW_SHIFT)
			w->lost += n;
		j = bwl_take(w, l, w->charge, opts, was);
	}
	if (bwl_likely((j & 255) == BWL_OK)) {
		*how = j >> BWL_HOW_SHIFT;
		return BWL_R_NONE;
	}
	return bwl_refuse(w, l, j, reason, opts);
}

/*
 * The peer's own limit, of a lapsed grant, too: its floor passes nothing that the grant has no room
 * for, or who makes a grant lapse (a link that goes down, with `clamp`) would have volume left
 * after it was spent. Decides when the packet departs.
 */
static __always_inline int bwl_bill_peer(struct bwl_work *w, const struct bwl_peer *peer,
					 const struct bwl_base *base, __u64 *was, __u8 *how)
{
	const struct bwl_limit *l = &peer->grant;
	struct bwl_share *s;
	__u64 end, opts;
	__u32 slack;
	int r;

	r = bwl_slack(w, peer, base, &slack);
	if (r != BWL_R_NONE || bwl_limits_nothing(l))
		return r;
	opts = slack;
	/* Without a qdisc, as at XDP, a refusal is not final: TC might let the packet wait. */
	if (bwl_monitors(peer) || (!w->paced && bwl_paces(w, peer)))
		opts |= BWL_NOT_NOTED;
	s = bwl_cpu_claim(w, l->volume.state, &l->rate);
	r = bwl_bill(w, l, s, opts, BWL_R_PEER_RATE, was, how);
	if (bwl_unlikely(r != BWL_R_NONE)) {
		if (!bwl_monitors(peer))
			return r;
		w->monitored = 1;
		return BWL_R_NONE;
	}
	if (!bwl_paces(w, peer))
		return BWL_R_NONE;
	if (*how & BWL_HOW_SHARE) {
		bwl_pace(w, peer, *was, 0);
		return BWL_R_NONE;
	}
	end = bwl_rate_drained(&l->rate, w->now_ns);
	end += bwl_rate_debt(*was, end) + w->charge;
	bwl_pace(w, peer, end, slack);
	r = slack ? bwl_departs(w, base, peer) : BWL_R_NONE;
	if (s && w->delay_ns) /* it waits: packets with an earlier place must not overtake it */
		s->bytes = 0;
	return r;
}

/* The floor, if the grant has lapsed. */
static __always_inline const struct bwl_limit *bwl_floor_of(const struct bwl_work *w,
							    const struct bwl_peer *peer)
{
	return w->lapsed ? bwl_inner(&bwl_sub_v1, w->slot, peer->grant.volume.floor) : 0;
}

static __always_inline struct bwl_share *bwl_share_of_sub(const struct bwl_work *w,
							  const struct bwl_limit *l)
{
	return bwl_cpu_claim(w, l->volume.state, &l->rate);
}

static __always_inline void bwl_settle_one(struct bwl_work *w, const struct bwl_limit *l,
					   struct bwl_share *s, __u64 was, __u32 how, _Bool passes)
{
	if (passes)
		bwl_commit(w, l, how);
	else if (!(how & BWL_HOW_SHARE))
		w->lost += bwl_undo(w, l, how, was);
	else if (s)
		s->bytes += w->charge;
}

/*
 * If the packet passes, windows learn the slice; if not, everything is undone. A separate function,
 * so that the callers need not keep all this on the stack.
 */
BWL_GLOBAL int bwl_settle(struct bwl_work *w, const struct bwl_peer *peer,
			  const struct bwl_base *base, const struct bwl_port *port,
			  const struct bwl_bill *b)
{
	const struct bwl_limit *floor, *class, *zone;
	struct bwl_cpu *cpu;

	if (!w || !peer || !base || !port || !b)
		return 0;
	cpu = bwl_cpu_of(w);
#define BWL_SETTLE(level, limit, share)                                                            \
	bwl_settle_one(w, limit, share, b->was[level], b->how[level], b->passes)
	if (b->passes)
		bwl_commit(w, &base->node, b->node);
	BWL_SETTLE(BWL_L_PORT, &port->limit, bwl_share_of_port(cpu, w));
	zone = bwl_zone_of(peer, base);
	if (zone)
		BWL_SETTLE(BWL_L_ZONE, zone, bwl_share_of_zone(cpu, peer));
	if (b->how[BWL_L_CLASS] && bwl_class_of(w, peer, &class) == BWL_R_NONE && class)
		BWL_SETTLE(BWL_L_CLASS, class, bwl_share_of_sub(w, class));
	floor = bwl_floor_of(w, peer);
	if (floor)
		BWL_SETTLE(BWL_L_FLOOR, floor, bwl_share_of_sub(w, floor));
	BWL_SETTLE(BWL_L_PEER, &peer->grant, bwl_share_of_sub(w, &peer->grant));
#undef BWL_SETTLE
	return 0;
}

/* Is it within the peer's portion of its zone? Nothing is charged. */
BWL_GLOBAL int bwl_portion_fits(const struct bwl_work *w, const struct bwl_peer *peer)
{
	const struct bwl_limit *l = w && peer ? bwl_portion_of(w, peer) : 0;
	struct bwl_state *s = l ? bwl_state_of(l->volume.state) : 0;
	__u64 next;

	if (!s)
		return 0;
	/* The charge repairs a state that is ahead of the clock. */
	return (w->shares && bwl_portion_held(w, peer)) ||
	       bwl_rate_judge(&l->rate, bwl_read(s->finish_bytes),
			      bwl_rate_drained(&l->rate, w->now_ns), w->charge, 0,
			      &next) != BWL_OVER_RATE;
}

/*
 * For a packet that passes: bytes lost in a limit that was tried first. For a refused packet:
 * bwl_refused().
 */
static __always_inline void bwl_count_lost(struct bwl_work *w)
{
	__u32 id = w->id;
	struct bwl_peer_count *n = bpf_map_lookup_elem(&bwl_peercnt_v1, &id);

	if (n)
		n->refund_lost += w->lost;
	w->lost = 0;
}

/*
 * Not a reason: all limits let the packet pass, and its portion of the zone must still be charged.
 */
#define BWL_WITHIN (1 << 8)

/*
 * Charges each limit in turn. Returns the reason, or BWL_WITHIN. Global: with shares it is rarely
 * called, and the verifier walks it once.
 */
BWL_GLOBAL int bwl_charge_each(struct bwl_work *w, const struct bwl_peer *peer,
			       const struct bwl_base *base, const struct bwl_port *port)
{
	const struct bwl_limit *l = 0;
	struct bwl_share *share;
	struct bwl_cpu *cpu;
	struct bwl_bill b;
	__u64 unused = 0; /* initialised for kernels before 6.3 */
	__u64 opts = 0;
	int r;

	if (!w || !peer || !base || !port)
		return BWL_R_NO_POLICY;
	__builtin_memset(&b, 0, sizeof(b));
	cpu = bwl_cpu_of(w);
#define BWL_BILL(level, limit, share, opts, reason)                                                \
	bwl_bill(w, limit, share, opts, reason, &b.was[level], &b.how[level])
	r = bwl_bill_peer(w, peer, base, &b.was[BWL_L_PEER], &b.how[BWL_L_PEER]);
	if (r == BWL_R_NONE && bwl_unlikely(w->lapsed)) {
		l = bwl_floor_of(w, peer);
		r = l ? BWL_BILL(BWL_L_FLOOR, l, bwl_share_of_sub(w, l), BWL_NOT_NOTED,
				 BWL_R_FLOOR_RATE)
		      : BWL_R_EXPIRED;
	}
	if (r == BWL_R_NONE)
		r = bwl_class_of(w, peer, &l);
	if (r == BWL_R_NONE && l) {
		r = BWL_BILL(BWL_L_CLASS, l, bwl_share_of_sub(w, l), BWL_NOT_NOTED,
			     BWL_R_CLASS_RATE);
		if (r != BWL_R_NONE && bwl_monitors(peer)) {
			w->monitored = 1;
			r = BWL_R_NONE;
		}
	}
	l = bwl_zone_of(peer, base);
	if (r == BWL_R_NONE && l) {
		share = bwl_share_of_zone(cpu, peer);
		if (bwl_unlikely(bwl_has_portion(peer))) {
			b.within = bwl_portion_fits(w, peer);
			if (!b.within) {
				/*
				 * A refusal does not apply to other peers, nor to the peer's next
				 * packet.
				 */
				opts = BWL_RESERVED | BWL_NOT_NOTED;
				share = 0;
			}
		}
		r = BWL_BILL(BWL_L_ZONE, l, share, opts, BWL_R_ZONE_RATE);
	}
	if (r == BWL_R_NONE)
		r = BWL_BILL(BWL_L_PORT, &port->limit, bwl_share_of_port(cpu, w), 0,
			     BWL_R_PORT_RATE);
	if (r == BWL_R_NONE)
		r = bwl_bill(w, &base->node, cpu ? &cpu->node : 0, 0, BWL_R_NODE_RATE, &unused,
			     &b.node);
#undef BWL_BILL
	b.passes = r == BWL_R_NONE;
	if (bwl_unlikely(!b.passes ||
			 (b.how[0] | b.how[1] | b.how[2] | b.how[3] | b.how[4] | b.node) &
				 BWL_HOW_VOLUME))
		bwl_settle(w, peer, base, port, &b);
	if (b.passes && bwl_unlikely(w->lost))
		bwl_count_lost(w);
	return b.passes && b.within ? BWL_WITHIN : r;
}

/*
 * The limit of the packet's host port to the peer. Not in bwl_charge_each() because of the stack
 * and the verifier. Returns the reason, enum bwl_how and the low bits of the word before
 * (bwl_bill()); while a packet is judged no word moves by more than these bits hold. 0: nothing to
 * undo.
 */
#define BWL_TENANT_WAS ((1ULL << 48) - 1)
#define BWL_TENANT_HOW_SHIFT 48
#define BWL_TENANT_REASON_SHIFT 56
BWL_GLOBAL __u64 bwl_bill_tenant(struct bwl_work *w, const struct bwl_peer *peer)
{
	__u64 was = 0, opts = BWL_NOT_AROUND;
	const struct bwl_limit *l = 0;
	__u8 how = 0;
	int r;

	if (!w || !peer)
		return (__u64)BWL_R_NO_POLICY << BWL_TENANT_REASON_SHIFT;
	if (bwl_monitors(peer))
		opts = BWL_NOT_NOTED;
	r = bwl_tenant_of(w, peer, &l);
	if (r == BWL_R_NONE && l) {
		r = bwl_bill(w, l, bwl_share_of_sub(w, l), opts, BWL_R_PORT_RATE, &was, &how);
		if (r != BWL_R_NONE && bwl_monitors(peer)) {
			w->monitored = 1;
			r = BWL_R_NONE;
		}
	}
	return (__u64)r << BWL_TENANT_REASON_SHIFT | (__u64)how << BWL_TENANT_HOW_SHIFT |
	       (was & BWL_TENANT_WAS);
}

/* Like bwl_settle(). billed: what bwl_bill_tenant() returned. */
BWL_GLOBAL int bwl_settle_tenant(struct bwl_work *w, const struct bwl_peer *peer, __u64 billed,
				 __u32 passes)
{
	const struct bwl_limit *l = 0;
	struct bwl_state *s;
	__u64 was;

	if (!w || !peer || bwl_tenant_of(w, peer, &l) != BWL_R_NONE || !l)
		return 0;
	s = bwl_state_of(l->volume.state);
	if (!s)
		return 0;
	was = bwl_read(s->finish_bytes);
	was -= (was - billed) & BWL_TENANT_WAS;
	bwl_settle_one(w, l, bwl_share_of_sub(w, l), was, (__u8)(billed >> BWL_TENANT_HOW_SHIFT),
		       passes);
	return 0;
}

/* Charges all limits in turn. Returns the reason, or BWL_WITHIN. */
static __always_inline int bwl_charge_slowly(struct bwl_work *w, const struct bwl_peer *peer,
					     const struct bwl_base *base,
					     const struct bwl_port *port)
{
	__u64 tenant = 0;
	int r = BWL_R_NONE;

	if (bwl_unlikely(peer->meta.class_mask & BWL_HAS_TENANTS)) {
		tenant = bwl_bill_tenant(w, peer);
		r = tenant >> BWL_TENANT_REASON_SHIFT;
	}
	if (r == BWL_R_NONE) {
		r = bwl_charge_each(w, peer, base, port);
		if (bwl_unlikely(tenant))
			bwl_settle_tenant(w, peer, tenant, r == BWL_R_NONE || r == BWL_WITHIN);
	}
	return r;
}

/*
 * Reads the exact time and repeats what depends on it: after a suspend, or if the tick had stopped,
 * the ticks' time was before now after all. Global, because few packets need it.
 */
BWL_GLOBAL int bwl_exactly(struct bwl_work *w, const struct bwl_ctl *ctl,
			   const struct bwl_base *base, const struct bwl_peer *peer)
{
	if (!w || !ctl || !base || !peer)
		return BWL_R_NO_POLICY;
	bwl_exact(w);
	if (w->lapsed || bwl_likely(!bwl_is_over(w, ctl, base, peer)))
		return BWL_R_NONE;
	return bwl_over_reason(w, ctl, peer);
}

/* Charges all limits of a packet that was found to be allowed by a time that is not before now. */
static __always_inline int bwl_charge(struct bwl_work *w, const struct bwl_ctl *ctl,
				      const struct bwl_peer *peer, const struct bwl_base *base,
				      const struct bwl_port *port)
{
	const struct bwl_note_around *note;
	struct bwl_cpu *cpu;
	int r = BWL_R_NONE;

	if (bwl_unlikely(bwl_marks(w, peer)))
		r = bwl_exactly(w, ctl, base, peer);
	if (r != BWL_R_NONE)
		return r;
	cpu = bwl_cpu_enter(w);
	note = cpu ? bwl_note_of_cpu() : 0;
	if (note && bwl_unlikely(note->until_ns)) {
		r = bwl_refused_around(w, ctl, peer, base);
		if (r == BWL_R_NONE && w->exact)
			r = bwl_exactly(w, ctl, base, peer);
	}
	if (r == BWL_R_NONE && (!cpu || bwl_unlikely(!bwl_charge_held(w, cpu, peer, base, port)))) {
		w->tally = 0; /* a refusal counts to the class only if its limit was asked */
		r = bwl_exactly(w, ctl, base, peer);
		if (r == BWL_R_NONE)
			r = bwl_charge_slowly(w, peer, base, port);
	} else if (r == BWL_R_NONE && bwl_unlikely(bwl_has_portion(peer))) {
		r = BWL_WITHIN;
	}
	if (r == BWL_WITHIN) {
		bwl_portion_charge(w, peer);
		r = BWL_R_NONE;
	}
	if (cpu)
		bwl_cpu_leave(cpu);
	return r;
}

/* Charges a single limit: neighbour discovery, control. By the exact time. */
BWL_GLOBAL int bwl_charge_one(const struct bwl_work *w, const struct bwl_limit *l,
			      __u32 rate_reason)
{
	__u64 was = 0; /* as above */
	__u32 j;

	if (!w || !l)
		return BWL_R_NO_POLICY;
	j = bwl_take(w, l, w->charge, 0, &was);
	if ((j & 255) != BWL_OK)
		return bwl_over(j & 255, rate_reason);
	bwl_commit(w, l, j >> BWL_HOW_SHIFT);
	return BWL_R_NONE;
}

/* The volume of what arrives; it is separate from the state of accept's rate. By the exact time. */
static __always_inline int bwl_accept_volume(const struct bwl_work *w, const struct bwl_peer *peer)
{
	const struct bwl_limit *l;
	__u64 was = 0; /* as above */
	__u32 j;

	if (bwl_likely(!(peer->meta.flags & BWL_PEER_ACCEPT_VOLUME)))
		return BWL_R_NONE;
	l = bwl_inner(&bwl_sub_v1, w->slot, bwl_accept_sub(&peer->meta));
	if (!l)
		return BWL_R_ACCEPT_VOLUME;
	j = bwl_take(w, l, w->charge, 0, &was);
	if ((j & 255) == BWL_OVER_VOLUME)
		return BWL_R_ACCEPT_VOLUME;
	if ((j & 255) != BWL_OK)
		return bwl_over(j & 255, BWL_R_ACCEPT_RATE);
	bwl_commit(w, l, j >> BWL_HOW_SHIFT);
	return BWL_R_NONE;
}

/*
 * Charges what arrives. Without shares: what the sender's DPU lets out at once must find room here
 * at once, on whichever CPUs it arrives.
 */
BWL_GLOBAL int bwl_charge_accept(struct bwl_work *w, const struct bwl_peer *peer)
{
	const struct bwl_rate *r;
	struct bwl_state *s;
	__u64 was = 0, next = 0;
	int j;

	if (!w || !peer || !(peer->meta.flags & BWL_PEER_ACCEPT))
		return BWL_R_ACCEPT_RATE;
	r = &peer->accept;
	if (r->flags & BWL_RATE_UNLIMITED)
		return bwl_accept_volume(w, peer);
	s = bwl_state_of(bwl_accept_state(w->id));
	if (!s)
		return BWL_R_ACCEPT_RATE;
	j = bwl_rate_take(r, &s->finish_bytes, bwl_rate_drained(r, w->now_ns), w->charge, 0, &was,
			  &next);
	if (j != BWL_OK)
		return bwl_over(j, BWL_R_ACCEPT_RATE);
	j = bwl_accept_volume(w, peer);
	if (bwl_unlikely(j != BWL_R_NONE) && !bwl_word_undo(&s->finish_bytes, was, next))
		w->lost += w->charge;
	return j;
}

#endif
