// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds which peer takes over which other peer's prefixes: see takeover.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bwl/closed_peers.h>
#include <bwl/map_io.h>
#include <bwl/pfxset.h>
#include "takeover.h"

/*
 * For each prefix of a peer that may have to be followed: its id, whether its name is missing from
 * the new policy, and above both a rising number, so that of equal prefixes the one noted first
 * sorts first.
 */
#define PLACE(n, gone, id) ((uint64_t)(n) << 33 | (uint64_t)(gone) << 32 | (id))
#define PLACE_ID(value) ((uint32_t)(value))
#define PLACE_GONE(value) ((value) >> 32 & 1)

struct places {
	struct bwl_ids *ids;
	const struct bwl_gen *old;
	uint32_t *index; /* by id: peer of pol + 1 */
	const uint8_t *stays;
	uint8_t *why;  /* by id: 0 not checked yet, otherwise enum why + 1 */
	bool any_new;  /* the policy has names that are not in force */
	bool zones;    /* it has other zones than the one in force */
	bool trial;    /* ids keep their names, because the policy before needs them again */
	bool returns;  /* needs no room: what finds none is noted as given up (given_up.h) */
	uint64_t kept; /* prefixes of peers that leave, written so far */
	struct bwl_pfxset set, now; /* now: every prefix of pol, by its peer */
};

enum why { WHY_NOT, WHY_ZONE, WHY_ACCOUNT };

struct bwl_key_retired bwl_retired_key(const struct bwl_pfx *pfx, bool closed)
{
	struct bwl_key_retired k = { .family = pfx->family, .len = pfx->len, .closed = closed };

	memcpy(k.addr, pfx->addr, pfx->family == 4 ? 4 : 16);
	return k;
}

struct bwl_pfx bwl_retired_pfx(const struct bwl_key_retired *k)
{
	struct bwl_pfx p = { .family = k->family, .len = k->len };

	memcpy(p.addr, k->addr, k->family == 4 ? 4 : 16);
	return p;
}

static bool counts(const struct bwl_limit *l)
{
	return l->volume.spendable_bytes != BWL_VOLUME_NONE;
}

/* Does a peer have anything that another one could escape by taking its prefixes? */
static enum why why_follow(const struct bwl_ids *ids, const struct bwl_gen *old, uint32_t id)
{
	const struct bwl_peer *b = bwl_body(ids->p, old, id);
	const struct bwl_limit *tenant, *zone;
	uint32_t i, n;

	if (bwl_is_revoked(ids->p, old, id) || bwl_ids_owes(ids, id))
		return WHY_ACCOUNT;
	if (!b)
		return WHY_NOT;
	for (i = 0; i < BWL_MAX_PORTS; i++) {
		tenant = bwl_gen_tenant(old, b, i);
		if (tenant && counts(tenant))
			return WHY_ACCOUNT;
	}
	n = bwl_bits(b->meta.class_mask & ~BWL_HAS_TENANTS);
	if (counts(&b->grant) || bwl_accept_sub(&b->meta) ||
	    (b->grant.volume.floor && counts(&old->sub[b->grant.volume.floor])))
		return WHY_ACCOUNT;
	for (i = 0; i < n; i++)
		if (counts(&old->sub[b->meta.sub_base + i]))
			return WHY_ACCOUNT;
	if (!b->meta.zone)
		return WHY_NOT;
	zone = &old->base->zone[b->meta.zone].limit;
	return counts(zone) || bwl_ids_spent(ids, zone->volume.state) ? WHY_ZONE : WHY_NOT;
}

static void add_place(struct places *x, const struct bwl_pfx *pfx, uint32_t id, bool gone)
{
	bwl_pfxset_add(&x->set, pfx, PLACE(x->set.n, gone, id));
}

static int note_old(const struct bwl_pfx *pfx, uint32_t id, void *arg)
{
	struct places *x = arg;
	struct bwl_key_retired k;
	bool gone;
	int r;

	if (!id || id >= x->ids->p->schema.max_peers)
		return 0;
	gone = !x->stays[id];
	if (!gone && !x->any_new && !x->zones)
		return 0;
	if (!x->why[id])
		x->why[id] = (uint8_t)(1 + why_follow(x->ids, x->old, id));
	if (x->why[id] == 1 + WHY_NOT)
		return 0;
	if (gone && x->why[id] == 1 + WHY_ACCOUNT) {
		k = bwl_retired_key(pfx, false);
		r = bwl_map_put(x->ids->p->fd[BWL_PIN_retired], &k, &id, 0);
		if (r && (r != -E2BIG || !x->returns))
			return r;
		x->kept += !r;
	}
	add_place(x, pfx, id, gone);
	return 0;
}

