// SPDX-License-Identifier: GPL-2.0-or-later
/* Edits of the policy in force: one grant. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/effects.h>
#include <bwl/units.h>
#include <bwl/give.h>
#include "build.h"
#include "in_force.h"
#include "closed_prefixes.h"

/*
 * True if no gate points at the entry. A body names its peer; an entry that was never used names 0.
 */
static bool is_spare(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t at)
{
	uint32_t id;

	if (bwl_gen_touch(g, at, 0))
		return false;
	id = g->peer[at].grant.volume.state / 2;
	return id < p->schema.max_peers && !bwl_pins_touch(p, BWL_PIN_gate, id) &&
	       __atomic_load_n(bwl_body_of(&p->gate[id], g->slot), __ATOMIC_SEQ_CST) != at;
}

/*
 * An entry for the next edit: the one that the last edit left, which entry 0 (no peer's) points to;
 * otherwise one at the end, which new policies do not use. 0: none.
 */
static uint32_t spare(const struct bwl_pins *p, const struct bwl_gen *g)
{
	uint32_t at = bwl_gen_touch(g, 0, 0) ? 0 : g->peer[0].meta.sub_base;

	if (at && at < g->npeers && is_spare(p, g, at))
		return at;
	for (at = g->npeers - 1; at && !is_spare(p, g, at); at--)
		;
	return at;
}

static struct bwl_lim lim_of(const struct bwl_limit *l)
{
	struct bwl_lim lim = { .present = true,
			       .rate_bps = bwl_rate_decode(&l->rate),
			       .burst = bwl_rate_burst(&l->rate) };

	if (l->volume.spendable_bytes != BWL_VOLUME_NONE) {
		lim.has_volume = true;
		lim.volume = l->volume.spendable_bytes;
		lim.window_ns = l->volume.slice_ns * BWL_WINDOW_SLICES / 1000 * 1000;
	}
	return lim;
}

static void encode_accept(struct bwl_rate *r, const struct bwl_lim *lim)
{
	bwl_rate_encode_for(r, lim->rate_bps,
			    lim->burst ? lim->burst : bwl_default_burst(lim->rate_bps), 0);
}

/* Is the accept limit the default that follows from the grant? Then it changes with the grant. */
static bool accept_follows(const struct bwl_peer *body)
{
	struct bwl_lim grant = lim_of(&body->grant), accept = bwl_default_accept(&grant);
	struct bwl_rate r = { 0 };

	encode_accept(&r, &accept);
	return r.m == body->accept.m && r.k == body->accept.k && r.flags == body->accept.flags &&
	       r.burst_bytes == body->accept.burst_bytes;
}

static int check_lim(const char *name, const struct bwl_lim *lim, struct bwl_err *e)
{
	if (lim->rate_bps != BWL_NO_RATE &&
	    (lim->rate_bps < BWL_RATE_MIN_BPS || lim->rate_bps > BWL_RATE_MAX_BPS))
		return bwl_fail(e, ERANGE, "peer %s: rate must be 1kbit to 100tbit", name);
	if (lim->burst && (lim->burst < BWL_MIN_BURST || lim->burst > BWL_MAX_BURST))
		return bwl_fail(e, ERANGE, "peer %s: burst must be %llu bytes (one frame) to 1tb",
				name, BWL_MIN_BURST);
	if (lim->has_volume && lim->volume > BWL_MAX_VOLUME)
		return bwl_fail(e, ERANGE, "peer %s: volume must be at most 2^62 bytes", name);
	if (lim->has_volume && lim->window_ns && lim->window_ns < BWL_WINDOW_MIN_NS)
		return bwl_fail(e, ERANGE, "peer %s: a volume's window must be at least 11s", name);
	return 0;
}

static void continue_rate(const struct bwl_pins *p, const struct bwl_rate *before, uint32_t state,
			  uint64_t now_ns, struct bwl_rate *r)
{
	bwl_rate_follow(r, before->start_ns ? before : NULL, &p->state[state].finish_bytes, now_ns);
}

/* Was there no rate before, and may its packets wait for their time? */
static bool begins(const struct bwl_rate *before, const struct bwl_peer *body)
{
	return before->flags & BWL_RATE_UNLIMITED && bwl_mode_paces(body->meta.mode) &&
	       !(body->grant.rate.flags & BWL_RATE_UNLIMITED);
}

