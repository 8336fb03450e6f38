/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Charge a packet to all its limits, or to none: peer, floor, class, zone, port, node, inner to
 * outer, one compare-and-swap each. A refusal takes the charges made so far back (limit.h); only
 * where another packet came in between does one stand, and is counted as lost.
 */
#ifndef BWL_CHARGE_H
#define BWL_CHARGE_H

#include "ctx.h"
#include "limit.h"

enum bwl_level {
	BWL_L_PEER,
	BWL_L_FLOOR,
	BWL_L_CLASS,
	BWL_L_ZONE,
	BWL_L_PORT,
	BWL_L_NODE,
	BWL_LEVELS
};

struct bwl_bill {
	const struct bwl_limit *class, *zone; /* NULL: none */
	__u32 slack;                          /* of the peer's limit */
};

/*
 * rate_reason: of a limit that has a volume, too, the reason after it says so (BWL_ASSERT_PAIR).
 * Global: to the verifier any reason comes back, and it
 * walks what follows a refusal once and not once for each.
 */
BWL_GLOBAL int bwl_over(__u32 judgement, __u32 rate_reason)
{
	switch (judgement) {
	case BWL_OVER_RATE:
		return rate_reason;
	case BWL_OVER_VOLUME:
		return rate_reason + 1;
	case BWL_OVER_LEDGER:
		return BWL_R_LEDGER;
	case BWL_CLOCK:
		return BWL_R_CLOCK;
	default:
		return BWL_R_CONTENDED;
	}
}

/* After a lost race. */
BWL_GLOBAL int bwl_take_rate(const struct bwl_limit *l, __u32 state, __u64 now_ns, __u32 len,
			     struct bwl_taken *t)
{
	struct bwl_state *s = bwl_state_of(state);

	return l && s && t ? bwl_limit_rate(l, s, now_ns, len, t) : BWL_CONTENDED;
}

/* Volume, window, ledger. */
BWL_GLOBAL int bwl_take_volume(const struct bwl_limit *l, __u32 state, __u64 now_ns, __u32 len,
			       struct bwl_taken *t)
{
	struct bwl_state *s = bwl_state_of(state);
	struct bwl_window *w;

	if (!l || !s || !t)
		return BWL_CONTENDED;
	w = bwl_window_of(&l->volume);
	if (l->volume.slice_ns && !w)
		return BWL_CONTENDED;
	return bwl_limit_volume(l, s, w, bwl_released(state), now_ns, len, t);
}

BWL_GLOBAL __u32 bwl_undo(const struct bwl_limit *l, __u32 state, __u64 now_ns, __u32 len,
			  const struct bwl_taken *t)
{
	struct bwl_state *s = bwl_state_of(state);

	if (!l || !s || !t || !(t->rate | t->volume))
		return 0;
	return bwl_limit_undo(l, s, bwl_window_of(&l->volume), now_ns, len, t);
}

/*
 * A rate without a race in line, everything else the long way. t is filled on every way, with what
 * that way needs; nobody need zero it first. rate_only: no volume is asked.
 */
static __always_inline int bwl_take_one(struct bwl_work *w, const struct bwl_limit *l, __u32 state,
					__u32 slack, _Bool rate_only, struct bwl_taken *t)
{
	struct bwl_state *s;
	__u64 drained, was, next;
	int j;

	if (l->rate.flags & BWL_RATE_UNLIMITED) {
		*t = (struct bwl_taken){};
		goto volume;
	}
	s = bwl_state_of(state);
	j = BWL_CONTENDED;
	if (!s)
		goto refused;
	drained = bwl_rate_drained(&l->rate, w->now_ns);
	was = bwl_read(s->finish_bytes);
	j = bwl_rate_judge(&l->rate, was, drained, w->charge, slack, &next);
	if (j == BWL_OVER_RATE)
		goto refused;
	*t = (struct bwl_taken){ .was = was, .slack = slack, .rate = 1 };
	if (bwl_unlikely(j != BWL_OK || bwl_cas(&s->finish_bytes, was, next) != was)) {
		j = bwl_take_rate(l, state, w->now_ns, w->charge, t);
		if (j != BWL_OK)
			return j;
	}
volume:
	if (l->volume.spendable_bytes == BWL_VOLUME_NONE || rate_only)
		return BWL_OK;
	w->volumes = 1;
	return bwl_take_volume(l, state, w->now_ns, w->charge, t);
refused:
	*t = (struct bwl_taken){};
	return j;
}

