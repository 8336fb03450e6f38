// SPDX-License-Identifier: GPL-2.0-or-later
/* Carries accounts from one policy to the next: see carryover.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/carryover.h>
#include <bwl/carryover_record.h>

void bwl_carryover_done(struct bwl_carryover *c)
{
	free(c->item);
	free(c->from);
	free(c->volume);
	free(c->item_of);
	memset(c, 0, sizeof(*c));
}

/* Makes room for one more entry; arrays double. */
static void *grown(void *array, uint32_t n, size_t size)
{
	if (n && (n & (n - 1)))
		return array;
	return reallocarray(array, n ? 2 * (size_t)n : 1, size);
}

static int add_from(struct bwl_carryover *c, struct bwl_carryover_from x, struct bwl_err *e)
{
	struct bwl_carryover_from *from = grown(c->from, c->nfrom, sizeof(*from));

	if (!from)
		return bwl_fail(e, ENOMEM, "out of memory");
	c->from = from;
	c->from[c->nfrom++] = x;
	return 0;
}

int bwl_carryover_from(struct bwl_carryover *c, uint32_t state, struct bwl_err *e)
{
	return add_from(c, (struct bwl_carryover_from){ .state = state }, e);
}

int bwl_carryover_owed(struct bwl_carryover *c, uint64_t bytes, struct bwl_err *e)
{
	return bytes ? add_from(c, (struct bwl_carryover_from){ .owed = bytes }, e) : 0;
}

void bwl_carryover_drop(struct bwl_carryover *c)
{
	c->nfrom = c->pending;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Bytes of its window for a volume whose slices have this length; slice_ns 0: a total. A longer one
 * counts what the shorter one has forgotten. held: the window is held full, and this is what it had
 * before.
 */
static uint64_t windowed(const struct bwl_ids *ids, uint32_t state, uint64_t slice_ns,
			 const uint64_t *held)
{
	uint32_t w = ids->window_of[state];
	const struct bwl_window *x;
	uint64_t bytes;

	if (!w)
		return 0;
	x = &ids->p->window[w - 1];
	bytes = held ? *held : __atomic_load_n(&x->total_bytes, __ATOMIC_SEQ_CST);
	if (!slice_ns || slice_ns > x->slice_ns)
		bytes += bwl_past_sum(&x->past, bwl_now_ns());
	return bytes;
}

static uint64_t total(const struct bwl_ids *ids, uint32_t state)
{
	return __atomic_load_n(&ids->p->state[state].used_bytes, __ATOMIC_SEQ_CST);
}

static uint64_t account(const struct bwl_ids *ids, uint32_t state, uint64_t slice_ns)
{
	return max(total(ids, state), windowed(ids, state, slice_ns, NULL));
}

/*
 * The same of an account that may be held full: then what it had before, for what it is held at has
 * not been spent. Nothing counts on it meanwhile.
 */
static uint64_t account_before(const struct bwl_carryover *c, uint32_t state, uint64_t slice_ns)
{
	uint32_t i = c->item_of ? c->item_of[state] : 0;
	const struct bwl_carryover_item *x = i ? &c->item[i - 1] : NULL;

	if (!x || x->in_force || x->unknown || !x->put || !bwl_held_is_full(c, i - 1))
		return account(c->ids, state, slice_ns);
	if (x->v.slice_ns)
		return max(total(c->ids, state), windowed(c->ids, state, slice_ns, &x->own));
	return max(x->own, windowed(c->ids, state, slice_ns, NULL));
}

/* Does it take over an account? A note says only what was spent at some of its prefixes. */
static bool takes_account(const struct bwl_carryover *c)
{
	for (uint32_t i = c->pending; i < c->nfrom; i++)
		if (c->from[i].state)
			return true;
	return false;
}

int bwl_carryover_add(struct bwl_carryover *c, const struct bwl_volume *v,
		      const struct bwl_volume *before, bool seen, struct bwl_err *e)
{
	bool counted = before && before->spendable_bytes != BWL_VOLUME_NONE;
	bool same = counted && !before->slice_ns == !v->slice_ns;
	/* It will count what it has forgotten so far. */
	bool longer = same && v->slice_ns > before->slice_ns;
	struct bwl_carryover_item *item;
	uint32_t n = c->nfrom - c->pending, *volume;

	if (v->spendable_bytes != BWL_VOLUME_NONE) {
		volume = grown(c->volume, c->nvolumes, sizeof(*volume));
		if (!volume)
			return bwl_fail(e, ENOMEM, "out of memory");
		c->volume = volume;
		c->volume[c->nvolumes++] = v->state;
	}
	if (v->spendable_bytes == BWL_VOLUME_NONE || (same && !n && !longer)) {
		bwl_carryover_drop(c);
		return 0;
	}
	item = grown(c->item, c->nitems, sizeof(*item));
	if (!item)
		return bwl_fail(e, ENOMEM, "out of memory");
	c->item = item;
	item += c->nitems++;
	*item = (struct bwl_carryover_item){
		.v = *v, .from = c->pending, .nfrom = n, .in_force = same, .longer = longer
	};
	item->unknown = !counted && !seen && !takes_account(c) && !c->fresh &&
			!account(c->ids, v->state, v->slice_ns);
	c->pending = c->nfrom;
	c->unknown += item->unknown;
	return bwl_carryover_note(c, c->nitems - 1, e);
}

static uint64_t taken_over(const struct bwl_carryover *c, const struct bwl_carryover_item *x)
{
	const struct bwl_carryover_from *from = c->from + x->from;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < x->nfrom; i++, from++)
		sum = max(sum,
			  max(from->owed,
			      from->state ? account_before(c, from->state, x->v.slice_ns) : 0));
	return sum;
}

