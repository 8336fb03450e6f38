/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Closed prefixes: see closed_prefixes.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bwl/map_io.h>
#include "takeover.h"
#include "closed_prefixes.h"

#define CLOSED 1 /* the value stored, whichever id left it */

struct collect {
	struct bwl_pins *p;
	const struct bwl_gen *old;
	struct bwl_pfxset *set;
	uint8_t *revoked; /* by id: 0 not checked yet, 1 no, 2 yes */
};

static bool is_revoked(struct collect *c, uint32_t id)
{
	if (!id || id >= c->p->schema.max_peers)
		return false;
	if (!c->revoked[id])
		c->revoked[id] = bwl_is_revoked(c->p, c->old, id) ? 2 : 1;
	return c->revoked[id] == 2;
}

static int note(const struct bwl_pfx *pfx, uint32_t id, void *arg)
{
	struct collect *c = arg;

	if (is_revoked(c, id))
		bwl_pfxset_add(c->set, pfx, id);
	return 0;
}

static bool any_revoked(struct collect *c)
{
	uint32_t i;

	for (i = 1; i < c->p->schema.max_peers; i++)
		if (c->p->name[i].name[0] && is_revoked(c, i))
			return true;
	return false;
}

int bwl_places_closed(struct bwl_pins *p, const struct bwl_gen *old, struct bwl_pfxset *ret,
		      struct bwl_err *e)
{
	struct collect c = {
		.p = p, .old = old, .set = ret, .revoked = calloc(p->schema.max_peers, 1)
	};
	struct bwl_key_retired key, *at = NULL;
	int fd = p->fd[BWL_PIN_retired], r = 0;
	struct bwl_pfx pfx;
	uint32_t id;

	if (!c.revoked)
		return bwl_fail(e, ENOMEM, "out of memory");
	while (!(r = bwl_map_next(fd, at, &key))) {
		at = &key;
		r = bwl_map_get(fd, &key, &id);
		if (r == -ENOENT)
			continue;
		if (r)
			break;
		pfx = bwl_retired_pfx(&key);
		if (key.closed)
			bwl_pfxset_add(ret, &pfx, 0);
		else
			note(&pfx, id, &c);
	}
	if (r == -ENOENT)
		r = 0;
	if (!r && old && any_revoked(&c)) /* skip the walk over up to a million prefixes if nothing
					   * is revoked */
		r = bwl_dest_each(old, note, &c);
	free(c.revoked);
	bwl_pfxset_sort(ret);
	if (!r)
		return 0;
	bwl_fail(e, -r, "cannot read the destinations: %s", strerror(-r));
	return bwl_map_tried(e);
}

/*
 * The peer that has the prefix now, or the prefix around it: the same lookup as in the data plane.
 */
static uint32_t holder(const struct bwl_gen *g, const struct bwl_pfx *q)
{
	uint32_t len = q->len, bits = q->family == 4 ? 32 : 128, id = 0;
	uint8_t key[20] = { 0 };

	if (len == bits)
		return bwl_lookup_dest(g, q->family, q->addr);
	memcpy(key, &len, 4);
	memcpy(key + 4, q->addr, q->family == 4 ? 4 : 16);
	return bwl_map_get(q->family == 4 ? g->lpm4 : g->lpm6, key, &id) ? 0 : id;
}

static bool is_open(const struct bwl_pfx *narrow, const struct bwl_pfxset_item *closed, void *arg)
{
	const struct collect *c = arg;
	uint32_t id = c->old ? holder(c->old, narrow) : 0;

	(void)closed;
	return id && id < c->p->schema.max_peers && !bwl_is_revoked(c->p, c->old, id);
}

bool *bwl_places_taken(struct bwl_pins *p, const struct bwl_gen *old,
		       const struct bwl_pfxset *closed, const struct bwl_policy *pol)
{
	bool *taken = calloc(pol->npeers + 1, sizeof(*taken));
	struct collect c = { .p = p, .old = old };

	if (taken)
		bwl_closed_find(closed, pol, is_open, &c, taken);
	return taken;
}

int bwl_places_keep(struct bwl_pins *p, const struct bwl_pfxset *closed,
		    const struct bwl_policy *pol, struct bwl_err *e)
{
	struct bwl_pfxset held = { 0 };
	uint32_t value = CLOSED;
	size_t i;
	int r = 0;

	if (!closed->n)
		return 0;
	if (pol)
		bwl_policy_prefixes(pol, &held);
	for (i = 0; !r && i < closed->n; i++) {
		struct bwl_key_retired k = bwl_retired_key(&closed->item[i].pfx, true);

		if (!bwl_pfxset_exact(&held, &closed->item[i].pfx))
			r = bwl_map_put(p->fd[BWL_PIN_retired], &k, &value, 0);
	}
	bwl_pfxset_free(&held);
	if (r == -E2BIG) {
		bwl_fail(
			e, -r,
			"no room to keep the prefixes of revoked peers that leave: all %u places are taken",
			p->schema.max_peers);
		return bwl_hint(e,
				"bwlimit-load attach --max-peers N with a larger N after a detach");
	}
	return r ? bwl_map_refused(e, -r,
				   &(struct bwl_map_place){ .map = bwl_pin_name(BWL_PIN_retired),
							    .what = "to keep a prefix closed",
							    .at = i,
							    .of = closed->n })
		 : 0;
}

/* Removes those that id has in g; 0: that anybody has who is revoked. */
static void remove_held(struct bwl_pins *p, const struct bwl_gen *g, uint32_t id)
{
	struct bwl_key_retired key, next;
	int fd = p->fd[BWL_PIN_retired];
	struct bwl_pfx pfx;
	uint32_t at;
	bool more = !bwl_map_next(fd, NULL, &next);

	while (more) {
		key = next;
		more = !bwl_map_next(fd, &key, &next); /* before key is deleted */
		if (!key.closed)
			continue;
		pfx = bwl_retired_pfx(&key);
		at = holder(g, &pfx);
		if (id ? at == id : at && at < p->schema.max_peers && bwl_is_revoked(p, g, at))
			bwl_map_delete(fd, &key);
	}
}

void bwl_places_open(struct bwl_pins *p, const struct bwl_gen *g, uint32_t id)
{
	if (id)
		remove_held(p, g, id);
}

void bwl_places_prune(struct bwl_pins *p, const struct bwl_gen *old)
{
	if (old)
		remove_held(p, old, 0);
}