static __always_inline void bwl_commit(const struct bwl_limit *l, __u32 len,
				       const struct bwl_taken *t)
{
	if (t->volume && l->volume.slice_ns)
		bwl_limit_commit(bwl_window_of(&l->volume), len, t);
}

/*
 * The floor of a lapsed grant. Few packets ask it, and the verifier would walk all levels once with
 * it and once without: global functions, which look it up each.
 */
static __always_inline const struct bwl_limit *bwl_floor_of(const struct bwl_work *w,
							    const struct bwl_peer *peer)
{
	return w && peer ? bwl_inner(&bwl_sub_v1, w->slot, peer->grant.volume.floor) : 0;
}

BWL_GLOBAL int bwl_floor_take(struct bwl_work *w, const struct bwl_peer *peer, struct bwl_taken *t)
{
	const struct bwl_limit *f = bwl_floor_of(w, peer);
	int j;

	if (!f || !t)
		return BWL_R_EXPIRED;
	j = bwl_take_one(w, f, f->volume.state, 0, 0, t);
	return j == BWL_OK ? BWL_R_NONE : bwl_over(j, BWL_R_FLOOR_RATE);
}

BWL_GLOBAL __u32 bwl_floor_undo(const struct bwl_work *w, const struct bwl_peer *peer,
				const struct bwl_taken *t)
{
	const struct bwl_limit *f = bwl_floor_of(w, peer);

	return f && t ? bwl_undo(f, f->volume.state, w->now_ns, w->charge, t) : 0;
}

BWL_GLOBAL int bwl_floor_commit(const struct bwl_work *w, const struct bwl_peer *peer,
				const struct bwl_taken *t)
{
	const struct bwl_limit *f = bwl_floor_of(w, peer);

	if (f && t)
		bwl_commit(f, w->charge, t);
	return 0;
}

/* Which limits stand around this packet. */
static __always_inline int bwl_bill_make(struct bwl_work *w, struct bwl_bill *b,
					 const struct bwl_peer *peer, const struct bwl_base *base)
{
	const struct bwl_peer_meta *m = &peer->meta;
	__u32 bit, n;

	bit = 1U << (w->class & 15);
	if (m->class_mask && (m->class_mask & bit)) {
		/* Its place among the peer's class limits: how many lower bits are set. */
		n = m->class_mask & (bit - 1);
		n = (n & 0x5555) + (n >> 1 & 0x5555);
		n = (n & 0x3333) + (n >> 2 & 0x3333);
		n = (n & 0x0f0f) + (n >> 4 & 0x0f0f);
		n = (n & 0x1f) + (n >> 8);
		b->class = bwl_inner(&bwl_sub_v1, w->slot, m->sub_base + n);
		if (!b->class)
			return BWL_R_CLASS_RATE;
		w->tally = b->class->volume.state | 1;
	}
	if (m->zone)
		b->zone = &base->zone[m->zone].limit;
	/*
	 * Whether one is there ask its pointer: of what else says so Linux 6.1 knows nothing later.
	 */
	b->zone = bwl_opaque(b->zone);
	return BWL_R_NONE;
}

/* Nothing departs after expiry. */
static __always_inline int bwl_pace(struct bwl_work *w, const struct bwl_peer *peer,
				    const struct bwl_taken *t)
{
	const struct bwl_rate *r = &peer->grant.rate;
	__u64 debt;

	if (!t->slack || !t->rate)
		return BWL_R_NONE;
	debt = bwl_rate_debt(t->was, bwl_rate_drained(r, w->now_ns)) + w->charge;
	w->delay_ns = bwl_rate_delay(r, debt);
	w->ce = bwl_rate_crowded(r, debt, t->slack);
	return w->now_ns + w->delay_ns < peer->meta.expiry_ns ? BWL_R_NONE : BWL_R_EXPIRED;
}

static __always_inline _Bool bwl_monitors(const struct bwl_peer *peer)
{
	return peer->meta.mode == BWL_MODE_MONITOR;
}