/*
 * If a ledger is required or present, a volume that it has not written yet is closed. If there no
 * longer is one, volumes that waited for it are opened. What the ledger's writer wrote stays.
 */
static void await_ledger(const struct bwl_carryover *c)
{
	struct bwl_pins *p = c->ids->p;
	uint32_t i;

	for (i = 0; i < c->nvolumes; i++) {
		bool closes = c->ledger || p->ctl->ledger;
		__u64 was = closes ? BWL_RELEASE_NONE : BWL_RELEASE_AWAITED;

		__atomic_compare_exchange_n(&p->mark[c->volume[i]].spendable_bytes, &was,
					    closes ? BWL_RELEASE_AWAITED : BWL_RELEASE_NONE, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	}
}

/* Notes each account, and the value at which to hold it. */
static void note_accounts(struct bwl_carryover *c, uint64_t now_ns)
{
	for (uint32_t i = 0; i < c->nitems; i++) {
		struct bwl_carryover_item *x = &c->item[i];

		if (x->longer)
			x->own = bwl_past_sum(&c->ids->p->window[x->v.window].past, now_ns);
		if (x->in_force)
			continue;
		x->own = x->v.slice_ns ? windowed(c->ids, x->v.state, x->v.slice_ns, NULL)
				       : total(c->ids, x->v.state);
		x->put = max(x->v.spendable_bytes, account(c->ids, x->v.state, x->v.slice_ns));
		x->put = max(x->put, taken_over(c, x));
		/* No packet brings an account there: what is spent to the last byte is not held. */
		x->put += !x->unknown;
		if (x->v.slice_ns)
			x->slice = (now_ns / x->v.slice_ns & BWL_TURN_SLICE_MASK) % BWL_SLICES_KEPT;
	}
}

/* As a packet of that length would do it: the total first, then its slice. */
static void add_to_window(struct bwl_window *w, uint64_t bytes)
{
	uint64_t turn;

	__atomic_add_fetch(&w->total_bytes, bytes, __ATOMIC_SEQ_CST);
	turn = __atomic_load_n(&w->turn, __ATOMIC_SEQ_CST) & BWL_TURN_SLICE_MASK;
	__atomic_add_fetch(&w->slice_bytes[turn % BWL_SLICES_KEPT], bytes, __ATOMIC_SEQ_CST);
}

/* What the windows that it takes over from have forgotten, and how long that counts. */
static void take_pasts(struct bwl_carryover *c, const struct bwl_carryover_item *x)
{
	struct bwl_window *window = c->ids->p->window;
	uint32_t i, from;

	for (i = 0; x->v.slice_ns && i < x->nfrom; i++) {
		from = c->ids->window_of[c->from[x->from + i].state];
		if (from && from - 1 != x->v.window)
			bwl_past_follow(&window[x->v.window].past, &window[from - 1].past);
	}
}

static void hold(struct bwl_pins *p, const struct bwl_carryover_item *x, uint64_t now_ns)
{
	struct bwl_window *w;

	if (x->longer) { /* packets still count on it, and find less room */
		add_to_window(&p->window[x->v.window], x->own);
		bwl_past_counted(&p->window[x->v.window].past, x->own);
	}
	if (x->in_force)
		return;
	p->mark[x->v.state].unknown_bytes = x->unknown ? x->put : 0;
	if (!x->v.slice_ns) {
		p->state[x->v.state].used_bytes = x->put;
		return;
	}
	/* Whenever it was spent, it counts as spent just now. */
	w = &p->window[x->v.window];
	w->left_ns = 0;
	memset(w->slice_bytes, 0, sizeof(w->slice_bytes));
	w->total_bytes = w->slice_bytes[x->slice] = x->put;
	w->turn = (now_ns / x->v.slice_ns & BWL_TURN_SLICE_MASK) | (uint64_t)x->v.epoch
									   << BWL_TURN_EPOCH_SHIFT;
	if (x->v.slice_ns > w->slice_ns) /* counted in put (windowed()) */
		bwl_past_counted(&w->past, bwl_past_sum(&w->past, now_ns));
	w->slice_ns = x->v.slice_ns;
}

void bwl_carryover_hold(struct bwl_carryover *c, uint64_t now_ns)
{
	await_ledger(c);
	note_accounts(c, now_ns);
	bwl_held_begin(c);
	for (uint32_t i = 0; i < c->nitems; i++) {
		hold(c->ids->p, &c->item[i], now_ns);
		take_pasts(c, &c->item[i]);
		bwl_held_full(c, i);
	}
}

/* Packets already count on it: it may only rise. */
static void raise_account(struct bwl_pins *p, const struct bwl_volume *v, uint64_t to)
{
	__u64 was;
	struct bwl_window *w;

	if (!v->slice_ns) {
		was = __atomic_load_n(&p->state[v->state].used_bytes, __ATOMIC_SEQ_CST);
		while (was < to &&
		       !__atomic_compare_exchange_n(&p->state[v->state].used_bytes, &was, to, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			;
		return;
	}
	w = &p->window[v->window];
	was = __atomic_load_n(&w->total_bytes, __ATOMIC_SEQ_CST);
	if (was >= to)
		return;
	add_to_window(w, to - was);
}

/*
 * While held, the window may have turned, and that slice may have been emptied, and filled again by
 * packets: then there is nothing to give back. If it is emptied in between, the total is right.
 */
static void release_window(struct bwl_window *w, const struct bwl_carryover_item *x, uint64_t to)
{
	__u64 was = x->put;

	if (__atomic_compare_exchange_n(&w->slice_bytes[x->slice], &was, to, false,
					__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		__atomic_add_fetch(&w->total_bytes, to - x->put, __ATOMIC_SEQ_CST);
}

/* What the shorter window has forgotten since it was held. */
static void add_later(struct bwl_pins *p, const struct bwl_carryover_item *x)
{
	struct bwl_window *w = &p->window[x->v.window];
	uint64_t more = bwl_past_sum(&w->past, bwl_now_ns());

	add_to_window(w, more);
	bwl_past_counted(&w->past, more);
}

void bwl_carryover_settle(struct bwl_carryover *c)
{
	struct bwl_pins *p = c->ids->p;
	uint32_t i;

	for (i = 0; i < c->nitems; i++) {
		struct bwl_carryover_item *x = &c->item[i];
		uint64_t to = max(x->own, taken_over(c, x));

		take_pasts(c, x);
		c->item_of[x->v.state] = 0; /* from here on packets may count on it */
		if (!bwl_held_take(c, i) || x->unknown)
			continue;
		if (x->in_force) {
			if (x->longer)
				add_later(p, x);
			raise_account(p, &x->v, to);
		} else if (x->v.slice_ns) {
			to = max(to, total(c->ids, x->v.state));
			release_window(&p->window[x->v.window], x, to);
		} else {
			to = max(to, windowed(c->ids, x->v.state, 0, NULL));
			__atomic_compare_exchange_n(&p->state[x->v.state].used_bytes, &x->put, to,
						    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		}
	}
	bwl_held_end(c);
}
