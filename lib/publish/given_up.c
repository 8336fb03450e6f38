// SPDX-License-Identifier: GPL-2.0-or-later
/* Notes what is owed where prefixes were given up: see given_up.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/closed_peers.h>
#include <bwl/map_io.h>
#include <bwl/past.h>
#include <bwl/publish.h>
#include <bwl/tables.h>
#include "given_up.h"
#include "takeover.h"

struct owing;
struct giving {
	struct owing *owing;
	struct bwl_pins *p;
	const struct bwl_ids *ids;
	const struct bwl_gen *was, *now;
	/* By id: what it owes, as of the first prefix that it gave up; `nothing`, or `something`
	 * until then; NULL: not looked yet.
	 */
	struct bwl_given **of;
	uint32_t n, widened; /* notes; those for which there was no room */
	bool evicts;         /* what bwl_retired_v1 leads to will not be there */
	uint64_t now_ns;
};

static struct bwl_given nothing, something;

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void owe(struct bwl_owed *to, const struct bwl_owed *from)
{
	to->total_bytes = max(to->total_bytes, from->total_bytes);
	to->window_bytes = max(to->window_bytes, from->window_bytes);
}

uint64_t bwl_owed_bytes(const struct bwl_owed *o)
{
	return max(o->total_bytes, o->window_bytes);
}

static void merge(struct bwl_given *to, const struct bwl_given *from)
{
	if (!bwl_owed_bytes(&to->zone))
		to->zone_state = from->zone_state;
	else if (bwl_owed_bytes(&from->zone) && to->zone_state != from->zone_state)
		to->zone_state = 0;
	owe(&to->zone, &from->zone);
	for (unsigned i = 0; i < BWL_OWED_KINDS; i++)
		owe(&to->of[i], &from->of[i]);
	to->until_ns = max(to->until_ns, from->until_ns);
}

/* Does anything still count at that time? */
static bool counts(struct bwl_given *g, uint64_t now_ns)
{
	bool over = now_ns >= g->until_ns, any = false;

	for (unsigned i = 0; i <= BWL_OWED_KINDS; i++) {
		struct bwl_owed *o = i < BWL_OWED_KINDS ? &g->of[i] : &g->zone;

		if (over)
			o->window_bytes = 0;
		any |= bwl_owed_bytes(o) != 0;
	}
	return any;
}

/* What is on an account, and until when its window counts it. */
static void take(const struct giving *x, uint32_t state, struct bwl_given *g, struct bwl_owed *to)
{
	uint32_t w = x->ids->window_of[state];
	const struct bwl_window *win = w ? &x->p->window[w - 1] : NULL;
	struct bwl_owed o = { .total_bytes = __atomic_load_n(&x->p->state[state].used_bytes,
							     __ATOMIC_SEQ_CST) };

	if (win) {
		o.window_bytes = __atomic_load_n(&win->total_bytes, __ATOMIC_SEQ_CST) +
				 bwl_past_sum(&win->past, x->now_ns);
		g->until_ns = max(g->until_ns, x->now_ns + max(BWL_SLICES_KEPT * win->slice_ns,
							       win->past.keep_ns));
	}
	owe(to, &o);
}

/* An index into `of`; -1: none, a portion has a rate only. */
static int kind_of(enum bwl_extra_kind kind, uint8_t class_)
{
	switch (kind) {
	case BWL_X_FREE:
		return BWL_OWED_GRANT;
	case BWL_X_CLASS:
		return class_ < _BWL_CLASS_MAX ? BWL_OWED_CLASS + class_ : -1;
	case BWL_X_FLOOR:
		return BWL_OWED_FLOOR;
	case BWL_X_ACCEPT:
		return BWL_OWED_ACCEPT;
	case BWL_X_TENANT:
		return BWL_OWED_TENANT;
	default:
		return -1;
	}
}

uint64_t bwl_given_bytes(const struct bwl_given *g, enum bwl_extra_kind kind, uint8_t class_)
{
	int k = kind_of(kind, class_);

	return k < 0 ? 0 : bwl_owed_bytes(&g->of[k]);
}

