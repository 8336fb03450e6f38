// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which generation is in force, which one is kept for the end of a trial, and what has to wait for
 * that end: see in_force.h.
 */
#include <errno.h>
#include <bwl/err.h>
#include <bwl/publish.h>
#include <bwl/trial.h>
#include "closed_prefixes.h"
#include "in_force.h"
#include "takeover.h"

void bwl_put_in_force(struct bwl_pins *p, struct bwl_sched s)
{
	struct bwl_ctl *c = p->ctl;
	uint32_t next = (c->active + 1) % BWL_SCHEDS;

	bwl_sched_must_be_sound(&s);
	c->sched[next] = s;
	__atomic_store_n(&c->active, next, __ATOMIC_SEQ_CST);
}

struct bwl_sched *bwl_in_force(struct bwl_pins *p)
{
	return &p->ctl->sched[p->ctl->active % BWL_SCHEDS];
}

/*
 * Before a generation is dropped: what `revoke --all` ended there stays ended, even for peers that
 * are not in the policy in force. A generation that can no longer be opened was marked when its
 * removal began.
 */
static void keep_revoked_all(struct bwl_pins *p, uint32_t slot)
{
	uint32_t all = __atomic_load_n(&p->ctl->revoked_all, __ATOMIC_SEQ_CST), i;
	const struct bwl_peer *body;
	struct bwl_gen g;

	if (!all || bwl_gen_open(p, slot, &g, NULL))
		return;
	for (i = 1; i < p->schema.max_peers; i++) {
		body = bwl_body(p, &g, i);
		if (body && bwl_is_revoked_by(body->meta.grant_seq, all))
			bwl_revoked_raise(&p->gate[i].revoked, all);
	}
	bwl_gen_close(&g);
}

int bwl_drop_unused(struct bwl_pins *p, uint32_t slot, struct bwl_err *e)
{
	keep_revoked_all(p, slot);
	return bwl_gen_drop(p, slot, e);
}

int bwl_settle_unused(struct bwl_pins *p, struct bwl_err *e)
{
	int r = bwl_held_settle(p, e);
	uint32_t s;

	for (s = 0; !r && s < BWL_GENERATIONS; s++)
		if (s != bwl_active_slot(p) && s != bwl_slot_before(p))
			r = bwl_drop_unused(p, s, e);
	return r;
}

/*
 * Nobody else has what was revoked of the policy before. Without room for it the way back goes on:
 * it is lost only if the way back is killed now.
 */
static int keep_closed(struct bwl_pins *p, const struct bwl_gen *before, struct bwl_err *e)
{
	struct bwl_pfxset closed = { 0 };
	int r = bwl_places_closed(p, before, &closed, e);

	if (!r)
		r = bwl_places_keep(p, &closed, NULL, e);
	if (r == -E2BIG) {
		bwl_warn("%s; if this is interrupted, a later policy may open them", e->text);
		r = 0;
	}
	bwl_pfxset_free(&closed);
	return r;
}

int bwl_forget_before(struct bwl_gens *x, struct bwl_pins *p, struct bwl_err *e)
{
	uint32_t slot = bwl_slot_before(p);
	int r;

	if (slot == BWL_NO_SLOT)
		return 0;
	r = keep_closed(p, &x->before, e);
	if (!r)
		r = bwl_retired_keep(p, &x->before, bwl_gen_old(x), e);
	if (r)
		return r;
	keep_revoked_all(p, slot);
	__atomic_store_n(&bwl_in_force(p)->before, BWL_LOST_SLOT, __ATOMIC_SEQ_CST);
	x->overwritten = true;
	return 0;
}

const struct bwl_gen *bwl_gen_old(const struct bwl_gens *x)
{
	return x->old.base ? &x->old : NULL;
}

const struct bwl_gen *bwl_gen_before(const struct bwl_gens *x)
{
	return x->before.base ? &x->before : NULL;
}

int bwl_gens_open(struct bwl_gens *x, struct bwl_pins *p, struct bwl_err *e)
{
	uint32_t slot = bwl_active_slot(p), before = bwl_slot_before(p);
	int r = 0;

	if (slot != BWL_NO_SLOT)
		r = bwl_gen_open(p, slot, &x->old, e);
	if (!r && before != BWL_NO_SLOT)
		r = bwl_gen_open(p, before, &x->before, e);
	return r;
}

void bwl_gens_close(struct bwl_gens *x)
{
	if (x->old.base)
		bwl_gen_close(&x->old);
	if (x->before.base)
		bwl_gen_close(&x->before);
}

int bwl_gens_closed(const struct bwl_gens *x, struct bwl_pins *p, struct bwl_pfxset *ret,
		    struct bwl_err *e)
{
	int r = bwl_places_closed(p, bwl_gen_old(x), ret, e);

	return r || !x->before.base || x->overwritten ? r
						      : bwl_places_closed(p, &x->before, ret, e);
}

int bwl_trial_refuses(const struct bwl_pins *p, struct bwl_err *e)
{
	uint64_t now = bwl_now_ns();
	int r = bwl_trial_wait(bwl_pending_ns(p, now), now, e);

	if (r || !bwl_is_trial_over(p, now))
		return r;
	bwl_fail(
		e, EBUSY,
		"a policy was not confirmed in time, and the one before is not in force again yet");
	return bwl_hint(
		e, "a running bwlimitd does it within a second; or bwlimit-ctl policy rollback");
}
