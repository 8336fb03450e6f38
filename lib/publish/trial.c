// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The two ends of a policy on trial. The way back is an ordinary publishing of the policy before
 * (publish.c), or of none.
 */
#include <errno.h>
#include <stdlib.h>
#include <bwl/cleanup.h>
#include "build.h"
#include "closed_prefixes.h"
#include <bwl/forget.h>
#include "given_up.h"
#include "in_force.h"

/* With the lock held. */
static int on_trial(struct bwl_pins *p, struct bwl_err *e)
{
	if (bwl_trial_ns(p))
		return 0;
	bwl_fail(e, ENOENT, "no policy is waiting to be confirmed");
	return bwl_hint(e, "bwlimit-ctl policy show says what is in force");
}

/*
 * The policy before will not return. What it has, was revoked on trial, and the policy on trial has
 * not, stays closed.
 */
static int settle_before(struct bwl_pins *p, struct bwl_err *e)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *pol = NULL;
	struct bwl_pfxset closed = { 0 };
	struct bwl_gens gens = { 0 };
	int r = bwl_gens_open(&gens, p, e);

	if (!r)
		r = bwl_gens_closed(&gens, p, &closed, e);
	if (!r)
		r = bwl_policy_read(p, &pol, e);
	if (!r)
		r = bwl_places_keep(p, &closed, pol, e);
	bwl_pfxset_free(&closed);
	bwl_gens_close(&gens);
	return r;
}

/* Names that only the policy before had, and that owe nothing: nobody has them any more. */
static int forget_names(struct bwl_pins *p, struct bwl_err *e)
{
	struct bwl_gens gens = { 0 };
	struct bwl_ids ids = { 0 };
	bool swept;
	int r = bwl_gens_open(&gens, p, e);

	if (!r)
		r = bwl_ids_open(p, &ids, e);
	if (!r)
		r = bwl_sweep(&ids, bwl_gen_old(&gens), NULL, &swept, e);
	bwl_ids_close(&ids);
	bwl_gens_close(&gens);
	return r;
}

int bwl_confirm(struct bwl_pins *p, struct bwl_err *e)
{
	int r;

	if (bwl_only_tightens(p))
		return bwl_gate_refuse(e, "the policy on trial would stay");
	r = bwl_pins_lock(p, e);
	if (!r)
		r = on_trial(p, e);
	if (!r && bwl_is_trial_over(p, bwl_now_ns()))
		r = bwl_trial_refuses(p, e);
	if (r)
		return r;
	r = settle_before(p, e);
	if (r)
		return r;
	__atomic_store_n(&bwl_in_force(p)->trial_ns, BWL_NEVER_NS, __ATOMIC_SEQ_CST);
	r = bwl_settle_unused(p, e);
	return r ? r : forget_names(p, e);
}

/* Every peer leaves: its prefixes keep what it has spent, and that it is revoked. */
static int all_leave(struct bwl_pins *p, struct bwl_err *e)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *none = bwl_policy_new();
	BWL_AUTO_FREE uint8_t *stays = bwl_must(calloc(p->schema.max_peers, 1));
	const struct bwl_publish_opts back = { .returns = true };
	struct bwl_publish_report rep = { 0 };
	struct bwl_pfxset closed = { 0 };
	struct bwl_heirs heirs = { 0 };
	struct bwl_gens gens = { 0 };
	struct bwl_ids ids = { 0 };
	uint32_t id[1] = { 0 };
	int r = forget_names(p, e);

	if (!r)
		r = bwl_gens_open(&gens, p, e);
	if (!r)
		r = bwl_retired_prune(p, bwl_gen_old(&gens), e);
	if (!r)
		r = bwl_ids_open(p, &ids, e);
	if (!r)
		r = bwl_heirs_assign(&ids, none, bwl_gen_old(&gens), &back, id, stays, &heirs, &rep,
				     e);
	if (!r)
		r = bwl_places_closed(p, bwl_gen_old(&gens), &closed, e);
	if (!r)
		r = bwl_places_keep_all(p, &closed, none, bwl_gen_old(&gens), NULL, e);
	bwl_pfxset_free(&closed);
	bwl_heirs_done(&heirs);
	bwl_ids_close(&ids);
	bwl_gens_close(&gens);
	return r;
}

/* Who leaves keeps what he has spent, but not what his zone has. */
static int note_zones(struct bwl_pins *p, const struct bwl_gen *was, struct bwl_err *e)
{
	struct bwl_ids ids = { 0 };
	int r = bwl_ids_open(p, &ids, e);

	if (!r)
		r = bwl_given_note(p, &ids, was, NULL, e);
	bwl_ids_close(&ids);
	return r;
}

/* The policy on trial was the first one: again none is in force. */
static int return_to_none(struct bwl_pins *p, struct bwl_err *e)
{
	struct bwl_gens gens = { 0 };
	int r = all_leave(p, e);

	if (!r)
		r = bwl_gens_open(&gens, p, e);
	if (r) {
		bwl_gens_close(&gens);
		bwl_build_stays(e, "the policy on trial is still there");
		return r;
	}
	bwl_given_begin(p);
	bwl_put_in_force(p, (struct bwl_sched){ BWL_NO_SLOT, BWL_NO_SLOT, BWL_NEVER_NS });
	bwl_enrolled_clear(p, BWL_GLASS_BROKEN);
	r = bwl_grace(p, e);
	if (!r) /* who was revoked meanwhile */
		r = bwl_places_settle(p, bwl_gen_old(&gens), NULL, e);
	if (!r)
		r = note_zones(p, bwl_gen_old(&gens), e);
	bwl_gens_close(&gens);
	if (!r)
		r = bwl_settle_unused(p, e);
	if (r)
		bwl_build_stays(e, "no policy is in force, and nothing passes");
	return r;
}

enum bwl_way_back bwl_way_back(const struct bwl_pins *p)
{
	return bwl_slot_before(p) != BWL_NO_SLOT ? BWL_BACK_TO_POLICY
	       : bwl_is_before_lost(p)           ? BWL_BACK_IS_LOST
						 : BWL_BACK_TO_NONE;
}

const char *bwl_way_back_words(enum bwl_way_back way)
{
	switch (way) {
	case BWL_BACK_TO_POLICY:
		return "the policy before is in force again";
	case BWL_BACK_TO_NONE:
		return "again no policy is in force, as before it";
	case BWL_BACK_IS_LOST:
		return "no policy is in force, and nothing passes: the policy before was lost when an earlier way back to it failed or was killed";
	}
	return NULL;
}

int bwl_rollback(struct bwl_pins *p, struct bwl_err *e)
{
	const struct bwl_publish_opts o = { .allowed = true, .of_maps = true, .returns = true };
	BWL_AUTO(bwl_policy_free) struct bwl_policy *pol = NULL;
	int r = bwl_pins_lock(p, e);

	if (!r)
		r = on_trial(p, e);
	if (r)
		return r;
	if (bwl_slot_before(p) == BWL_NO_SLOT)
		return return_to_none(p, e);
	r = bwl_policy_read_slot(p, bwl_slot_before(p), &pol, e);
	return r ? r : bwl_publish(p, pol, &o, NULL, e);
}
