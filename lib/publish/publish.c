// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Puts a policy in force. It is built in the generation that no packet uses, then one word switches
 * to it. Killed before that word: the old policy stays, and the next writer clears the half-built
 * one. Killed after it: the new policy is in force, and the next writer clears the old one.
 *
 * A policy on trial is put in force in the same way, with an end (struct bwl_sched). The policy
 * before stays in its slot as data, until the trial is confirmed or the policy before is applied
 * again (bwl_rollback()), in the same way: so accounts, windows and revocations are carried over in
 * one place.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include "build.h"
#include <bwl/carryover_record.h>
#include "closed_prefixes.h"
#include <bwl/forget.h>
#include <bwl/heartbeat.h>
#include <bwl/next_hops.h>
#include "given_up.h"
#include "in_force.h"
#include "renamed.h"
#include "silence.h"
#include "takeover.h"

static void note_rate(const struct bwl_limit *l, uint32_t state, void *arg)
{
	const struct bwl_rate **rate = arg;

	rate[state] = &l->rate;
}

static void note_rates(const struct bwl_pins *p, const struct bwl_gen *g,
		       const struct bwl_rate **rate)
{
	const struct bwl_peer *body;
	uint32_t i;

	bwl_limit_each(p, g, note_rate, rate);
	for (i = 1; i < p->schema.max_peers; i++) {
		body = bwl_body(p, g, i);
		if (body)
			rate[bwl_accept_state(i)] = &body->accept;
	}
}

/*
 * After the switch: stores new names and removes what is no longer used. kept: the policy before a
 * trial, else NULL.
 */
static int tidy(struct bwl_pins *p, const struct bwl_policy *pol, struct bwl_ids *ids,
		const uint32_t *id, const struct bwl_gen *in_force, const struct bwl_gen *kept,
		struct bwl_err *e)
{
	bool swept, renamed = false;
	size_t j;

	for (j = 0; j < pol->npeers; j++) {
		if (!bwl_renamed_store(ids, in_force, id[j], pol->peers[j].name))
			continue;
		bwl_retired_take(p, &pol->peers[j]);
		renamed = true;
	}
	if (renamed)
		bwl_names_note_all(p);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* revoke.c reads in the other order */
	bwl_renamed_forget(p);
	return bwl_sweep(ids, in_force, kept, &swept, e);
}

struct publish {
	struct bwl_ids ids;
	struct bwl_gens gens;
	struct bwl_build b;
	uint32_t *id;
	uint8_t *stays, *known;
	const struct bwl_rate **old_rate;
	struct bwl_pfxset closed; /* closed prefixes */
	struct bwl_fixed_hop *hop;
	size_t nhops;
	bool old_fixes; /* the policy in force has permanent next hops, too */
	bool switched;  /* the new policy is in force */
};

static struct publish publish_new(void)
{
	struct publish x = { 0 };

	x.b.gen.dst4 = x.b.gen.dst6 = x.b.gen.lpm4 = x.b.gen.lpm6 = x.b.gen.own = -1;
	x.b.gen.base_fd = x.b.gen.peer_fd = x.b.gen.sub_fd = -1;
	return x;
}

static void publish_done(struct publish *x)
{
	bwl_ids_close(&x->ids);
	bwl_carryover_done(&x->b.carryover);
	bwl_heirs_done(&x->b.heirs);
	free(x->b.taken);
	bwl_given_free(x->b.owed, x->b.pol ? x->b.pol->npeers : 0);
	bwl_pfxset_free(&x->closed);
	free(x->hop);
	bwl_gen_close(&x->b.gen);
	bwl_gens_close(&x->gens);
	free(x->id);
	free(x->stays);
	free(x->known);
	free(x->old_rate);
}

/* The account of a volume that the policy before has is known, although it was not in force. */
static void note_known(const struct bwl_limit *l, uint32_t state, void *arg)
{
	uint8_t *known = arg;

	known[state] |= l->volume.spendable_bytes != BWL_VOLUME_NONE;
}

static int prepare(struct publish *x, struct bwl_pins *p, const struct bwl_policy *pol,
		   const struct bwl_publish_opts *o, struct bwl_publish_report *rep,
		   struct bwl_err *e)
{
	bool swept;
	struct bwl_fixed_hop *old_hop = NULL;
	size_t nold = 0;
	struct bwl_given **owed;
	struct bwl_heirs heirs;
	bool *taken;
	int r;

