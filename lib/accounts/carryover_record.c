// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Accounts that a writer holds full, recorded in bwl_held_v1 until they are settled: a writer that
 * is killed in between leaves volumes spent, and the next writer settles them from this record.
 *
 * An entry is marked as done before its account is touched. If it were settled twice, an account
 * that had been spent to the last byte in the meantime would look held, and its bytes would be
 * given back.
 */
#include <errno.h>
#include <stdlib.h>
#include <bwl/tables.h>
#include <bwl/carryover_record.h>

static void set_kind(struct bwl_held *h, uint8_t kind)
{
	__atomic_store_n(&h->kind, kind, __ATOMIC_SEQ_CST);
}

static void set_count(struct bwl_pins *p, uint64_t n)
{
	__atomic_store_n(&p->held[0].own, n, __ATOMIC_SEQ_CST);
}

int bwl_carryover_note(struct bwl_carryover *c, uint32_t i, struct bwl_err *e)
{
	if (!c->item_of)
		c->item_of = calloc(c->ids->nstates, sizeof(*c->item_of));
	if (!c->item_of)
		return bwl_fail(e, ENOMEM, "out of memory");
	c->item_of[c->item[i].v.state] = i + 1;
	return 0;
}

void bwl_held_begin(struct bwl_carryover *c)
{
	struct bwl_pins *p = c->ids->p;
	uint32_t n = 1, i, j;

	c->held = 0;
	if ((uint64_t)c->nitems + c->pending >= BWL_MAX_HELD)
		return; /* not recorded: if the writer is killed now, they stay spent */
	for (i = 0; i < c->nitems; i++) {
		const struct bwl_carryover_item *x = &c->item[i];

		p->held[n++] = (struct bwl_held){
			.own = x->own,
			.put = x->put,
			.state = x->v.state,
			.slice = x->slice,
			.window = x->v.slice_ns ? x->v.window : BWL_NO_WINDOW,
			.kind = BWL_HELD_BEGUN,
			.unknown = x->unknown,
			.in_force = x->in_force,
			.longer = x->longer,
		};
		for (j = 0; j < x->nfrom; j++)
			p->held[n++] = (struct bwl_held){ .own = c->from[x->from + j].owed,
							  .state = c->from[x->from + j].state,
							  .kind = BWL_HELD_FROM };
	}
	p->held[0].put = __atomic_load_n(&p->ctl->active, __ATOMIC_SEQ_CST);
	if (n > 1)
		c->held = 1;
	set_count(p, n - 1);
}

/* The entry of item i; NULL: not recorded. */
static struct bwl_held *entry(const struct bwl_carryover *c, uint32_t i)
{
	return c->held ? &c->ids->p->held[c->held + i + c->item[i].from] : NULL;
}

void bwl_held_full(struct bwl_carryover *c, uint32_t i)
{
	if (c->held)
		set_kind(entry(c, i), BWL_HELD_FULL);
}

bool bwl_held_is_full(const struct bwl_carryover *c, uint32_t i)
{
	const struct bwl_held *h = entry(c, i);

	return !h || h->kind == BWL_HELD_FULL;
}

bool bwl_held_take(struct bwl_carryover *c, uint32_t i)
{
	struct bwl_held *h = entry(c, i);
	bool full = bwl_held_is_full(c, i);

	if (h)
		set_kind(h, BWL_HELD_DONE);
	return full;
}

void bwl_held_end(struct bwl_carryover *c)
{
	if (c->held)
		set_count(c->ids->p, 0);
	c->held = 0;
}

/*
 * The length of its slices, which decides whether it takes over what a shorter window has
 * forgotten. Its window was given it when it was held; what stays in force has the length before,
 * or, if it gets longer, as much as it might be: too much counts, never too little.
 */
static uint64_t slice_ns(const struct bwl_pins *p, const struct bwl_held *h)
{
	if (h->window == BWL_NO_WINDOW)
		return 0;
	return h->longer || !p->window[h->window].slice_ns ? UINT64_MAX
							   : p->window[h->window].slice_ns;
}

int bwl_held_read(struct bwl_pins *p, struct bwl_carryover *c, struct bwl_err *e)
{
	uint64_t count = p->held[0].own;
	/* more: not written by this program */
	uint32_t n = count < BWL_MAX_HELD ? (uint32_t)count : 0;
	uint32_t nstates = BWL_STATES(p->schema.max_peers, p->schema.max_extras), i;

	c->item = calloc(n + 1, sizeof(*c->item));
	c->from = calloc(n + 1, sizeof(*c->from));
	if (!c->item || !c->from)
		return bwl_fail(e, ENOMEM, "out of memory");
	for (i = 1; i <= n; i++) {
		const struct bwl_held *h = &p->held[i];
		bool window = h->window != BWL_NO_WINDOW;

		if (h->state >= nstates || (window && (h->window >= p->schema.max_windows ||
						       h->slice >= BWL_SLICES_KEPT))) {
			set_count(p, 0); /* the accounts stay spent */
			return bwl_fail(
				e, EPROTO,
				"bwl_held_v1[%u] has a format that this program does not know", i);
		}
		if (h->kind == BWL_HELD_FROM && c->nitems) {
			c->from[c->pending++] = (struct bwl_carryover_from){ .owed = h->own,
									     .state = h->state };
			c->item[c->nitems - 1].nfrom++;
			continue;
		}
		c->item[c->nitems++] = (struct bwl_carryover_item){
			.v = { .state = h->state, .window = h->window, .slice_ns = slice_ns(p, h) },
			.own = h->own,
			.put = h->put,
			.from = c->pending,
			.slice = h->slice,
			.unknown = h->unknown,
			.in_force = h->in_force,
			.longer = h->longer,
		};
		if (bwl_carryover_note(c, c->nitems - 1, e))
			return -ENOMEM;
	}
	c->nfrom = c->pending;
	c->held = 1;
	return 0;
}
