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

enum bwl_level { BWL_L_PEER, BWL_L_FLOOR, BWL_L_CLASS, BWL_L_ZONE, BWL_L_PORT, BWL_L_NODE, BWL_LEVELS };

struct bwl_bill {
	const struct bwl_limit *floor, *class, *zone;	/* NULL: none */
	__u64 asked;		/* the outermost level so far; of 64 bits as bwl_ctx.tally */
};

/* Reasons come in pairs, rate then volume. */
static __always_inline int bwl_over(int judgement, int rate_reason)
{
	switch (judgement) {
	case BWL_OK:
		return BWL_R_NONE;
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

/* Any limit: rate, volume, window, ledger, races. */
BWL_GLOBAL int bwl_take(const struct bwl_limit *l, __u32 state, __u64 now_ns, __u32 len,
			struct bwl_taken *t)
{
	struct bwl_state *s = bwl_state_of(state);
	struct bwl_window *w;

	if (!l || !s || !t)
		return BWL_CONTENDED;
	w = bwl_window_of(&l->volume);
	if (l->volume.slice_ns && !w)
		return BWL_CONTENDED;
	return bwl_limit_take(l, s, w, bwl_mark_of(state), now_ns, len, t);
}

BWL_GLOBAL __u32 bwl_undo(const struct bwl_limit *l, __u32 state, __u32 len,
			  const struct bwl_taken *t)
{
	struct bwl_state *s = bwl_state_of(state);

	if (!l || !s || !t || !(t->rate | t->volume))
		return 0;
	return bwl_limit_undo(s, bwl_window_of(&l->volume), len, t);
}

/*
 * The common case in line: a rate, no volume, no race. Everything else, the race after a first
 * failed compare-and-swap among it, goes the long way. t is filled on every way, with what that way
 * needs; nobody need zero it first. rate_only: not NULL, or volumes are asked too.
 */
static __always_inline int bwl_take_one(struct bwl_ctx *c, const struct bwl_limit *l, __u32 state,
					__u32 slack, const void *rate_only, struct bwl_taken *t)
{
	struct bwl_state *s;
	__u64 drained, was, next;
	int j;

	if (l->volume.spendable_bytes != BWL_VOLUME_NONE && !rate_only) {
		c->volumes = 1;
		goto any;
	}
	j = BWL_OK;
	if (l->rate.flags & BWL_RATE_UNLIMITED)
		goto nothing;
	s = bwl_state_of(state);
	j = BWL_CONTENDED;
	if (!s)
		goto nothing;
	drained = bwl_rate_drained(&l->rate, c->now_ns);
	was = bwl_read(s->finish_bytes);
	j = bwl_rate_judge(&l->rate, was, drained, c->charge, slack, &next);
	if (j == BWL_OVER_RATE)
		goto nothing;
	if (j != BWL_OK || bwl_cas(&s->finish_bytes, was, next) != was)
		goto any;
	*t = (struct bwl_taken){ .was = was, .next = next, .slack = slack, .rate = 1 };
	return BWL_OK;
any:
	*t = (struct bwl_taken){ .slack = slack, .rate_only = rate_only != 0 };
	return bwl_take(l, state, c->now_ns, c->charge, t);
nothing:
	*t = (struct bwl_taken){};
	return j;
}

static __always_inline void bwl_commit(const struct bwl_limit *l, __u32 len,
				       const struct bwl_taken *t)
{
	if (t->volume && l->volume.slice_ns)
		bwl_limit_commit(bwl_window_of(&l->volume), len, t);
}

/* Which limits stand around this packet. */
static __always_inline int bwl_bill_make(struct bwl_ctx *c, struct bwl_bill *b)
{
	const struct bwl_peer_meta *m = &c->peer->meta;
	__u32 bit, n;

	if (c->lapsed) {
		b->floor = bwl_inner(&bwl_sub_v1, c->slot, c->peer->grant.volume.floor);
		if (!b->floor)
			return BWL_R_EXPIRED;
	}
	bit = 1U << (c->class & 15);
	if (m->class_mask && (m->class_mask & bit)) {
		/* Its place among the peer's class limits: how many lower bits are set. */
		n = m->class_mask & (bit - 1);
		n = (n & 0x5555) + (n >> 1 & 0x5555);
		n = (n & 0x3333) + (n >> 2 & 0x3333);
		n = (n & 0x0f0f) + (n >> 4 & 0x0f0f);
		n = (n & 0x1f) + (n >> 8);
		b->class = bwl_inner(&bwl_sub_v1, c->slot, m->sub_base + n);
		if (!b->class)
			return BWL_R_CLASS_RATE;
		c->tally = b->class->volume.state | 1;
	}
	if (m->zone)
		b->zone = &c->base->zone[m->zone].limit;
	/* Whether one is there ask its pointer: of what else says so Linux 6.1 knows nothing later. */
	b->zone = bwl_opaque(b->zone);
	return BWL_R_NONE;
}

static __always_inline _Bool bwl_monitors(const struct bwl_ctx *c)
{
	return c->peer->meta.mode == BWL_MONITOR;
}

/* slack: of the peer's limit. */
static __always_inline int bwl_bill_take(struct bwl_ctx *c, struct bwl_bill *b, __u32 slack,
					 struct bwl_taken *taken)
{
	int j;

#define BWL_TAKE(level, limit, state, reason, soft)                                              \
	do {                                                                                     \
		b->asked = level;                                                                \
		j = bwl_take_one(c, limit, state, (level) == BWL_L_PEER ? slack : 0,             \
				 (level) == BWL_L_PEER ? b->floor : 0, &taken[level]);           \
		if (bwl_likely(j == BWL_OK))                                                     \
			break;                                                                   \
		if (!(soft))                                                                     \
			return bwl_over(j, reason);                                              \
		c->monitored = 1;                                                                \
	} while (0)

	/* The floor has a volume of its own; the lapsed grant's is not touched, its rate still holds. */
	BWL_TAKE(BWL_L_PEER, &c->peer->grant, 2 * c->id, BWL_R_PEER_RATE, bwl_monitors(c));
	if (b->floor)
		BWL_TAKE(BWL_L_FLOOR, b->floor, b->floor->volume.state, BWL_R_FLOOR_RATE, 0);
	if (b->class)
		BWL_TAKE(BWL_L_CLASS, b->class, b->class->volume.state, BWL_R_CLASS_RATE, bwl_monitors(c));
	if (b->zone)
		BWL_TAKE(BWL_L_ZONE, b->zone, b->zone->volume.state, BWL_R_ZONE_RATE, 0);
	BWL_TAKE(BWL_L_PORT, &c->port->limit, c->port->limit.volume.state, BWL_R_PORT_RATE, 0);
	BWL_TAKE(BWL_L_NODE, &c->base->node, c->base->node.volume.state, BWL_R_NODE_RATE, 0);
#undef BWL_TAKE
	return BWL_R_NONE;
}

static __always_inline void bwl_bill_undo(struct bwl_ctx *c, struct bwl_bill *b,
					  const struct bwl_taken *taken)
{
	__u32 len = c->charge, lost;

	lost = bwl_undo(&c->peer->grant, 2 * c->id, len, &taken[BWL_L_PEER]);
	if (b->floor && b->asked >= BWL_L_FLOOR)
		lost |= bwl_undo(b->floor, b->floor->volume.state, len, &taken[BWL_L_FLOOR]);
	if (b->class && b->asked >= BWL_L_CLASS)
		lost |= bwl_undo(b->class, b->class->volume.state, len, &taken[BWL_L_CLASS]);
	if (b->zone && b->asked >= BWL_L_ZONE)
		lost |= bwl_undo(b->zone, b->zone->volume.state, len, &taken[BWL_L_ZONE]);
	if (b->asked >= BWL_L_PORT)
		lost |= bwl_undo(&c->port->limit, c->port->limit.volume.state, len, &taken[BWL_L_PORT]);
	if (b->asked >= BWL_L_NODE)
		lost |= bwl_undo(&c->base->node, c->base->node.volume.state, len, &taken[BWL_L_NODE]);
	c->lost = lost;
}

/* Windows learn which slice the bytes belong to once the packet passes all limits. */
static __always_inline void bwl_bill_commit(struct bwl_ctx *c, struct bwl_bill *b,
					    const struct bwl_taken *taken)
{
	bwl_commit(&c->peer->grant, c->charge, &taken[BWL_L_PEER]);
	if (b->floor)
		bwl_commit(b->floor, c->charge, &taken[BWL_L_FLOOR]);
	if (b->class)
		bwl_commit(b->class, c->charge, &taken[BWL_L_CLASS]);
	if (b->zone)
		bwl_commit(b->zone, c->charge, &taken[BWL_L_ZONE]);
	bwl_commit(&c->port->limit, c->charge, &taken[BWL_L_PORT]);
	bwl_commit(&c->base->node, c->charge, &taken[BWL_L_NODE]);
}

/* Mode mark: CE once the debt is past mark/256 of the burst. */
static __always_inline _Bool bwl_mark_due(const struct bwl_ctx *c, const struct bwl_taken *t)
{
	const struct bwl_rate *r = &c->peer->grant.rate;

	return c->peer->meta.mode == BWL_MARK && t->rate &&
	       t->next - bwl_rate_drained(r, c->now_ns) > (r->burst_bytes * r->mark) >> 8;
}

/*
 * Modes shape and mark: what is over the burst may leave within the horizon, each packet at its time.
 * Only where a qdisc keeps departure times; without one they police. Mark needs it where the round
 * trip is short: a TCP that is told to slow down still sends two packets in each.
 */
static __always_inline int bwl_slack(const struct bwl_ctx *c, __u32 *ret_slack)
{
	const struct bwl_rate *r = &c->peer->grant.rate;

	if (c->peer->meta.mode == BWL_POLICE || c->peer->meta.mode == BWL_MONITOR || !c->paced ||
	    c->lapsed || (r->flags & BWL_RATE_UNLIMITED))
		return BWL_R_NONE;
	if (c->charge + bwl_rate_jitter(r) > r->burst_bytes)
		return BWL_R_PEER_RATE;
	*ret_slack = bwl_rate_slack(r, c->base->horizon_ns);
	return BWL_R_NONE;
}

/* Nothing departs after expiry. */
static __always_inline int bwl_pace(struct bwl_ctx *c, const struct bwl_taken *t)
{
	const struct bwl_rate *r = &c->peer->grant.rate;
	__u64 debt;

	if (!t->slack || !t->rate)
		return BWL_R_NONE;
	debt = t->next - bwl_rate_drained(r, c->now_ns);
	c->delay_ns = bwl_rate_delay(r, debt);
	c->marked = bwl_rate_crowded(r, debt, t->slack);
	return c->now_ns + c->delay_ns < c->peer->meta.expiry_ns ? BWL_R_NONE : BWL_R_EXPIRED;
}

static __always_inline int bwl_charge(struct bwl_ctx *c)
{
	struct bwl_taken taken[BWL_LEVELS];	/* one a limit that was asked */
	struct bwl_bill b = {};
	__u32 slack = 0;
	int r;

	r = bwl_bill_make(c, &b);
	if (r == BWL_R_NONE)
		r = bwl_slack(c, &slack);
	if (r != BWL_R_NONE)
		return r;
	r = bwl_bill_take(c, &b, slack, taken);
	if (r == BWL_R_NONE)
		r = bwl_pace(c, &taken[BWL_L_PEER]);
	if (bwl_unlikely(r != BWL_R_NONE)) {
		bwl_bill_undo(c, &b, taken);
		return r;
	}
	if (c->volumes)
		bwl_bill_commit(c, &b, taken);
	if (bwl_mark_due(c, &taken[BWL_L_PEER]))
		c->marked = 1;
	return BWL_R_NONE;
}

/* One limit alone: neighbour discovery, control. */
static __always_inline int bwl_charge_one(struct bwl_ctx *c, const struct bwl_limit *l,
					  int rate_reason)
{
	struct bwl_taken t;

	return bwl_over(bwl_take_one(c, l, l->volume.state, 0, 0, &t), rate_reason);
}

static __always_inline int bwl_charge_accept(struct bwl_ctx *c)
{
	const struct bwl_rate *r = &c->peer->accept;
	struct bwl_state *s = bwl_state_of(2 * c->id + 1);
	__u64 was, next;

	if (!(c->peer->meta.flags & BWL_PEER_ACCEPT) || !s)
		return BWL_R_ACCEPT_RATE;
	if (r->flags & BWL_RATE_UNLIMITED)
		return BWL_R_NONE;
	return bwl_over(bwl_rate_take(r, &s->finish_bytes, bwl_rate_drained(r, c->now_ns),
				      c->charge, 0, &was, &next), BWL_R_ACCEPT_RATE);
}

#endif