	r = bwl_gens_open(&x->gens, p, e);
	if (!r)
		r = bwl_ids_open(p, &x->ids, e);
	if (!r)
		r = bwl_sweep(&x->ids, bwl_gen_old(&x->gens), bwl_gen_before(&x->gens), &swept, e);
	if (!r && swept) { /* the index must be built again */
		bwl_ids_close(&x->ids);
		r = bwl_ids_open(p, &x->ids, e);
	}
	if (r)
		return r;
	bwl_names_note_all(p); /* every name is in the index now, so a missing one is new */
	bwl_places_prune(p, bwl_gen_old(&x->gens));
	r = bwl_retired_prune(p, bwl_gen_old(&x->gens), e);
	if (!r) /* the way back leaves prefixes that somebody had on trial */
		r = bwl_given_prune(p, o && o->returns ? NULL : bwl_gen_old(&x->gens), e);
	if (r)
		return r;
	x->id = calloc(pol->npeers + 1, sizeof(*x->id));
	x->stays = calloc(p->schema.max_peers, 1);
	x->known = calloc(x->ids.nstates, 1);
	x->old_rate = calloc(x->ids.nstates, sizeof(*x->old_rate));
	if (!x->id || !x->stays || !x->known || !x->old_rate)
		return bwl_fail(e, ENOMEM, "out of memory for %zu peers", pol->npeers);
	if (bwl_gen_before(&x->gens))
		bwl_limit_each(p, &x->gens.before, note_known, x->known);
	r = bwl_gens_closed(&x->gens, p, &x->closed, e);
	if (r)
		return r;
	x->b.pol = pol;
	r = bwl_given_owed(p, pol, bwl_gen_old(&x->gens), &x->b.owed, e);
	if (!r)
		r = bwl_heirs_assign(&x->ids, pol, bwl_gen_old(&x->gens), o, x->id, x->stays,
				     &x->b.heirs, rep, e);
	if (r)
		return r;
	if (!o || !o->returns)
		bwl_forget_lifted(p, bwl_gen_old(&x->gens), x->stays);
	if (x->gens.old.base)
		note_rates(p, &x->gens.old, x->old_rate);
	heirs = x->b.heirs;
	owed = x->b.owed;
	taken = bwl_places_taken(p, bwl_gen_old(&x->gens), &x->closed, pol);
	x->b = (struct bwl_build){
		.gen = x->b.gen,
		.heirs = heirs,
		.owed = owed,
		.taken = taken,
		.p = p,
		.pol = pol,
		.ids = &x->ids,
		.old = bwl_gen_old(&x->gens),
		.returns = o && o->returns ? bwl_gen_before(&x->gens) : NULL,
		.old_rate = x->old_rate,
		.id = x->id,
		.rep = rep,
		.o = o,
		.carryover = { .ids = &x->ids,
			       .fresh = (p->ctl->fresh_volume && !bwl_only_tightens(p)) ||
					(o && o->fresh_volume),
			       .known = x->known,
			       .ledger = pol->ledger },
		/* taken before revocations are read: a later revocation has a higher number */
		.seq = __atomic_add_fetch(&p->ctl->seq, 1, __ATOMIC_SEQ_CST),
	};
	if (!taken)
		r = bwl_fail(e, ENOMEM, "out of memory");
	else if (o && o->returns)
		r = bwl_places_keep_all(p, &x->closed, pol, bwl_gen_old(&x->gens), NULL, e);
	else
		r = bwl_places_keep(p, &x->closed, pol, e);
	if (!r)
		r = bwl_build_sizes(pol, &x->b.size, e);
	if (!r)
		r = bwl_gen_create(bwl_active_slot(p) == 0 ? 1 : 0, &x->b.size, &x->b.gen, e);
	if (!r)
		r = bwl_build_fill(&x->b, e);
	if (r)
		return r;
	rep->exhausted = x->b.carryover.unknown;
	x->nhops = bwl_next_hops(p, &x->b.gen, &x->hop);
	if (x->gens.old.base)
		nold = bwl_next_hops(p, &x->gens.old, &old_hop);
	x->old_fixes = nold;
	/* What was in force is not refused for what routes have become since. */
	if (!o || !o->returns)
		r = bwl_netdev_hops_agree(x->hop, x->nhops, old_hop, nold, e);
	free(old_hop);
	return r;
}

/* A peer that takes over a revoked peer's prefixes is revoked. */
static void pass_on_revocations(const struct publish *x, struct bwl_pins *p)
{
	const struct bwl_gen *old = bwl_gen_old(&x->gens);
	size_t i;

	for (i = 0; i < x->b.heirs.n; i++) {
		const struct bwl_heir *h = &x->b.heirs.pair[i];

		if (bwl_is_revoked(p, old, h->of) && p->gate[x->id[h->peer]].revoked < x->b.seq)
			__atomic_store_n(&p->gate[x->id[h->peer]].revoked,
					 __atomic_add_fetch(&p->ctl->seq, 1, __ATOMIC_SEQ_CST),
					 __ATOMIC_SEQ_CST);
	}
}

