// SPDX-License-Identifier: GPL-2.0-or-later
/* Settles what a killed writer left on the record (carryover_record.h). */
#include <errno.h>
#include <unistd.h>
#include <bwl/carryover_record.h>
#include <bwl/inner.h>
#include <bwl/map_io.h>
#include <bwl/publish.h>
#include "closed_prefixes.h"
#include "given_up.h"
#include "in_force.h"
#include "renamed.h"

/* The new policy never came into force: restores each account. */
static void undo(struct bwl_carryover *c)
{
	for (uint32_t i = 0; i < c->nitems; i++) {
		struct bwl_carryover_item *x = &c->item[i];

		x->nfrom = 0;
		if (x->unknown)
			c->ids->p->mark[x->v.state].unknown_bytes = 0;
		x->unknown = false;
	}
}

static int settle_accounts(struct bwl_pins *p, struct bwl_err *e)
{
	struct bwl_carryover c = { 0 };
	struct bwl_ids ids;
	int r;

	r = bwl_ids_open(p, &ids, e);
	if (r)
		return r;
	c.ids = &ids;
	r = bwl_held_read(p, &c, e);
	if (!r)
		r = bwl_grace(p, e);
	if (!r && p->held[0].put == p->ctl->active)
		undo(&c);
	if (!r)
		bwl_carryover_settle(&c);
	bwl_carryover_done(&c);
	bwl_ids_close(&ids);
	return r == -EPROTO ? 0 : r;
}

/* What was in force before the last switch, if anything of it is left: ret->base. */
static int open_was(struct bwl_pins *p, struct bwl_gen *ret, struct bwl_err *e)
{
	uint32_t last = (p->ctl->active + BWL_SCHEDS - 1) % BWL_SCHEDS;
	uint32_t slot = p->ctl->sched[last].slot;
	int fd, r;

	*ret = (struct bwl_gen){ 0 };
	if (slot == BWL_NO_SLOT)
		return 0;
	fd = bwl_inner_open(p->dir, p->fd[BWL_PIN_base], slot, p->copied);
	if (fd >= 0)
		close(fd);
	if (fd == -ENOENT)
		return 0;
	r = bwl_gen_open(p, slot, ret, e);
	if (!r || bwl_map_passes(-r))
		return r;
	*ret = (struct bwl_gen){ 0 };
	bwl_warn(
		"%s: what was owed for prefixes that peers gave up is lost, and who was revoked just before the policy in force",
		e->text);
	return 0; /* it never will be there: no reason to refuse what comes next */
}

/* What a writer does after the switch, of whom one was killed then. */
static int settle_switch(struct bwl_pins *p, struct bwl_err *e)
{
	bool none = bwl_active_slot(p) == BWL_NO_SLOT;
	struct bwl_gen was = { 0 }, now = { 0 };
	struct bwl_ids ids = { 0 };
	int r = none ? 0 : bwl_gen_open(p, bwl_active_slot(p), &now, e);

	if (r)
		return r;
	r = open_was(p, &was, e);
	if (!r && was.base) /* packets may still be charged by it */
		r = bwl_grace(p, e);
	if (!r && was.base)
		r = bwl_places_settle(p, &was, none ? NULL : &now, e);
	if (!r)
		r = bwl_ids_open(p, &ids, e);
	if (!r)
		r = bwl_given_note(p, &ids, was.base ? &was : NULL, none ? NULL : &now, e);
	bwl_ids_close(&ids);
	if (was.base)
		bwl_gen_close(&was);
	if (now.base)
		bwl_gen_close(&now);
	return r;
}

int bwl_held_settle(struct bwl_pins *p, struct bwl_err *e)
{
	int r;

	if (!bwl_is_unsettled(p))
		return 0;
	r = bwl_pins_whole(p, e);
	if (!r && bwl_is_held(p))
		r = settle_accounts(p, e);
	if (!r && bwl_given_is_due(p))
		r = settle_switch(p, e);
	if (!r)
		bwl_given_leave(p);
	return r ? r : bwl_renamed_settle(p, e);
}

int bwl_settle_held(const char *pin_dir, struct bwl_err *e)
{
	struct bwl_pins *p;
	int r = bwl_pins_open(pin_dir, true, &p, e);

	if (r)
		return r;
	r = bwl_pins_lock(p, e);
	if (!r)
		r = bwl_held_settle(p, e);
	bwl_pins_close(p);
	return r;
}