static struct bwl_lim wanted(const struct bwl_peer *old, const struct bwl_state *s,
			     const struct bwl_change *c)
{
	struct bwl_lim lim = lim_of(&old->grant);
	bool once;

	if (!(old->meta.flags & BWL_PEER_GRANT))
		lim = (struct bwl_lim){ .present = true };
	if (c->set & BWL_SET_RATE) {
		/*
		 * A burst that was the default for the old rate becomes the default for the new
		 * rate.
		 */
		if (lim.burst == bwl_default_burst(lim.rate_bps))
			lim.burst = 0;
		lim.rate_bps = c->lim.rate_bps;
	}
	if (c->set & BWL_SET_BURST)
		lim.burst = c->lim.burst;
	/* A volume per window stays as it is: give_once(). */
	once = c->set & BWL_ADD_ONCE && lim.has_volume && lim.window_ns;
	if (c->set & (BWL_ADD_VOLUME | BWL_ADD_ONCE) && !once) {
		/* Added to what is spent, if that is more than the volume: +V gives V. */
		if (!lim.window_ns && (!lim.has_volume || lim.volume < s->used_bytes))
			lim.volume = s->used_bytes;
		lim.volume += c->lim.volume;
		lim.has_volume = true;
	} else if (c->set & BWL_SET_VOLUME) {
		lim.has_volume = c->lim.has_volume;
		lim.volume = c->lim.volume;
		lim.window_ns = c->lim.window_ns;
	}
	return lim;
}

/* The peer's id, with all of its maps mapped; 0: no peer of that name. */
static uint32_t find_peer(struct bwl_pins *p, const struct bwl_gen *g, const char *name,
			  struct bwl_err *e)
{
	bool known = bwl_body_at(p, g, bwl_name_id(p, name));
	uint32_t id = bwl_peer_id(p, g, name);

	if (id && !known)
		bwl_name_note(p, id);
	if (!id)
		bwl_no_peer(name, e);
	return bwl_pins_touch_peer(p, id, e) ? 0 : id;
}

static int edit(struct bwl_pins *p, struct bwl_gen *g, uint32_t id, const char *name,
		const struct bwl_change *c, struct bwl_carryover *carryover, struct bwl_peer *body,
		struct bwl_err *e)
{
	const struct bwl_peer old = *body;
	struct bwl_lim lim = wanted(&old, &p->state[bwl_grant_state(id)], c), accept;
	const struct bwl_volume *before = old.meta.flags & BWL_PEER_GRANT ? &old.grant.volume
									  : NULL;
	uint32_t floor = old.grant.volume.floor;
	bool follows = accept_follows(&old) || !(old.meta.flags & BWL_PEER_GRANT);
	int r;

	if (!(old.meta.flags & BWL_PEER_GRANT) && !(c->set & BWL_SET_AUTHORISE)) {
		bwl_fail(e, EINVAL, "peer %s has no grant: there is no limit to change", name);
		return bwl_hint(e, "bwlimit-ctl grant %s rate R for TIME reason …", name);
	}
	r = check_lim(name, &lim, e);
	if (!r && c->set & (BWL_SET_RATE | BWL_SET_VOLUME | BWL_SET_MODE))
		r = bwl_effect_grant(name, &lim, c->set & BWL_SET_MODE ? c->mode : old.meta.mode,
				     e);
	if (!r && bwl_gen_touch(g, 0, floor))
		r = bwl_fail(e, ENOMEM, "cannot map the floor of peer %s", name);
	if (r)
		return r;
	if (floor && lim.rate_bps != BWL_NO_RATE &&
	    bwl_rate_decode(&g->sub[floor].rate) > lim.rate_bps)
		return bwl_fail(e, EINVAL, "peer %s: the grant's rate may not be below the floor's",
				name);
	/* Only a change that may need a window looks up who owns which. */
	if (lim.has_volume && (lim.window_ns || !before || before->slice_ns ||
			       before->spendable_bytes == BWL_VOLUME_NONE))
		r = bwl_ids_open(p, carryover->ids, e);
	if (!r)
		r = bwl_build_limit(carryover, &lim, bwl_grant_state(id), before, &body->grant, e);
	if (r)
		return r;
	body->grant.volume.floor = floor;
	body->grant.rate.ce_from = old.grant.rate.ce_from;
	if (c->set & BWL_SET_MODE) {
		body->meta.mode = c->mode;
		if (c->mark_pct)
			body->grant.rate.ce_from = (uint8_t)(c->mark_pct * 256U / 100U > 255
								     ? 255
								     : c->mark_pct * 256U / 100U);
	}
	if (c->set & BWL_SET_EXPIRY)
		body->meta.expiry_ns = c->expiry_ns;
	if (c->set & BWL_SET_ACCEPT) {
		r = check_lim(name, &c->accept, e);
		encode_accept(&body->accept, &c->accept);
		body->meta.flags |= BWL_PEER_ACCEPT;
	} else if (follows) {
		accept = bwl_default_accept(&lim);
		encode_accept(&body->accept, &accept);
		if (!(old.meta.flags & BWL_PEER_GRANT))
			body->meta.flags |= BWL_PEER_ACCEPT;
	}
	body->meta.flags |= BWL_PEER_GRANT;
	/* Only `grant` lifts a revocation, even for a peer that has had no grant since. */
	if (c->set & BWL_SET_AUTHORISE) {
		body->meta.grant_seq = __atomic_add_fetch(&p->ctl->seq, 1, __ATOMIC_SEQ_CST);
	}
	return r;
}

