/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peers of a generation: by name, their entries, and whether they are revoked. */
#include <string.h>
#include <bwl/tables.h>

uint32_t bwl_peer_id(const struct bwl_pins *p, const struct bwl_gen *g, const char *name)
{
	uint32_t i;

	for (i = 1; i < p->schema.max_peers; i++)
		if (p->gate[i].slot[g->slot] && !strncmp(p->name[i].name, name, BWL_NAME_LEN))
			return i;
	return 0;
}

const struct bwl_peer *bwl_peer_body(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id)
{
	uint32_t at = g ? __atomic_load_n(&p->gate[id].slot[g->slot], __ATOMIC_SEQ_CST) : 0;

	return at && at < g->npeers ? &g->peer[at] : NULL;
}

bool bwl_is_revoked(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id)
{
	const struct bwl_peer *body = bwl_peer_body(p, g, id);
	uint32_t mark = __atomic_load_n(&p->gate[id].revoked, __ATOMIC_SEQ_CST);

	if (!body)
		return mark != 0;
	/* Also where the policy before gave it no grant: only `grant` authorises again. */
	return body->meta.grant_seq <= mark || body->meta.grant_seq <= p->ctl->revoked_all;
}

bool bwl_is_held(const struct bwl_pins *p)
{
	return __atomic_load_n(&p->held[0].own, __ATOMIC_SEQ_CST);
}