/*
 * Each limit in turn. Where one refuses, it and those before it are undone; a limit that was not
 * asked, but the floor, has nothing in `taken`, not even zeroes.
 */
static __always_inline int bwl_bill_take(struct bwl_work *w, const struct bwl_bill *b,
					 const struct bwl_peer *peer, const struct bwl_base *base,
					 const struct bwl_port *port, struct bwl_taken *taken)
{
	__u32 lost = 0;
	int j, r;

#define BWL_TAKE(level, limit, state, reason, may_pass, refused)                                   \
	do {                                                                                       \
		j = bwl_take_one(w, limit, state, (level) == BWL_L_PEER ? b->slack : 0,            \
				 (level) == BWL_L_PEER && w->lapsed, &taken[level]);               \
		if (bwl_likely(j == BWL_OK))                                                       \
			break;                                                                     \
		if (!(may_pass)) {                                                                 \
			r = bwl_over(j, reason);                                                   \
			goto refused;                                                              \
		}                                                                                  \
		w->monitored = 1;                                                                  \
	} while (0)

	/*
	 * The floor has a volume of its own; the lapsed grant's is not touched, its rate still
	 * holds.
	 */
	BWL_TAKE(BWL_L_PEER, &peer->grant, bwl_grant_state(w->id), BWL_R_PEER_RATE,
		 bwl_monitors(peer), peer);
	/*
	 * Here, on every way: the verifier has forgotten by the end whether the grant had lapsed.
	 */
	taken[BWL_L_FLOOR] = (struct bwl_taken){};
	bwl_opaque(&taken[BWL_L_FLOOR]);
	if (bwl_unlikely(w->lapsed)) {
		r = bwl_floor_take(w, peer, &taken[BWL_L_FLOOR]);
		if (r != BWL_R_NONE)
			goto floor;
	}
	if (b->class)
		BWL_TAKE(BWL_L_CLASS, b->class, b->class->volume.state, BWL_R_CLASS_RATE,
			 bwl_monitors(peer), class);
	if (b->zone)
		BWL_TAKE(BWL_L_ZONE, b->zone, b->zone->volume.state, BWL_R_ZONE_RATE, 0, zone);
	BWL_TAKE(BWL_L_PORT, &port->limit, port->limit.volume.state, BWL_R_PORT_RATE, 0, port);
	BWL_TAKE(BWL_L_NODE, &base->node, base->node.volume.state, BWL_R_NODE_RATE, 0, node);
#undef BWL_TAKE
	r = bwl_pace(w, peer, &taken[BWL_L_PEER]);
	if (bwl_likely(r == BWL_R_NONE))
		return r;
#define BWL_UNDO(level, limit, state)                                                              \
	(lost |= bwl_undo(limit, state, w->now_ns, w->charge, &taken[level]))
node:
	BWL_UNDO(BWL_L_NODE, &base->node, base->node.volume.state);
port:
	BWL_UNDO(BWL_L_PORT, &port->limit, port->limit.volume.state);
zone:
	if (b->zone)
		BWL_UNDO(BWL_L_ZONE, b->zone, b->zone->volume.state);
	class : if (b->class) BWL_UNDO(BWL_L_CLASS, b->class, b->class->volume.state);
floor:
	if (w->lapsed)
		lost |= bwl_floor_undo(w, peer, &taken[BWL_L_FLOOR]);
peer:
	BWL_UNDO(BWL_L_PEER, &peer->grant, bwl_grant_state(w->id));
#undef BWL_UNDO
	w->lost = lost;
	return r;
}

/* Windows learn which slice the bytes belong to once the packet passes all limits. */
static __always_inline void bwl_bill_commit(const struct bwl_work *w, const struct bwl_bill *b,
					    const struct bwl_peer *peer,
					    const struct bwl_base *base,
					    const struct bwl_port *port,
					    const struct bwl_taken *taken)
{
	__u32 len = w->charge;

	bwl_commit(&peer->grant, len, &taken[BWL_L_PEER]);
	if (w->lapsed)
		bwl_floor_commit(w, peer, &taken[BWL_L_FLOOR]);
	if (b->class)
		bwl_commit(b->class, len, &taken[BWL_L_CLASS]);
	if (b->zone)
		bwl_commit(b->zone, len, &taken[BWL_L_ZONE]);
	bwl_commit(&port->limit, len, &taken[BWL_L_PORT]);
	bwl_commit(&base->node, len, &taken[BWL_L_NODE]);
}

