// SPDX-License-Identifier: GPL-2.0-or-later
/* Closed prefixes: see closed_prefixes.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bwl/cleanup.h>
#include <bwl/map_io.h>
#include <bwl/tables.h>
#include "given_up.h"
#include "takeover.h"
#include "closed_prefixes.h"

#define CLOSED 1 /* the value stored, whichever id left it */

struct collect {
	struct bwl_pins *p;
	const struct bwl_gen *old;
	struct bwl_pfxset *set;
	uint32_t since;   /* not 0: only who was revoked after that number */
	uint8_t *revoked; /* by id: 0 not checked yet, 1 no, 2 yes */
};

static bool is_revoked_since(const struct collect *c, uint32_t id)
{
	const uint32_t *all = &c->p->ctl->revoked_all;

	return bwl_is_revoked_by(c->since,
				 __atomic_load_n(&c->p->gate[id].revoked, __ATOMIC_SEQ_CST)) ||
	       (bwl_body_at(c->p, c->old, id) &&
		bwl_is_revoked_by(c->since, __atomic_load_n(all, __ATOMIC_SEQ_CST)));
}

static bool is_revoked(struct collect *c, uint32_t id)
{
	if (!id || id >= c->p->schema.max_peers)
		return false;
	if (!c->revoked[id])
		c->revoked[id] =
			(c->since ? is_revoked_since(c, id) : bwl_is_revoked(c->p, c->old, id)) ? 2
												: 1;
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

static int places_closed(struct bwl_pins *p, const struct bwl_gen *old, uint32_t since,
			 const bool *back, struct bwl_pfxset *ret, struct bwl_err *e)
{
	struct collect c = { .p = p,
			     .old = old,
			     .set = ret,
			     .since = since,
			     .revoked = calloc(p->schema.max_peers, 1) };
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
		if (key.closed && !since)
			bwl_pfxset_add(ret, &pfx, 0);
		else if (!key.closed && !(back && id < p->schema.max_peers && back[id]))
			note(&pfx, id, &c);
	}
	if (r == -ENOENT)
		r = 0;
	/* skip the walk over up to a million prefixes if nothing is revoked */
	if (!r && old && any_revoked(&c))
		r = bwl_dest_each(old, note, &c);
	free(c.revoked);
	bwl_pfxset_sort(ret);
	if (!r)
		return 0;
	bwl_fail(e, -r, "cannot read the destinations: %s", strerror(-r));
	return bwl_map_tried(e);
}

int bwl_places_closed(struct bwl_pins *p, const struct bwl_gen *old, struct bwl_pfxset *ret,
		      struct bwl_err *e)
{
	return places_closed(p, old, 0, NULL, ret, e);
}

static bool is_open(const struct bwl_pfx *narrow, const struct bwl_pfxset_item *closed, void *arg)
{
	const struct collect *c = arg;
	uint32_t id = c->old ? bwl_lookup_pfx(c->old, narrow) : 0;

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

/* rest: what finds no room is added, and the others are kept; NULL: it ends there. */
static int keep(struct bwl_pins *p, const struct bwl_pfxset *closed, const struct bwl_policy *pol,
		struct bwl_pfxset *rest, struct bwl_err *e)
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
		if (r == -E2BIG && rest) {
			bwl_pfxset_add(rest, &closed->item[i].pfx, closed->item[i].value);
			r = 0;
		}
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

int bwl_places_keep(struct bwl_pins *p, const struct bwl_pfxset *closed,
		    const struct bwl_policy *pol, struct bwl_err *e)
{
	return keep(p, closed, pol, NULL, e);
}

static void warn_lost(const struct bwl_pins *p, const struct bwl_pfxset *lost)
{
	BWL_AUTO_FREE bool *said = bwl_must(calloc(p->schema.max_peers, sizeof(*said)));

	for (size_t i = 0; i < lost->n; i++) {
		uint32_t id = (uint32_t)lost->item[i].value;

		if (id >= p->schema.max_peers || said[id])
			continue;
		said[id] = true;
		bwl_warn(
			"%.*s is revoked, and there is no room to keep its prefixes closed: all %u places are taken; whoever gets them by a later policy is open (bwlimit-load attach --max-peers N with a larger N after a detach)",
			BWL_NAME_LEN, p->name[id].name, p->schema.max_peers);
	}
}

int bwl_places_keep_all(struct bwl_pins *p, const struct bwl_pfxset *closed,
			const struct bwl_policy *pol, const struct bwl_gen *was,
			const struct bwl_gen *now, struct bwl_err *e)
{
	struct bwl_pfxset rest = { 0 }, lost = { 0 };
	int r = keep(p, closed, pol, &rest, e);

	if (!r && rest.n)
		r = bwl_given_make_room(p, was, now, rest.n, e);
	if (!r)
		r = keep(p, &rest, pol, &lost, e);
	if (!r)
		warn_lost(p, &lost);
	bwl_pfxset_free(&rest);
	bwl_pfxset_free(&lost);
	return r;
}

/* The number that its writer took before he read revocations. 0: it opens nobody. */
static uint32_t built_at(const struct bwl_pins *p, const struct bwl_gen *g)
{
	const struct bwl_peer *body;
	uint32_t seq = 0;

	for (uint32_t i = 1; g && i < p->schema.max_peers; i++) {
		body = bwl_body(p, g, i);
		if (body && seq < body->meta.grant_seq)
			seq = body->meta.grant_seq;
	}
	return seq;
}

/*
 * By id: it is in the policy by its name, so what it had before it left is not its own any more.
 * Not who has a new name, which is not stored yet: that one has taken it over.
 */
static bool *came_back(const struct bwl_pins *p, const struct bwl_gen *now,
		       const struct bwl_policy *pol)
{
	bool *back = bwl_must(calloc(p->schema.max_peers, sizeof(*back)));

	for (size_t i = 0; pol && i < pol->npeers; i++) {
		uint32_t id = bwl_name_id(p, pol->peers[i].name);

		back[id] = bwl_body_at(p, now, id);
	}
	return back;
}

int bwl_places_settle(struct bwl_pins *p, const struct bwl_gen *was, const struct bwl_gen *now,
		      struct bwl_err *e)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *pol = NULL;
	BWL_AUTO_FREE bool *taken = NULL, *back = NULL;
	struct bwl_pfxset closed = { 0 };
	int r = now ? bwl_policy_read(p, &pol, e) : 0;
	uint32_t id;

	if (r)
		return r;
	back = came_back(p, now, pol);
	r = places_closed(p, was, built_at(p, now), back, &closed, e);
	if (!r && pol)
		taken = bwl_must(bwl_places_taken(p, was, &closed, pol));
	for (size_t i = 0; !r && pol && i < pol->npeers; i++) {
		id = taken[i] ? bwl_peer_id(p, now, pol->peers[i].name) : 0;
		if (!id || bwl_is_revoked(p, now, id))
			continue;
		bwl_revoked_raise(&p->gate[id].revoked,
				  __atomic_add_fetch(&p->ctl->seq, 1, __ATOMIC_SEQ_CST));
		bwl_warn(
			"%s is closed: it has prefixes of a peer that was revoked before what a killed writer left was settled (bwlimit-ctl grant %s opens it)",
			pol->peers[i].name, pol->peers[i].name);
	}
	if (!r)
		r = bwl_places_keep_all(p, &closed, pol, was, now, e);
	bwl_pfxset_free(&closed);
	return r;
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
		at = bwl_lookup_pfx(g, &pfx);
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
