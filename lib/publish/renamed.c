// SPDX-License-Identifier: GPL-2.0-or-later
/* Stores new names of peers: see renamed.h. */
#include <stdio.h>
#include <string.h>
#include <bwl/publish.h>
#include <bwl/tables.h>
#include "renamed.h"

static void set_with(struct bwl_pins *p, uint32_t to)
{
	__atomic_store_n(&p->held[0].state, to, __ATOMIC_SEQ_CST);
}

static uint32_t active(const struct bwl_pins *p)
{
	return __atomic_load_n(&p->ctl->active, __ATOMIC_SEQ_CST) % BWL_SCHEDS;
}

void bwl_renamed_note(struct bwl_ids *ids, const struct bwl_policy *pol, const uint32_t *id)
{
	struct bwl_pins *p = ids->p;
	struct bwl_err e = { 0 };
	uint32_t state;
	size_t j;

	for (j = 0; j < pol->npeers; j++) {
		const char *name = pol->peers[j].name;

		if (!strncmp(p->name[id[j]].name, name, BWL_NAME_LEN))
			continue;
		set_with(p, 1 + (active(p) + 1) % BWL_SCHEDS);
		bwl_ids_extra(ids, BWL_X_RENAMED, name, id[j], 0, &state, &e);
	}
}

/*
 * If another name takes over the id of a revoked name, the old name gets an id of its own and stays
 * revoked. It may have one, of a writer that was killed here.
 */
static void keep_name(struct bwl_ids *ids, const struct bwl_gen *in_force, uint32_t of,
		      const char *name)
{
	struct bwl_pins *p = ids->p;
	struct bwl_err e = { 0 };
	uint32_t id = 1;

	while (id < p->schema.max_peers &&
	       (id == of || strncmp(p->name[id].name, name, BWL_NAME_LEN)))
		id++;
	if (id == p->schema.max_peers && bwl_ids_new(ids, name, &id, &e))
		bwl_warn("%s; a later policy that names it again does not find it revoked", e.text);
	else if (!bwl_body_at(p, in_force, id))
		p->gate[id].revoked = __atomic_add_fetch(&p->ctl->seq, 1, __ATOMIC_SEQ_CST);
}

bool bwl_renamed_store(struct bwl_ids *ids, const struct bwl_gen *in_force, uint32_t id,
		       const char *name)
{
	struct bwl_pins *p = ids->p;
	char before[BWL_NAME_LEN];

	if (!strncmp(p->name[id].name, name, BWL_NAME_LEN))
		return false;
	snprintf(before, sizeof(before), "%.31s", p->name[id].name);
	/* First: afterwards nobody knows the old name. */
	if (*before && bwl_is_revoked(p, in_force, id))
		keep_name(ids, in_force, id, before);
	snprintf(p->name[id].name, BWL_NAME_LEN, "%.31s", name);
	return true;
}

void bwl_renamed_forget(struct bwl_pins *p)
{
	for (uint32_t i = 0; i < p->schema.max_extras; i++)
		if (p->extra[i].kind == BWL_X_RENAMED)
			p->extra[i] = (struct bwl_extra){ 0 };
	set_with(p, 0);
}

/* What else a writer does then (bwl_retired_take()), the next policy's bwl_retired_prune() does. */
static int store_all(struct bwl_pins *p, struct bwl_err *e)
{
	struct bwl_ids ids = { 0 };
	struct bwl_gen g;
	int r = bwl_gen_open(p, bwl_active_slot(p), &g, e);

	if (r)
		return r;
	r = bwl_ids_open(p, &ids, e);
	for (uint32_t i = 0; !r && i < p->schema.max_extras; i++) {
		const struct bwl_extra *x = &p->extra[i];

		if (x->kind == BWL_X_RENAMED && bwl_body_at(p, &g, x->peer))
			bwl_renamed_store(&ids, &g, x->peer, x->name);
	}
	if (!r)
		bwl_names_note_all(p);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* revoke.c reads in the other order */
	bwl_ids_close(&ids);
	bwl_gen_close(&g);
	return r;
}

int bwl_renamed_settle(struct bwl_pins *p, struct bwl_err *e)
{
	int r = 0;

	if (!bwl_is_renaming(p))
		return 0;
	if (p->held[0].state == 1 + active(p) && bwl_active_slot(p) != BWL_NO_SLOT)
		r = store_all(p, e);
	if (!r)
		bwl_renamed_forget(p);
	return r;
}
