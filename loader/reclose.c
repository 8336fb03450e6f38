// SPDX-License-Identifier: GPL-2.0-or-later
/* See reclose.h. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <bwl/publish.h>
#include <bwl/tables.h>
#include "reclose.h"

#define LOOKS 20 /* of 100 ms: bwlimitd checks its pins every second */

static void raise(uint32_t *word, uint32_t to)
{
	uint32_t is = __atomic_load_n(word, __ATOMIC_SEQ_CST);

	while (is < to && !__atomic_compare_exchange_n(word, &is, to, false, __ATOMIC_SEQ_CST,
						       __ATOMIC_SEQ_CST))
		;
}

static void look_at_ctl(struct bwl_reclose *c)
{
	struct bwl_ctl old = { 0 };
	struct bwl_pins *p = c->p;

	if (!bwl_relayout_entry(c->x, BWL_PIN_ctl, 0, &old, sizeof(old)))
		return;
	raise(&p->ctl->seq, old.seq); /* a grant's number must be above both maps' marks */
	if (old.stop == BWL_STOPPED && !c->stopped)
		__atomic_store_n(&p->ctl->stop, BWL_STOPPED, __ATOMIC_SEQ_CST);
	c->stopped = old.stop == BWL_STOPPED;
	if (old.revoked_all != c->all)
		bwl_revoke(p, NULL, NULL);
	c->all = old.revoked_all;
	if (old.heartbeat_ns == BWL_CLAMPED_NS && !c->clamped && !bwl_clamp(p))
		bwl_revoke(p, NULL, NULL); /* like bwlimitd if the policy has no heartbeat */
	c->clamped = old.heartbeat_ns == BWL_CLAMPED_NS;
}

static uint32_t mark_of(const struct bwl_reclose *c, uint32_t id)
{
	struct bwl_peer_ref old = { 0 };

	if (c->x->fate[BWL_PIN_gate] != BWL_CHANGES)
		return __atomic_load_n(&c->p->gate[id].revoked, __ATOMIC_SEQ_CST);
	return bwl_relayout_entry(c->x, BWL_PIN_gate, id, &old, sizeof(old)) ? old.revoked : 0;
}

/*
 * Also if the gates stay: with a new bwl_ctl_v1 a mark may have been numbered by the old one, and a
 * grant since then may have a higher number.
 */
static void look_at_gates(struct bwl_reclose *c)
{
	uint32_t id, mark;

	for (id = 1; id < c->p->schema.max_peers; id++) {
		mark = mark_of(c, id);
		if (mark == c->peer[id])
			continue;
		/* An id belongs to its name: nobody changes that without the lock. */
		if (mark && *c->p->name[id].name)
			bwl_revoke(c->p, c->p->name[id].name, NULL);
		c->peer[id] = mark_of(c, id);
	}
}

void bwl_reclose_look(struct bwl_reclose *c)
{
	if (c->x->fate[BWL_PIN_ctl] == BWL_CHANGES)
		look_at_ctl(c);
	look_at_gates(c);
}

int bwl_reclose_begin(const struct bwl_relayout *x, struct bwl_pins *p, struct bwl_reclose *ret,
		      struct bwl_err *e)
{
	uint32_t i;

	*ret = (struct bwl_reclose){ .p = p };
	if (x->fate[BWL_PIN_ctl] != BWL_CHANGES && x->fate[BWL_PIN_gate] != BWL_CHANGES)
		return 0;
	ret->x = x;
	ret->all = p->ctl->revoked_all; /* as it was copied */
	ret->peer = calloc(p->schema.max_peers, sizeof(*ret->peer));
	if (!ret->peer)
		return bwl_fail(e, ENOMEM, "out of memory");
	for (i = 0; i < p->schema.max_peers; i++)
		ret->peer[i] = p->gate[i].revoked;
	bwl_reclose_look(ret);
	return 0;
}

void bwl_reclose_end(struct bwl_reclose *c)
{
	struct timespec nap = { .tv_nsec = 100000000 };
	unsigned i;

	for (i = 0; c->x && i < LOOKS; i++) {
		bwl_reclose_look(c);
		nanosleep(&nap, NULL);
	}
	if (c->x)
		bwl_reclose_look(c);
}

void bwl_reclose_free(struct bwl_reclose *c)
{
	free(c->peer);
	*c = (struct bwl_reclose){ 0 };
}
