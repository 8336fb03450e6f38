// SPDX-License-Identifier: GPL-2.0-or-later
/* Removes what is no longer needed: see forget.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/carryover.h>
#include <bwl/forget.h>
#include <bwl/tables.h>

struct use {
	struct bwl_ids *ids;
	uint8_t *used; /* by state */
};

static void note(const struct bwl_limit *l, uint32_t state, void *arg)
{
	struct use *u = arg;
	uint32_t w = l->volume.window;

	if (state >= u->ids->nstates)
		return;
	u->used[state] = 1;
	if (!l->volume.slice_ns || w >= u->ids->p->schema.max_windows)
		return;
	u->used[state] = 2; /* its window is used, too */
	u->ids->p->window[w].slice_ns = l->volume.slice_ns;
	u->ids->p->window[w].left_ns = 0;
}

/* A limit of the policy before one on trial: its account stays, but its window is not in force. */
static void note_kept(const struct bwl_limit *l, uint32_t state, void *arg)
{
	struct use *u = arg;

	(void)l;
	if (state < u->ids->nstates)
		u->used[state] = 1;
}

/*
 * A window that no policy uses: it is empty once all its slices, and what it has forgotten, are
 * older than the longest window that the limit has had.
 */
static bool is_over(struct bwl_window *w, uint64_t now_ns)
{
	uint64_t all_ns = BWL_SLICES_KEPT * w->slice_ns;

	if (!w->total_bytes && !bwl_past_sum(&w->past, now_ns))
		return true;
	if (!w->left_ns)
		w->left_ns = now_ns;
	if (all_ns && all_ns < w->past.keep_ns)
		all_ns = w->past.keep_ns;
	return all_ns && now_ns - w->left_ns > all_ns;
}

static bool sweep_windows(struct bwl_ids *ids, const uint8_t *used)
{
	struct bwl_pins *p = ids->p;
	uint64_t now = bwl_now_ns();
	bool swept = false;
	uint32_t i, state;

	for (i = 0; i < p->schema.max_windows; i++) {
		state = p->winown[i].v;
		if (state == BWL_WINDOW_FREE || state >= ids->nstates || used[state] == 2 ||
		    !is_over(&p->window[i], now))
			continue;
		p->winown[i].v = BWL_WINDOW_FREE;
		ids->window_of[state] = 0;
		swept = true;
	}
	return swept;
}

int bwl_sweep(struct bwl_ids *ids, const struct bwl_gen *in_force, const struct bwl_gen *before,
	      bool *ret_swept, struct bwl_err *e)
{
	struct bwl_pins *p = ids->p;
	struct use u = { .ids = ids, .used = calloc(ids->nstates, 1) };
	uint32_t i;

	if (!u.used)
		return bwl_fail(e, ENOMEM, "out of memory");
	if (before)
		bwl_limit_each(p, before, note_kept, &u);
	if (in_force)
		bwl_limit_each(p, in_force, note, &u);
	*ret_swept = sweep_windows(ids, u.used);
	for (i = 1; i < p->schema.max_peers; i++) {
		if (!p->name[i].name[0] || bwl_body_at(p, in_force, i) ||
		    bwl_body_at(p, before, i) || bwl_ids_owes(ids, i) || p->gate[i].revoked)
			continue;
		p->gate[i] = (struct bwl_peer_ref){ 0 };
		p->name[i].name[0] = '\0';
		*ret_swept = true;
	}
	for (i = 0; i < p->schema.max_extras; i++) {
		const struct bwl_extra *x = &p->extra[i];
		uint32_t state = BWL_EXTRA_STATE(p->schema.max_peers, i);

		if (!bwl_extra_of_peer(x) || u.used[state] || bwl_ids_spent(ids, state))
			continue;
		p->extra[i] = (struct bwl_extra){ 0 };
		*ret_swept = true;
	}
	free(u.used);
	return 0;
}

void bwl_forget_lifted(struct bwl_pins *p, const struct bwl_gen *from, const uint8_t *stays)
{
	const struct bwl_peer *body;
	uint32_t i, was;

	for (i = 1; from && i < p->schema.max_peers; i++) {
		was = __atomic_load_n(&p->gate[i].revoked, __ATOMIC_SEQ_CST);
		body = was && !stays[i] ? bwl_body(p, from, i) : NULL;
		/* Not if it is revoked again meanwhile: then the number is another. */
		if (body && !bwl_revoked_since(p, i, body->meta.grant_seq))
			__atomic_compare_exchange_n(&p->gate[i].revoked, &was, 0, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	}
}
