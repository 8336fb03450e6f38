// SPDX-License-Identifier: GPL-2.0-or-later
/* The index over extra limits and windows; ids for new names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/ids.h>

static uint64_t hash_bytes(const void *data, size_t n, uint64_t h)
{
	const uint8_t *b = data;

	while (n--)
		h = (h ^ *b++) * 0x100000001b3ULL;
	return h ^ h >> 29;
}

static struct bwl_extra extra_key(enum bwl_extra_kind kind, const char *name, uint32_t peer,
				  uint8_t class_)
{
	struct bwl_extra k = { .kind = (uint8_t)kind, .class = class_, .peer = peer };

	if (name)
		snprintf(k.name, sizeof(k.name), "%s", name);
	return k;
}

static uint64_t hash_extra(const struct bwl_extra *k)
{
	return hash_bytes(k, sizeof(*k), 0xcbf29ce484222325ULL);
}

static uint32_t mask_for(uint32_t n)
{
	uint32_t m = 16;

	while (m < 2 * n && m < 1U << 31)
		m *= 2;
	return m - 1;
}

static void put(uint32_t *table, uint32_t mask, uint64_t hash, uint32_t index)
{
	uint32_t i = (uint32_t)hash & mask;

	while (table[i])
		i = (i + 1) & mask;
	table[i] = index + 1;
}

bool bwl_extra_of_peer(const struct bwl_extra *x)
{
	switch (x->kind) {
	case BWL_X_CLASS:
	case BWL_X_FLOOR:
	case BWL_X_ACCEPT:
	case BWL_X_TENANT:
	case BWL_X_PORTION:
		return true;
	default:
		return false;
	}
}

static void note_extra(struct bwl_ids *x, uint32_t i)
{
	const struct bwl_extra *k = &x->p->extra[i];

	put(x->extra_hash, x->extra_mask, hash_extra(k), i);
	if (!bwl_extra_of_peer(k) || k->peer >= x->p->schema.max_peers)
		return;
	x->extra_before[i] = x->extra_of[k->peer];
	x->extra_of[k->peer] = i + 1;
}

int bwl_ids_open(struct bwl_pins *p, struct bwl_ids *ret, struct bwl_err *e)
{
	const struct bwl_schema *s = &p->schema;
	struct bwl_ids x = { .p = p, .next_id = 1 };
	uint32_t i;

	x.nstates = BWL_STATES(s->max_peers, s->max_extras);
	x.extra_mask = mask_for(s->max_extras);
	x.extra_hash = calloc((size_t)x.extra_mask + 1, sizeof(uint32_t));
	x.extra_of = calloc(s->max_peers, sizeof(uint32_t));
	x.extra_before = calloc(s->max_extras, sizeof(uint32_t));
	x.window_of = calloc(x.nstates, sizeof(uint32_t));
	x.fresh = calloc(x.nstates, 1);
	if (!x.extra_hash || !x.extra_of || !x.extra_before || !x.window_of || !x.fresh) {
		bwl_ids_close(&x);
		return bwl_fail(e, ENOMEM, "out of memory for an index over %u peers' accounts",
				s->max_peers);
	}
	for (i = 0; i < s->max_extras; i++)
		if (p->extra[i].kind != BWL_X_FREE)
			note_extra(&x, i);
	for (i = 0; i < s->max_windows; i++)
		if (p->winown[i].v != BWL_WINDOW_FREE && p->winown[i].v < x.nstates)
			x.window_of[p->winown[i].v] = i + 1;
	*ret = x;
	return 0;
}

void bwl_ids_close(struct bwl_ids *x)
{
	free(x->extra_hash);
	free(x->extra_of);
	free(x->extra_before);
	free(x->window_of);
	free(x->fresh);
	memset(x, 0, sizeof(*x));
}

int bwl_ids_new(struct bwl_ids *x, const char *name, uint32_t *ret, struct bwl_err *e)
{
	struct bwl_pins *p = x->p;
	uint32_t i;

	for (i = x->next_id; i < p->schema.max_peers && p->name[i].name[0]; i++)
		;
	x->next_id = i + 1;
	if (i >= p->schema.max_peers) {
		bwl_fail(
			e, ENOSPC,
			"no room for peer %s: all %u ids are taken (a removed peer keeps its id while its spent volume counts)",
			name, p->schema.max_peers - 1);
		return bwl_hint(e,
				"bwlimit-load attach --max-peers N with a larger N after a detach");
	}
	p->mark[bwl_grant_state(i)] = (struct bwl_release){ bwl_release_first(p),
							    0 }; /* not the former owner's */
	snprintf(p->name[i].name, BWL_NAME_LEN, "%s", name);
	bwl_name_note(p, i);
	x->fresh[bwl_grant_state(i)] = x->fresh[bwl_accept_state(i)] = 1;
	*ret = i;
	return 0;
}

