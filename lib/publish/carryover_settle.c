/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settles what a killed writer left on the record (carryover_record.h). */
#include <errno.h>
#include <bwl/publish.h>
#include "carryover_record.h"
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

int bwl_held_settle(struct bwl_pins *p, struct bwl_err *e)
{
	int r;

	if (!bwl_is_held(p) && !bwl_is_renaming(p))
		return 0;
	r = bwl_pins_whole(p, e);
	if (!r && bwl_is_held(p))
		r = settle_accounts(p, e);
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