static void what_owes(const struct giving *x, uint32_t id, struct bwl_given *g)
{
	const struct bwl_peer *body = x->was ? bwl_body(x->p, x->was, id) : NULL;
	const struct bwl_volume *v;
	int k;

	take(x, bwl_grant_state(id), g, &g->of[BWL_OWED_GRANT]);
	for (uint32_t i = x->ids->extra_of[id]; i; i = x->ids->extra_before[i - 1]) {
		k = kind_of(x->p->extra[i - 1].kind, x->p->extra[i - 1].class);
		if (k >= 0)
			take(x, BWL_EXTRA_STATE(x->p->schema.max_peers, i - 1), g, &g->of[k]);
	}
	if (!body || !body->meta.zone)
		return;
	v = &x->was->base->zone[body->meta.zone].limit.volume;
	g->zone_state = v->state; /* also if it has no volume now */
	if (v->state < x->ids->nstates)
		take(x, v->state, g, &g->zone);
}

static int put(struct giving *x, const struct bwl_pfx *pfx, const struct bwl_given *g)
{
	struct bwl_key_retired key = bwl_retired_key(pfx, false);
	int fd = x->p->fd[BWL_PIN_given], r;
	struct bwl_given all = { 0 };
	bool is_new;

	r = bwl_map_get(fd, &key, &all);
	if (r == -ENOENT && x->n >= x->p->schema.max_peers) {
		x->widened++;
		key = bwl_retired_key(&(struct bwl_pfx){ .family = pfx->family }, false);
		r = bwl_map_get(fd, &key, &all);
	}
	is_new = r == -ENOENT;
	if (r && !is_new)
		return r;
	merge(&all, g);
	r = bwl_map_put(fd, &key, &all, 0);
	x->n += !r && is_new;
	return r;
}

static bool has_volume(const struct bwl_limit *l)
{
	return l->volume.spendable_bytes != BWL_VOLUME_NONE;
}

/* What who has the prefix in g counts is on his account, or his zone's. */
static void drop_counted(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t holder,
			 struct bwl_given *o)
{
	const struct bwl_peer *b = bwl_body(p, g, holder);
	const struct bwl_owed none = { 0 };
	const struct bwl_limit *tenant;
	uint32_t i, sub;

	if (!b)
		return;
	if (b->meta.zone)
		o->zone = none;
	if (has_volume(&b->grant))
		o->of[BWL_OWED_GRANT] = none;
	if (b->grant.volume.floor && has_volume(&g->sub[b->grant.volume.floor]))
		o->of[BWL_OWED_FLOOR] = none;
	if (bwl_accept_sub(&b->meta))
		o->of[BWL_OWED_ACCEPT] = none;
	for (i = 0, sub = b->meta.sub_base; i < _BWL_CLASS_MAX; i++)
		if (b->meta.class_mask & 1U << i && has_volume(&g->sub[sub++]))
			o->of[BWL_OWED_CLASS + i] = none;
	for (i = 0; i < BWL_MAX_PORTS; i++) {
		tenant = bwl_gen_tenant(g, b, i);
		if (tenant && has_volume(tenant))
			o->of[BWL_OWED_TENANT] = none;
	}
}

static bool has_zone(const struct giving *x, const struct bwl_gen *g, uint32_t id)
{
	const struct bwl_peer *b = bwl_body(x->p, g, id);

	return b && b->meta.zone;
}

/* Does bwl_retired_v1 lead to the accounts of who had it? There was no room if not. */
static bool is_kept(const struct giving *x, const struct bwl_pfx *pfx)
{
	struct bwl_key_retired key = bwl_retired_key(pfx, false);
	uint32_t id;

	return !bwl_map_get(x->p->fd[BWL_PIN_retired], &key, &id);
}