int bwl_retired_each(const struct bwl_pins *p, bwl_dest_fn fn, void *arg)
{
	struct bwl_key_retired key, *at = NULL;
	int fd = p->fd[BWL_PIN_retired], r;
	struct bwl_pfx pfx;
	uint32_t id;

	while (!(r = bwl_map_next(fd, at, &key))) {
		at = &key;
		r = key.closed ? -ENOENT : bwl_map_get(fd, &key, &id);
		if (!r) {
			pfx = bwl_retired_pfx(&key);
			r = fn(&pfx, id, arg);
		}
		if (r && r != -ENOENT)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}

/* One that left with an earlier policy. */
static int note_retired(const struct bwl_pfx *pfx, uint32_t id, void *arg)
{
	struct places *x = arg;

	if (id && id < x->ids->p->schema.max_peers && !bwl_body(x->ids->p, x->old, id))
		add_place(x, pfx, id, !x->stays[id]);
	return 0;
}

struct found {
	const struct places *x;
	const struct bwl_pfx *q; /* the peer's prefix that is looked up */
	struct bwl_heirs *h;
	uint32_t peer;
	bool new_name; /* not in force: new, or it comes back */
	bool has_id;
	const uint8_t *stays;
	uint32_t exact; /* id to take over */
};

/* A peer that keeps its prefix keeps the account, even if another peer now has a wider prefix. */
static bool keeps(const struct places *x, const struct bwl_pfxset_item *at)
{
	uint32_t id = PLACE_ID(at->value);
	const struct bwl_pfxset_item *now;

	if (PLACE_GONE(at->value) || !x->index[id])
		return false;
	now = bwl_pfxset_exact(&x->now, &at->pfx);
	return now && now->value == x->index[id] - 1;
}

/* Adjacent prefixes often belong to one peer: it is added once. */
static int add_pair(struct bwl_heir **pair, size_t *n, uint32_t peer, uint32_t of)
{
	struct bwl_heir *more;

	if (*n && (*pair)[*n - 1].peer == peer && (*pair)[*n - 1].of == of)
		return 0;
	if (!*n || !(*n & (*n - 1))) {
		more = reallocarray(*pair, *n ? 2 * *n : 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		*pair = more;
	}
	(*pair)[(*n)++] = (struct bwl_heir){ .peer = peer, .of = of };
	return 0;
}

/* Was it this peer's, and not that of one with a narrower prefix? */
static bool had(const struct places *x, const struct bwl_pfx *narrow, uint32_t id)
{
	return bwl_lookup_pfx(x->old, narrow) == id;
}

static int found_one(const struct bwl_pfxset_item *at, void *arg)
{
	struct found *f = arg;
	struct bwl_heirs *h = f->h;
	uint32_t id = PLACE_ID(at->value);
	bool exact = at->pfx.len == f->q->len;

	/*
	 * A prefix that moves between two names which both stay uses another account: nothing is
	 * inherited, except by a new zone.
	 */
	if (!PLACE_GONE(at->value) && !f->new_name && !f->x->zones)
		return 0;
	if (at->pfx.len > f->q->len && keeps(f->x, at))
		return 0;
	if (!PLACE_GONE(at->value) && !f->new_name)
		return had(f->x, exact || at->pfx.len > f->q->len ? &at->pfx : f->q, id)
			       ? add_pair(&h->moved, &h->nmoved, f->peer, id)
			       : 0;
	if (exact && !f->has_id && !f->exact && !f->stays[id])
		f->exact = id;
	return add_pair(&h->pair, &h->n, f->peer, id);
}

/* A peer does not inherit from itself. */
static void drop_self(struct bwl_heirs *h, size_t from, uint32_t id)
{
	size_t i, n = from;

	for (i = from; i < h->n; i++)
		if (h->pair[i].of != id)
			h->pair[n++] = h->pair[i];
	h->n = n;
}

static int pair_up(struct places *x, const struct bwl_policy *pol, uint32_t *id, uint8_t *stays,
		   struct bwl_heirs *h, struct bwl_publish_report *rep)
{
	size_t i, j, from;
	int r = 0;

	bwl_pfxset_sort(&x->set);
	if (x->set.n)
		bwl_policy_prefixes(pol, &x->now);
	for (i = 0; !r && i < pol->npeers && x->set.n; i++) {
		const struct bwl_pol_peer *q = &pol->peers[i];
		struct found f = { .x = x,
				   .h = h,
				   .peer = (uint32_t)i,
				   .new_name = !bwl_body_at(x->ids->p, x->old, id[i]),
				   .has_id = id[i],
				   .stays = stays };

		from = h->n;
		for (j = 0; !r && j < q->naddresses; j++) {
			f.q = &q->addresses[j];
			r = bwl_pfxset_overlaps(&x->set, f.q, found_one, &f);
		}
		rep->inherited += f.exact || h->n > from;
		if (f.exact && !x->trial) {
			id[i] = f.exact;
			stays[f.exact] = 1;
		}
		drop_self(h, from, id[i]);
	}
	return r;
}

/* Has the policy a zone that the one in force has not, or has that one such a zone? */
static bool other_zones(const struct bwl_gen *old, const struct bwl_policy *pol)
{
	size_t same = 0, had = 0, i, j;

	for (j = 1; j < BWL_MAX_ZONES; j++) {
		had += old->base->zone[j].name[0] != 0;
		for (i = 0; i < pol->nzones; i++)
			same += !strcmp(pol->zones[i].name, old->base->zone[j].name);
	}
	return same != pol->nzones || same != had;
}

int bwl_heirs_assign(struct bwl_ids *ids, const struct bwl_policy *pol, const struct bwl_gen *old,
		     const struct bwl_publish_opts *o, uint32_t *id, uint8_t *stays,
		     struct bwl_heirs *ret, struct bwl_publish_report *rep, struct bwl_err *e)
{
	struct places x = { .ids = ids,
			    .old = old,
			    .stays = stays,
			    .trial = o && o->confirm_ns,
			    .returns = o && o->returns,
			    .set.twins = true };
	struct bwl_pins *p = ids->p;
	const struct bwl_peer *body;
	size_t i;
	uint32_t k;
	int r = 0;

	x.why = calloc(p->schema.max_peers, 1);
	x.index = calloc(p->schema.max_peers, sizeof(*x.index));
	if (!x.why || !x.index) {
		free(x.why);
		free(x.index);
		return bwl_fail(e, ENOMEM, "out of memory for %zu peers", pol->npeers);
	}
	for (i = 0; i < pol->npeers; i++) {
		id[i] = bwl_name_id(p, pol->peers[i].name);
		if (id[i])
			stays[id[i]] = 1;
		x.any_new |= !bwl_body_at(p, old, id[i]);
		x.index[id[i]] = (uint32_t)i + 1;
	}
	for (k = 1; old && k < p->schema.max_peers; k++) {
		body = bwl_body(p, old, k);
		if (!body || stays[k])
			continue;
		rep->retired++;
		/*
		 * What `revoke --all` ended stays ended, even if the peer comes back or has a new
		 * name: the number of all becomes its own. It is already revoked, so nothing
		 * changes now.
		 */
		if (bwl_is_revoked_by(body->meta.grant_seq, p->ctl->revoked_all))
			bwl_revoked_raise(&p->gate[k].revoked, p->ctl->revoked_all);
	}
	r = bwl_retired_each(p, note_retired, &x);
	x.zones = old && other_zones(old, pol);
	if (!r && old && (rep->retired || x.any_new || x.zones))
		r = bwl_dest_each(old, note_old, &x);
	if (!r)
		r = pair_up(&x, pol, id, stays, ret, rep);
	free(x.why);
	free(x.index);
	bwl_pfxset_free(&x.set);
	bwl_pfxset_free(&x.now);
	if (r == -E2BIG) {
		bwl_fail(
			e, -r,
			"no room to keep the prefixes of peers that leave with volume spent: all %u places are taken",
			p->schema.max_peers);
		return bwl_hint(e,
				"bwlimit-load attach --max-peers N with a larger N after a detach");
	}
	if (r)
		return bwl_map_refused(e, -r,
				       &(struct bwl_map_place){
					       .map = bwl_pin_name(BWL_PIN_retired),
					       .what = "to keep the account of peers that leave",
					       .at = x.kept + 1 });
	for (i = 0; !r && i < pol->npeers; i++) {
		if (id[i])
			continue;
		r = bwl_ids_new(ids, pol->peers[i].name, &id[i], e);
		if (!r)
			stays[id[i]] = 1;
		rep->added++;
	}
	return r;
}

void bwl_heirs_done(struct bwl_heirs *h)
{
	free(h->pair);
	free(h->moved);
	memset(h, 0, sizeof(*h));
}

const struct bwl_heir *bwl_heirs_of(const struct bwl_heirs *h, size_t peer, size_t *ret_n)
{
	size_t low = 0, high = h->n, n = 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (h->pair[mid].peer < peer)
			low = mid + 1;
		else
			high = mid;
	}
	while (low + n < h->n && h->pair[low + n].peer == peer)
		n++;
	*ret_n = n;
	return h->pair ? &h->pair[low] : NULL;
}

static uint8_t zone_of(const struct bwl_pins *p, const struct bwl_gen *old, uint32_t id)
{
	const struct bwl_peer *b = bwl_body(p, old, id);

	return b ? b->meta.zone : 0;
}

uint8_t (*bwl_heirs_zones(const struct bwl_heirs *h, const struct bwl_pins *p,
			  const struct bwl_policy *pol, const struct bwl_gen *old,
			  const uint32_t *id))[BWL_MAX_ZONES]
{
	uint8_t(*took)[BWL_MAX_ZONES] = calloc(pol->nzones + 1, sizeof(*took));
	const struct bwl_heir *pair;
	size_t i, j, z, n, m = 0;

	for (i = 0; took && old && pol->nzones && i < pol->npeers; i++) {
		if (!pol->peers[i].zone[0])
			continue;
		for (z = 0; z < pol->nzones && strcmp(pol->zones[z].name, pol->peers[i].zone); z++)
			;
		took[z][zone_of(p, old, id[i])] = 1;
		pair = bwl_heirs_of(h, i, &n);
		for (j = 0; j < n; j++)
			took[z][zone_of(p, old, pair[j].of)] = 1;
		for (; m < h->nmoved && h->moved[m].peer <= i; m++)
			took[z][zone_of(p, old, h->moved[m].of)] |= h->moved[m].peer == i;
	}
	return took;
}

struct keeping {
	struct bwl_pins *p;
	const struct bwl_gen *in_force;
	uint64_t n, room;
};

static int keep_one(const struct bwl_pfx *pfx, uint32_t id, void *arg)
{
	struct bwl_key_retired key = bwl_retired_key(pfx, false);
	struct keeping *x = arg;
	int r;

	if (!id || id >= x->p->schema.max_peers || bwl_lookup_pfx(x->in_force, pfx) == id)
		return 0;
	if (x->n >= x->room)
		return -E2BIG;
	r = bwl_map_put(x->p->fd[BWL_PIN_retired], &key, &id, BPF_NOEXIST);
	x->n += !r;
	return r == -EEXIST ? 0 : r;
}

static uint32_t places_taken(const struct bwl_pins *p)
{
	struct bwl_key_retired key, *at = NULL;
	uint32_t n = 0;

	for (; !bwl_map_next(p->fd[BWL_PIN_retired], at, &key); at = &key)
		n++;
	return n;
}

int bwl_retired_keep(struct bwl_pins *p, const struct bwl_gen *g, const struct bwl_gen *in_force,
		     struct bwl_err *e)
{
	struct keeping x = { .p = p, .in_force = in_force };
	uint32_t half = p->schema.max_peers / 2, taken = places_taken(p);
	int r;

	x.room = taken < half ? half - taken : 0;
	r = bwl_dest_each(g, keep_one, &x);
	if (!r || r == -E2BIG)
		return 0;
	return bwl_map_refused(e, -r,
			       &(struct bwl_map_place){ .map = bwl_pin_name(BWL_PIN_retired),
							.what = "to keep prefixes not on trial",
							.at = x.n + 1 });
}

int bwl_retired_prune(struct bwl_pins *p, const struct bwl_gen *in_force, struct bwl_err *e)
{
	struct bwl_key_retired key, next;
	int fd = p->fd[BWL_PIN_retired], more;
	struct bwl_pfx pfx;
	uint32_t id;

	for (more = !bwl_map_next(fd, NULL, &next); more;) {
		key = next;
		more = !bwl_map_next(fd, &key, &next); /* before key is deleted */
		if (key.closed || bwl_map_get(fd, &key, &id))
			continue;
		pfx = bwl_retired_pfx(&key); /* of a policy that is lost `revoke` closes it */
		if (id < p->schema.max_peers && p->name[id].name[0] &&
		    (!bwl_body(p, in_force, id) ||
		     (bwl_is_before_lost(p) && bwl_lookup_pfx(in_force, &pfx) != id)))
			continue;
		if (bwl_map_delete(fd, &key) && errno != ENOENT)
			return bwl_fail(e, errno, "cannot forget a peer: %s", strerror(errno));
	}
	return 0;
}

void bwl_retired_back(struct bwl_pins *p, const struct bwl_gen *g)
{
	struct bwl_key_retired key, next;
	int fd = p->fd[BWL_PIN_retired];
	bool more = !bwl_map_next(fd, NULL, &next);
	struct bwl_pfx pfx;
	uint32_t id;

	while (more) {
		key = next;
		more = !bwl_map_next(fd, &key, &next); /* before key is deleted */
		pfx = bwl_retired_pfx(&key);
		if (!key.closed && !bwl_map_get(fd, &key, &id) && bwl_lookup_pfx(g, &pfx) == id)
			bwl_map_delete(fd, &key);
	}
}

void bwl_retired_take(struct bwl_pins *p, const struct bwl_pol_peer *q)
{
	struct bwl_key_retired k;
	size_t i;

	for (i = 0; i < q->naddresses; i++) {
		k = bwl_retired_key(&q->addresses[i], false);
		bwl_map_delete(p->fd[BWL_PIN_retired], &k);
	}
}
