// SPDX-License-Identifier: GPL-2.0-or-later
/* Peers of a generation: finding them by name, their entries, and whether they are revoked. */
#include <string.h>
#include <bwl/tables.h>

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)

uint32_t bwl_body_at(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id)
{
	uint32_t at;

	if (!g || !id || id >= p->schema.max_peers || bwl_pins_touch(p, BWL_PIN_gate, id))
		return 0;
	at = LOAD(*bwl_body_of(&p->gate[id], g->slot));
	return at && at < g->npeers ? at : 0;
}

const struct bwl_peer *bwl_body(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id)
{
	uint32_t at = bwl_body_at(p, g, id);

	return at && !bwl_gen_touch(g, at, 0) ? &g->peer[at] : NULL;
}

static const struct bwl_limit *sub_at(const struct bwl_gen *g, uint32_t at)
{
	return at && at < g->nsubs && !bwl_gen_touch(g, 0, at) ? &g->sub[at] : NULL;
}

const struct bwl_limit *bwl_gen_tenant(const struct bwl_gen *g, const struct bwl_peer *body,
				       uint32_t port)
{
	const struct bwl_peer_meta *m = &body->meta;
	const struct bwl_tenants *t;

	if (!(m->class_mask & BWL_HAS_TENANTS))
		return NULL;
	t = (const struct bwl_tenants *)sub_at(g, m->sub_base - 1);
	if (!t || !(t->ports >> port & 1))
		return NULL;
	return sub_at(g, bwl_tenant_index(t, m->sub_base, port));
}

const struct bwl_limit *bwl_portion_limit(const struct bwl_gen *g, const struct bwl_peer *body)
{
	return sub_at(g, body ? bwl_portion_sub(&body->meta) : 0);
}

const struct bwl_limit *bwl_accept_limit(const struct bwl_gen *g, const struct bwl_peer *body)
{
	return sub_at(g, bwl_accept_sub(&body->meta));
}

bool bwl_revoked_since(const struct bwl_pins *p, uint32_t id, uint32_t grant_seq)
{
	return bwl_is_revoked_by(grant_seq, LOAD(p->gate[id].revoked)) ||
	       bwl_is_revoked_by(grant_seq, LOAD(p->ctl->revoked_all));
}

void bwl_revoked_raise(uint32_t *revoked, uint32_t number)
{
	uint32_t was = LOAD(*revoked);

	while (was < number && !__atomic_compare_exchange_n(revoked, &was, number, false,
							    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

uint32_t bwl_peer_id(const struct bwl_pins *p, const struct bwl_gen *g, const char *name)
{
	uint32_t i = bwl_name_id(p, name);

	if (i && bwl_body_at(p, g, i))
		return i;
	if (bwl_pins_whole((struct bwl_pins *)(uintptr_t)p, NULL))
		return 0;
	for (i = 1; i < p->schema.max_peers; i++)
		if (bwl_body_at(p, g, i) && !strncmp(p->name[i].name, name, BWL_NAME_LEN))
			return i;
	return 0;
}

bool bwl_is_revoked(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id)
{
	const struct bwl_peer *body = bwl_body(p, g, id);

	if (!body)
		return LOAD(p->gate[id].revoked) != 0;
	/* Even if the previous policy gave it no grant: only `grant` authorises it again. */
	return bwl_revoked_since(p, id, body->meta.grant_seq);
}

bool bwl_is_held(const struct bwl_pins *p)
{
	return LOAD(p->held[0].own);
}

bool bwl_is_renaming(const struct bwl_pins *p)
{
	return LOAD(p->held[0].state);
}

bool bwl_is_unsettled(const struct bwl_pins *p)
{
	return bwl_is_held(p) || bwl_is_renaming(p) || LOAD(p->held[0].window);
}

bool bwl_is_stopped(const struct bwl_pins *p)
{
	uint32_t is = LOAD(p->ctl->stop);

	return is == BWL_STOPPED || is == BWL_STOPPED_UNJUDGED;
}