/*
 * The same for prefixes: those of peers revoked since closed prefixes were collected are closed,
 * too. all: room is made for them.
 */
static int pass_on_places(struct publish *x, struct bwl_pins *p, bool all, struct bwl_err *e)
{
	const struct bwl_gen *old = bwl_gen_old(&x->gens);
	struct bwl_pfxset closed = { 0 };
	bool *taken = NULL;
	size_t i;
	int r;

	if (__atomic_load_n(&p->ctl->seq, __ATOMIC_SEQ_CST) == x->b.seq)
		return 0;
	r = bwl_gens_closed(&x->gens, p, &closed, e);
	if (!r)
		taken = bwl_places_taken(p, old, &closed, x->b.pol);
	if (!r && !taken)
		r = bwl_fail(e, ENOMEM, "out of memory");
	if (!r)
		r = all ? bwl_places_keep_all(p, &closed, x->b.pol, old,
					      x->switched ? &x->b.gen : NULL, e)
			: bwl_places_keep(p, &closed, x->b.pol, e);
	for (i = 0; taken && i < x->b.pol->npeers; i++)
		if (taken[i] && !x->b.taken[i] && p->gate[x->id[i]].revoked < x->b.seq)
			__atomic_store_n(&p->gate[x->id[i]].revoked,
					 __atomic_add_fetch(&p->ctl->seq, 1, __ATOMIC_SEQ_CST),
					 __ATOMIC_SEQ_CST);
	free(taken);
	bwl_pfxset_free(&closed);
	return r;
}

/*
 * Next hops of the policy in force are permanent; no other entry of bwlimit's stays in the kernel's
 * table. Needed after a switch, because bwlimitd may have removed those of a policy that was not in
 * force yet, and after a switch that failed.
 */
static void settle_next_hops(struct bwl_pins *p)
{
	struct bwl_fixed_hop *list;
	struct bwl_err e = { 0 };
	size_t n;
	int r = bwl_next_hops_in_force(p, &list, &n, &e);

	if (!r) {
		r = bwl_netdev_hops_fix(list, n, &e);
		bwl_next_hops_sweep(p, list, n);
	}
	if (r)
		bwl_warn("%s", e.text);
	free(list);
}

/* From here on packets may use it. */
static int commit(struct publish *x, struct bwl_pins *p, const struct bwl_publish_opts *o,
		  struct bwl_err *e)
{
	uint32_t slot = x->b.gen.slot, old = x->gens.old.base ? x->gens.old.slot : BWL_NO_SLOT, i;
	struct bwl_sched next = { .slot = slot, .before = BWL_NO_SLOT, .trial_ns = BWL_NEVER_NS };
	const struct bwl_gen *before = NULL;
	int r;