/* Mode mark: CE once the debt is past ce_from/256 of the burst. */
static __always_inline _Bool bwl_ce_due(const struct bwl_work *w, const struct bwl_peer *peer,
					const struct bwl_taken *t)
{
	const struct bwl_rate *r = &peer->grant.rate;

	return peer->meta.mode == BWL_MODE_MARK && t->rate &&
	       bwl_rate_debt(t->was, bwl_rate_drained(r, w->now_ns)) + w->charge >
		       (r->burst_bytes * r->ce_from) >> 8;
}

/*
 * Modes shape and mark: what is over the burst may leave within the horizon, each packet at its
 * time. Only where a qdisc keeps departure times; without one they police. Mark needs it where the
 * round trip is short: a TCP that is told to slow down still sends two packets in each.
 */
static __always_inline int bwl_slack(const struct bwl_work *w, const struct bwl_peer *peer,
				     const struct bwl_base *base, __u32 *ret_slack)
{
	const struct bwl_rate *r = &peer->grant.rate;

	if (peer->meta.mode == BWL_MODE_POLICE || bwl_monitors(peer) || !w->paced || w->lapsed ||
	    (r->flags & BWL_RATE_UNLIMITED))
		return BWL_R_NONE;
	if (w->charge + bwl_rate_jitter(r) > r->burst_bytes)
		return BWL_R_PEER_RATE;
	*ret_slack = bwl_rate_slack(r, base->horizon_ns);
	return BWL_R_NONE;
}

/* All limits of a packet. In line: where returns are mitigated a call costs what two limits do. */
static __always_inline int bwl_charge(struct bwl_work *w, const struct bwl_peer *peer,
				      const struct bwl_base *base, const struct bwl_port *port)
{
	struct bwl_taken taken[BWL_LEVELS]; /* one a limit that was asked */
	struct bwl_bill b = {};
	int r;

	r = bwl_bill_make(w, &b, peer, base);
	if (r == BWL_R_NONE)
		r = bwl_slack(w, peer, base, &b.slack);
	if (r == BWL_R_NONE)
		r = bwl_bill_take(w, &b, peer, base, port, taken);
	if (bwl_unlikely(r != BWL_R_NONE))
		return r;
	if (w->volumes)
		bwl_bill_commit(w, &b, peer, base, port, taken);
	if (bwl_ce_due(w, peer, &taken[BWL_L_PEER]))
		w->ce = 1;
	return BWL_R_NONE;
}

/* One limit alone: neighbour discovery, control. */
BWL_GLOBAL int bwl_charge_one(struct bwl_work *w, const struct bwl_limit *l, __u32 rate_reason)
{
	struct bwl_taken t;
	int j;

	if (!w || !l)
		return BWL_R_NO_POLICY;
	j = bwl_take_one(w, l, l->volume.state, 0, 0, &t);
	return j == BWL_OK ? BWL_R_NONE : bwl_over(j, rate_reason);
}

/* What arrives. */
BWL_GLOBAL int bwl_charge_accept(const struct bwl_work *w, const struct bwl_peer *peer)
{
	const struct bwl_rate *r = &peer->accept;
	struct bwl_state *s;
	__u64 was, next;
	int j;

	if (!w || !peer)
		return BWL_R_ACCEPT_RATE;
	s = bwl_state_of(bwl_accept_state(w->id));
	if (!(peer->meta.flags & BWL_PEER_ACCEPT) || !s)
		return BWL_R_ACCEPT_RATE;
	if (r->flags & BWL_RATE_UNLIMITED)
		return BWL_R_NONE;
	j = bwl_rate_take(r, &s->finish_bytes, bwl_rate_drained(r, w->now_ns), w->charge, 0, &was,
			  &next);
	return j == BWL_OK ? BWL_R_NONE : bwl_over(j, BWL_R_ACCEPT_RATE);
}

#endif