/* The window that is in force, as the sweep notes it for a whole policy. */
static void note_window(struct bwl_pins *p, const struct bwl_volume *v)
{
	if (!v->slice_ns)
		return;
	p->window[v->window].slice_ns = v->slice_ns;
	p->window[v->window].left_ns = 0;
}

/* Does the policy's digest (bwl_policy_digest()) cover nothing of what the edit changes? */
static bool keeps_digest(const struct bwl_peer *old, struct bwl_peer body)
{
	body.meta.expiry_ns = old->meta.expiry_ns;
	body.meta.grant_seq = old->meta.grant_seq;
	body.grant.rate.start_ns = old->grant.rate.start_ns;
	body.grant.rate.base_bytes = old->grant.rate.base_bytes;
	body.accept.start_ns = old->accept.start_ns;
	body.accept.base_bytes = old->accept.base_bytes;
	return !memcmp(old, &body, sizeof(body));
}

static bool gives_once(const struct bwl_change *c, const struct bwl_peer *body)
{
	return c->set & BWL_ADD_ONCE && body->grant.volume.slice_ns;
}

/* Once no packet uses the entry before. Then those that noted a refusal look again. */
static void give_once(struct bwl_pins *p, const struct bwl_change *c, const struct bwl_volume *v)
{
	uint64_t given = bwl_window_give(&p->window[v->window], v, c->lim.volume, bwl_now_ns());

	if (c->given)
		*c->given = given;
	__atomic_add_fetch(&p->ctl->edits, 1, __ATOMIC_SEQ_CST);
}

int bwl_peer_change(struct bwl_pins *p, const char *name, const struct bwl_change *c,
		    struct bwl_err *e)
{
	/* An explicit order to a running system is enough: its past counts as known. */
	struct bwl_ids ids = { .p = p };
	struct bwl_carryover carryover = { .ids = &ids, .fresh = true };
	uint32_t id, from, to;
	struct bwl_peer body;
	struct bwl_gen g;
	uint64_t now;
	int r;

	r = bwl_pins_lock(p, e);
	if (r)
		return r;
	r = bwl_trial_refuses(p, e);
	if (!r)
		r = bwl_held_settle(p, e);
	if (!r)
		r = bwl_gen_open(p, bwl_active_slot(p), &g, e);
	if (r)
		return r;
	id = find_peer(p, &g, name, e);
	from = bwl_body_at(p, &g, id);
	carryover.ledger = g.base->flags & BWL_BASE_LEDGER;
	to = from ? spare(p, &g) : 0;
	if (!bwl_body(p, &g, id))
		r = -ENOENT;
	else if (!to)
		r = bwl_fail(e, ENOSPC, "no spare entry for an edit: apply the policy again");
	if (!r) {
		body = g.peer[from];
		r = edit(p, &g, id, name, c, &carryover, &body, e);
	}
	if (!r && !c->allowed)
		r = bwl_gate_ask_peer(p, id, &body, e);
	if (!r && !c->allowed && gives_once(c, &body) && bwl_only_tightens(p))
		r = bwl_gate_refuse(e, "more than its volume would pass in this window");
	if (!r && !c->only_ask) {
		now = bwl_now_ns();
		continue_rate(p, &g.peer[from].grant.rate, bwl_grant_state(id), now,
			      &body.grant.rate);
		continue_rate(p, &g.peer[from].accept, bwl_accept_state(id), now, &body.accept);
		if (begins(&g.peer[from].grant.rate, &body))
			bwl_owe_waiting(&body.grant.rate, g.base->horizon_ns);
		g.peer[to] = body;
		bwl_carryover_hold(&carryover, now);
		__atomic_store_n(bwl_body_of(&p->gate[id], g.slot), to, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&p->ctl->edits, 1, __ATOMIC_SEQ_CST);
		if (!keeps_digest(&g.peer[from], body)) /* no longer a file's policy */
			memset(g.base->digest, 0, sizeof(g.base->digest));
		r = bwl_grace(p, e);
		if (r)
			bwl_build_stays(
				e,
				"the change is in force; a volume that it begins stays closed until it is made again");
		if (!r) {
			if (!bwl_gen_touch(&g, 0, 0))
				g.peer[0].meta.sub_base = from; /* the next spare entry */
			bwl_carryover_settle(&carryover);
			note_window(p, &body.grant.volume);
			if (gives_once(c, &body))
				give_once(p, c, &body.grant.volume);
		}
		if (c->set & BWL_SET_AUTHORISE)
			bwl_places_open(p, &g, id);
	}
	bwl_carryover_done(&carryover);
	bwl_ids_close(&ids);
	bwl_gen_close(&g);
	return r;
}