static int note(const struct bwl_pfx *pfx, uint32_t id, void *arg)
{
	struct bwl_given g = { 0 };
	struct giving *x = arg;
	uint32_t holder;

	if (!id || id >= x->p->schema.max_peers || x->of[id] == &nothing)
		return 0;
	if (!x->of[id]) {
		what_owes(x, id, &g);
		x->of[id] = counts(&g, x->now_ns) ? &something : &nothing;
	}
	if (x->of[id] == &nothing)
		return 0;
	holder = x->now ? bwl_lookup_pfx(x->now, pfx) : 0;
	if (holder == id && (has_zone(x, x->now, id) || !has_zone(x, x->was, id)))
		return 0;
	if (x->of[id] == &something) { /* kept of those that give one up: there may be a million */
		x->of[id] = bwl_must(calloc(1, sizeof(g)));
		what_owes(x, id, x->of[id]);
	}
	g = *x->of[id];
	if (holder == id ||
	    (!holder && !x->evicts && !bwl_body_at(x->p, x->now, id) && is_kept(x, pfx)))
		memset(g.of, 0, sizeof(g.of)); /* whoever takes it takes over its accounts */
	if (holder)
		drop_counted(x->p, x->now, holder, &g);
	return counts(&g, x->now_ns) ? put(x, pfx, &g) : 0;
}

/* Each note, which fn may change; it ends the walk with anything but 0. */
typedef int (*each_fn)(struct giving *x, const struct bwl_key_retired *key, struct bwl_given *g);

static int each(struct giving *x, each_fn fn)
{
	int fd = x->p->fd[BWL_PIN_given], r, more;
	struct bwl_key_retired key, next;
	struct bwl_given g;

	more = bwl_map_next(fd, NULL, &next);
	while (!more) {
		key = next;
		more = bwl_map_next(fd, &key, &next); /* before key is deleted */
		r = bwl_map_get(fd, &key, &g);
		if (!r)
			r = fn(x, &key, &g);
		if (r && r != -ENOENT)
			return r;
	}
	return more == -ENOENT ? 0 : more;
}

static int count_one(struct giving *x, const struct bwl_key_retired *key, struct bwl_given *g)
{
	(void)key;
	(void)g;
	x->n++;
	return 0;
}

static uint32_t in_force_next(const struct bwl_pins *p, uint32_t by)
{
	return 1 + (__atomic_load_n(&p->ctl->active, __ATOMIC_SEQ_CST) + by) % BWL_SCHEDS;
}

static void set_with(struct bwl_pins *p, uint32_t to)
{
	__atomic_store_n(&p->held[0].window, to, __ATOMIC_SEQ_CST);
}

void bwl_given_begin(struct bwl_pins *p)
{
	set_with(p, in_force_next(p, 1));
}

static int cannot_note(const struct giving *x, int r, struct bwl_err *e)
{
	return bwl_map_refused(
		e, -r,
		&(struct bwl_map_place){
			.map = bwl_pin_name(BWL_PIN_given),
			.what = "to keep what is owed for prefixes that peers gave up",
			.at = x->n + 1 });
}

static void giving_done(const struct giving *x)
{
	for (uint32_t i = 0; i < x->p->schema.max_peers; i++)
		if (x->of[i] != &nothing && x->of[i] != &something)
			free(x->of[i]);
	free(x->of);
	if (x->widened)
		bwl_warn(
			"no room to note %u prefixes that peers gave up with volume spent, all %u places are taken: whoever comes to count a prefix that nobody has, or that he did not count so far, begins as having spent it, until those volumes' windows are over, or for ever if they are totals (bwlimit-ctl grant NAME volume +V once, or bwlimit-load attach --max-peers N with a larger N after a detach)",
			x->widened, x->p->schema.max_peers);
}

int bwl_given_note(struct bwl_pins *p, const struct bwl_ids *ids, const struct bwl_gen *was,
		   const struct bwl_gen *now, struct bwl_err *e)
{
	struct giving x = { .p = p, .ids = ids, .was = was, .now = now, .now_ns = bwl_now_ns() };
	int r;

	x.of = bwl_must(calloc(p->schema.max_peers, sizeof(*x.of)));
	r = each(&x, count_one);
	if (!r && was)
		r = bwl_dest_each(was, note, &x);
	if (!r)
		r = bwl_retired_each(p, note, &x); /* of some who come back without a prefix */
	giving_done(&x);
	if (r)
		return cannot_note(&x, r, e);
	set_with(p, 0);
	return 0;
}