static bool find_extra(const struct bwl_ids *x, const struct bwl_extra *k, uint32_t *ret)
{
	uint32_t at = (uint32_t)hash_extra(k) & x->extra_mask;

	for (; x->extra_hash[at]; at = (at + 1) & x->extra_mask) {
		*ret = x->extra_hash[at] - 1;
		if (!memcmp(&x->p->extra[*ret], k, sizeof(*k)))
			return true;
	}
	return false;
}

uint32_t bwl_ids_find_extra(const struct bwl_ids *x, enum bwl_extra_kind kind, const char *name,
			    uint32_t peer, uint8_t class_)
{
	struct bwl_extra k = extra_key(kind, name, peer, class_);
	uint32_t i;

	return find_extra(x, &k, &i) ? BWL_EXTRA_STATE(x->p->schema.max_peers, i) : 0;
}

int bwl_ids_extra(struct bwl_ids *x, enum bwl_extra_kind kind, const char *name, uint32_t peer,
		  uint8_t class_, uint32_t *ret_state, struct bwl_err *e)
{
	struct bwl_extra k = extra_key(kind, name, peer, class_);
	struct bwl_pins *p = x->p;
	uint32_t i;

	if (!find_extra(x, &k, &i)) {
		for (i = x->next_extra; i < p->schema.max_extras && p->extra[i].kind; i++)
			;
		x->next_extra = i + 1;
		if (i >= p->schema.max_extras) {
			bwl_fail(
				e, ENOSPC,
				"no room for another limit: all %u places for classes, tenants, floors, volumes of accept, portions, zones and ports are taken",
				p->schema.max_extras);
			return bwl_hint(
				e,
				"bwlimit-load attach --max-extras N with a larger N after a detach");
		}
		p->mark[BWL_EXTRA_STATE(p->schema.max_peers, i)] =
			(struct bwl_release){ bwl_release_first(p), 0 };
		p->extra[i] = k;
		note_extra(x, i);
		x->fresh[BWL_EXTRA_STATE(p->schema.max_peers, i)] = 1;
	}
	*ret_state = BWL_EXTRA_STATE(p->schema.max_peers, i);
	return 0;
}

int bwl_ids_window(struct bwl_ids *x, uint32_t state, uint32_t *ret, bool *ret_new,
		   struct bwl_err *e)
{
	struct bwl_pins *p = x->p;
	uint32_t i;

	*ret_new = false;
	if (x->window_of[state]) {
		*ret = x->window_of[state] - 1;
		return 0;
	}
	for (i = x->next_window; i < p->schema.max_windows && p->winown[i].v != BWL_WINDOW_FREE;
	     i++)
		;
	x->next_window = i + 1;
	if (i >= p->schema.max_windows) {
		bwl_fail(e, ENOSPC, "no room for another windowed volume: all %u places are taken",
			 p->schema.max_windows);
		return bwl_hint(
			e, "bwlimit-load attach --max-windows N with a larger N after a detach");
	}
	memset(&p->window[i], 0, sizeof(p->window[i]));
	p->winown[i].v = state;
	x->window_of[state] = i + 1;
	*ret = i;
	*ret_new = true;
	return 0;
}

bool bwl_ids_spent(const struct bwl_ids *x, uint32_t state)
{
	return x->p->state[state].used_bytes || x->window_of[state];
}

bool bwl_ids_owes(const struct bwl_ids *x, uint32_t id)
{
	uint32_t i;

	if (bwl_ids_spent(x, bwl_grant_state(id)))
		return true;
	for (i = x->extra_of[id]; i; i = x->extra_before[i - 1])
		if (x->p->extra[i - 1].kind != BWL_X_PORTION && /* has a rate only */
		    bwl_ids_spent(x, BWL_EXTRA_STATE(x->p->schema.max_peers, i - 1)))
			return true;
	return false;
}