	pass_on_revocations(x, p);
	r = pass_on_places(x, p, o && o->returns, e);
	if (r)
		return r;
	/*
	 * Before the first packet goes there, and before any other step that would have to be
	 * undone.
	 */
	r = bwl_netdev_hops_fix(x->hop, x->nhops, e);
	if (r == -EEXIST) { /* it was so before (prepare()) */
		if (e)
			bwl_warn("%s", e->text);
		r = 0;
	}
	if (!r)
		r = bwl_forget_before(&x->gens, p, e);
	if (r) {
		settle_next_hops(p);
		return r;
	}
	for (i = 1; i < p->schema.max_peers; i++)
		*bwl_body_of(&p->gate[i], slot) = 0;
	for (i = 0; i < x->b.pol->npeers; i++)
		*bwl_body_of(&p->gate[x->id[i]], slot) = i + 1;
	r = bwl_gen_install(p, &x->b.gen, e);
	if (r)
		return r;
	bwl_renamed_note(&x->ids, x->b.pol, x->id);
	bwl_given_begin(p);
	bwl_carryover_hold(&x->b.carryover, bwl_now_ns());
	bwl_build_start(&x->b, bwl_now_ns());
	if (o && o->confirm_ns) {
		next.before = old;
		next.trial_ns = bwl_now_ns() + o->confirm_ns;
		before = bwl_gen_old(&x->gens);
	}
	if (o && o->breaks_glass)
		bwl_enrolled_set(p, BWL_GLASS_BROKEN);
	/*
	 * CPUs cache destinations by generation and slot (bpf/lib/dest.h): before a packet finds
	 * the slot in force, each CPU must be in a generation in which that slot was never in
	 * force.
	 */
	__atomic_add_fetch(&p->ctl->generation, 1, __ATOMIC_SEQ_CST);
	r = bwl_grace(p, e);
	if (r) {
		settle_next_hops(p);
		return r;
	}
	bwl_put_in_force(p, next);
	x->switched = true;
	__atomic_add_fetch(&p->ctl->generation, 1, __ATOMIC_SEQ_CST);
	bwl_silence_within(p, x->b.gen.base->heartbeat_ns, x->b.gen.base->lease_ns);
	bwl_silence_keep(p, &x->b.gen);
	r = bwl_grace(p, e);
	if (r)
		return r;
	if (!o || !o->breaks_glass) /* not before the glass is out of force */
		bwl_enrolled_clear(p, BWL_GLASS_BROKEN);
	bwl_build_in_force(&x->b, bwl_now_ns());
	pass_on_revocations(x, p); /* of peers that were revoked meanwhile */
	if (o && o->returns) { /* what it kept in case it is killed takes the places of others */
		bwl_places_prune(p, &x->b.gen);
		bwl_retired_back(p, &x->b.gen);
	}
	/* It is too late to return to the old policy, and to make room while accounts are held. */
	r = pass_on_places(x, p, false, e);
	bwl_carryover_settle(&x->b.carryover);
	if (r && pass_on_places(x, p, true, e))
		bwl_warn("%s", e->text);
	r = 0;
	/* It is in force: the policy before is kept until the next writer, or bwlimitd, notes it.
	 */
	if (bwl_given_note(p, &x->ids, bwl_gen_old(&x->gens), &x->b.gen, e)) {
		bwl_warn("%s; bwlimitd, or the next policy, does it again", e->text);
		before = bwl_gen_old(&x->gens);
	}
	if (x->nhops || x->old_fixes)
		settle_next_hops(p);
	if (!before && old != BWL_NO_SLOT)
		r = bwl_drop_unused(p, old, e);
	return r ? r : tidy(p, x->b.pol, &x->ids, x->id, &x->b.gen, before, e);
}

/* What a killed writer left. What a trial gave up comes back to whose it was: no note is needed. */
static int settle(struct bwl_pins *p, const struct bwl_publish_opts *o, struct bwl_err *e)
{
	int r = bwl_settle_unused(p, e);

	if (!r || !o || !o->returns || !bwl_given_leave(p))
		return r;
	bwl_warn("%s; the way back goes on without it", e->text);
	return bwl_settle_unused(p, e);
}

/* Until the switch nothing has changed; after it only what is new in the policy is closed. */
static const char *what_stays(const struct publish *x, const struct bwl_pins *p)
{
	if (x->switched)
		return "the new policy is in force; limits and volumes that are new in it stay closed until it is applied again";
	if (bwl_active_slot(p) == BWL_NO_SLOT)
		return "still no policy is in force, and nothing passes";
	return "nothing of it is in force: the policy before stays";
}

int bwl_publish(struct bwl_pins *p, struct bwl_policy *pol, const struct bwl_publish_opts *o,
		struct bwl_publish_report *ret, struct bwl_err *e)
{
	struct bwl_publish_report rep = { .peers = (uint32_t)pol->npeers };
	uint64_t begin = bwl_now_ns();
	struct publish x = publish_new();
	const char *waived = NULL;
	int r;

	r = bwl_pins_lock(p, e);
	if (r)
		return r;
	r = o && o->returns ? 0 : bwl_trial_refuses(p, e);
	if (!r)
		r = settle(p, o, e);
	if (!r)
		r = bwl_gate_ask(p, pol, o, e);
	if (!r && !(o && o->returns)) /* the way back must stay open: bwl_silence_keep() */
		r = bwl_silence_refuses(p, pol, e);
	if (!r)
		r = prepare(&x, p, pol, o, &rep, e);
	if (!r) {
		waived = o && o->returns ? NULL : bwl_silence_waived(p, bwl_gen_old(&x.gens), pol);
		r = commit(&x, p, o, e);
	}
	if (!r && waived)
		bwl_warn("%s", waived);
	if (!r && p->ctl->ledger & BWL_LEDGER_FULL && (rep.added || rep.inherited))
		bwl_warn(
			"the ledger is full: the volumes of new names stay closed, with the reason ledger, until rows of others have ended (docs/ledger.md)");
	if (!r && ret) {
		rep.map_bytes = bwl_gen_bytes(&x.b.gen) +
				(x.gens.old.base ? bwl_gen_bytes(&x.gens.old) : 0);
		rep.seconds = (double)(bwl_now_ns() - begin) / 1e9;
		*ret = rep;
	}
	if (r)
		bwl_build_stays(e, what_stays(&x, p));
	publish_done(&x);
	return r;
}