/* Its prefix is closed from now on, by no name; *ret_room: a place became free. */
static int evict(struct giving *x, const struct bwl_key_retired *key, uint32_t id, bool *ret_room)
{
	struct bwl_pfx pfx = bwl_retired_pfx(key);
	struct bwl_key_retired closed = bwl_retired_key(&pfx, true);
	uint32_t value = id;
	int fd = x->p->fd[BWL_PIN_retired], r = note(&pfx, id, x);

	*ret_room = true;
	if (r)
		return r;
	if (!id || id >= x->p->schema.max_peers || bwl_body_at(x->p, x->now, id) ||
	    !bwl_is_revoked(x->p, x->was, id) || !bwl_map_get(fd, &closed, &value))
		return bwl_map_delete(fd, key);
	*ret_room = false;
	r = bwl_map_put(fd, &closed, &value, 0);
	if (r != -E2BIG)
		return r ? r : bwl_map_delete(fd, key);
	r = bwl_map_delete(fd, key);
	return r ? r : bwl_map_put(fd, &closed, &value, 0);
}

int bwl_given_make_room(struct bwl_pins *p, const struct bwl_gen *was, const struct bwl_gen *now,
			size_t n, struct bwl_err *e)
{
	struct giving x = {
		.p = p, .was = was, .now = now, .now_ns = bwl_now_ns(), .evicts = true
	};
	struct bwl_key_retired key, next;
	size_t made = 0, let_go = 0;
	int fd = p->fd[BWL_PIN_retired], r, more;
	struct bwl_ids ids = { 0 };
	bool needed, room;
	uint32_t id;

	r = bwl_ids_open(p, &ids, e);
	if (r)
		return r;
	x.ids = &ids;
	x.of = bwl_must(calloc(p->schema.max_peers, sizeof(*x.of)));
	r = each(&x, count_one);
	for (int last = 0; last < 2; last++) { /* first those that need no place */
		more = !bwl_map_next(fd, NULL, &next);
		while (!r && more && made < n) {
			key = next;
			more = !bwl_map_next(fd, &key, &next); /* before key is deleted */
			if (key.closed || bwl_map_get(fd, &key, &id))
				continue;
			needed = id < p->schema.max_peers && p->name[id].name[0] &&
				 !bwl_body_at(p, now, id);
			if (needed != (last > 0))
				continue;
			r = evict(&x, &key, id, &room);
			made += !r && room;
			let_go += !r && needed;
		}
	}
	giving_done(&x);
	bwl_ids_close(&ids);
	if (r)
		return cannot_note(&x, r, e);
	if (let_go)
		bwl_warn(
			"no room to keep the prefixes of revoked peers, all %u places are taken: %zu prefixes of peers that left were let go; what they had spent there is noted, but `revoke` of such a name does not find who has them",
			p->schema.max_peers, let_go);
	return 0;
}

bool bwl_given_is_due(const struct bwl_pins *p)
{
	return p->held[0].window == in_force_next(p, 0);
}

bool bwl_given_leave(struct bwl_pins *p)
{
	bool any = !bwl_is_held(p) && p->held[0].window;

	if (any)
		set_with(p, 0);
	return any;
}

static int prune_one(struct giving *x, const struct bwl_key_retired *key, struct bwl_given *g)
{
	int fd = x->p->fd[BWL_PIN_given];
	struct bwl_pfx pfx = bwl_retired_pfx(key);
	uint32_t holder = x->was ? bwl_lookup_pfx(x->was, &pfx) : 0;

	if (holder)
		drop_counted(x->p, x->was, holder, g);
	if (!counts(g, x->now_ns))
		return bwl_map_delete(fd, key);
	return holder ? bwl_map_put(fd, key, g, 0) : 0;
}

int bwl_given_prune(struct bwl_pins *p, const struct bwl_gen *held, struct bwl_err *e)
{
	struct giving x = { .p = p, .was = held, .now_ns = bwl_now_ns() };
	int r = each(&x, prune_one);

	if (!r)
		return 0;
	bwl_fail(e, -r, "cannot forget what was owed for a prefix: %s", strerror(-r));
	return bwl_map_tried(e);
}

/* --- who owes it */

struct owing {
	struct bwl_pins *p;
	const struct bwl_gen *old;
	struct bwl_pfxset set, held; /* notes, by index in note; every prefix of the policy */
	struct bwl_given *note, **ret;
	const struct bwl_pfx *q;
	uint32_t id; /* 0: a new name */
	uint64_t now_ns;
};

static int collect_one(struct giving *x, const struct bwl_key_retired *key, struct bwl_given *g)
{
	struct owing *w = x->owing;
	struct bwl_pfx pfx = bwl_retired_pfx(key);

	if (!counts(g, x->now_ns))
		return 0;
	if (!(x->n & (x->n - 1)))
		w->note = bwl_must(
			reallocarray(w->note, x->n ? 2 * (size_t)x->n : 1, sizeof(*w->note)));
	w->note[x->n] = *g;
	bwl_pfxset_add(&w->set, &pfx, x->n++);
	return 0;
}

static int is_narrower(const struct bwl_pfxset_item *at, void *arg)
{
	const struct owing *w = arg;

	return at->pfx.len > w->q->len;
}

static int owes_one(const struct bwl_pfxset_item *at, void *arg)
{
	struct owing *w = arg;
	bool within = at->pfx.len > w->q->len;
	struct bwl_given g = w->note[at->value];
	uint32_t holder = w->old ? bwl_lookup_pfx(w->old, within ? &at->pfx : w->q) : 0;

	/* The packets of who has it go there. */
	if (within && bwl_pfxset_holders(&w->held, &at->pfx, is_narrower, w))
		return 0;
	if (holder)
		drop_counted(w->p, w->old, holder, &g);
	if (w->id && w->id != holder) /* an account that has long been there */
		memset(g.of, 0, sizeof(g.of));
	if (!counts(&g, w->now_ns))
		return 0;
	if (!*w->ret)
		*w->ret = bwl_must(calloc(1, sizeof(**w->ret)));
	merge(*w->ret, &g);
	return 0;
}

int bwl_given_owed(struct bwl_pins *p, const struct bwl_policy *pol, const struct bwl_gen *old,
		   struct bwl_given ***ret, struct bwl_err *e)
{
	struct owing w = { .p = p, .old = old, .now_ns = bwl_now_ns() };
	struct giving x = { .p = p, .owing = &w, .now_ns = w.now_ns };
	int r = each(&x, collect_one);

	*ret = NULL;
	if (r) {
		bwl_fail(e, -r, "cannot read what is owed for prefixes: %s", strerror(-r));
		bwl_map_tried(e);
	} else if (x.n) {
		*ret = bwl_must(calloc(pol->npeers + 1, sizeof(**ret)));
		bwl_policy_prefixes(pol, &w.held);
		bwl_pfxset_sort(&w.set);
	}
	for (size_t i = 0; *ret && i < pol->npeers; i++) {
		const struct bwl_pol_peer *q = &pol->peers[i];

		w.id = bwl_name_id(p, q->name);
		if (!bwl_body_at(p, old, w.id))
			w.id = 0;
		w.ret = &(*ret)[i];
		for (size_t j = 0; j < q->naddresses; j++) {
			w.q = &q->addresses[j];
			bwl_pfxset_overlaps(&w.set, w.q, owes_one, &w);
		}
	}
	bwl_pfxset_free(&w.set);
	bwl_pfxset_free(&w.held);
	free(w.note);
	return r;
}

void bwl_given_free(struct bwl_given **owed, size_t npeers)
{
	for (size_t i = 0; owed && i < npeers; i++)
		free(owed[i]);
	free(owed);
}
