// SPDX-License-Identifier: GPL-2.0-or-later
/* What the records close, and how that changes a policy: see record.h. */
#include <stdlib.h>
#include <string.h>
#include <bwl/err.h>
#include "record.h"

static void *grow(void *p, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return p;
	*room = *room ? 2 * *room : 16;
	return bwl_must(reallocarray(p, *room, size));
}

/*
 * In a compacted file of an earlier version prefixes have no time: they are not newer than the
 * file.
 */
static uint64_t wall_of(const struct bwl_closed *c, const struct bwl_journal_rec *r)
{
	return r->wall_s ? r->wall_s : c->begin_s;
}

static void add_when(struct bwl_closed *c, const struct bwl_journal_rec *r)
{
	c->when = grow(c->when, c->nwhen, &c->when_room, sizeof(*c->when));
	c->when[c->nwhen++] = (struct bwl_closed_when){ r->at, wall_of(c, r) };
}

static void add_name(struct bwl_closed *c, const struct bwl_journal_rec *r, bool closed)
{
	c->name = grow(c->name, c->nnames, &c->name_room, sizeof(*c->name));
	c->name[c->nnames] =
		(struct bwl_closed_name){ .at = r->at, .wall_s = wall_of(c, r), .closed = closed };
	memcpy(c->name[c->nnames++].name, r->name, BWL_NAME_LEN);
}

static void add_limit(struct bwl_closed *c, const struct bwl_journal_rec *r, bool zone, bool gone)
{
	c->limit = grow(c->limit, c->nlimits, &c->limit_room, sizeof(*c->limit));
	c->limit[c->nlimits] = (struct bwl_closed_limit){
		.zone = zone, .gone = gone, .at = r->at, .wall_s = r->wall_s, .lim = r->lim
	};
	memcpy(c->limit[c->nlimits++].name, r->name, BWL_NAME_LEN);
}

static void add_pfx(struct bwl_pfxset *s, const struct bwl_pfx *p, uint32_t n, uint64_t at)
{
	while (n--)
		bwl_pfxset_add(s, p++, at);
}

/* Records with prefixes only have no name. */
static void add_named(struct bwl_closed *c, const struct bwl_journal_rec *r)
{
	switch (r->kind) {
	case BWL_J_CLOSE:
	case BWL_J_OPEN:
		add_name(c, r, r->kind == BWL_J_CLOSE);
		if (r->kind == BWL_J_OPEN && r->lim.set)
			add_limit(c, r, false, false);
		break;
	case BWL_J_PEER:
	case BWL_J_ZONE:
		add_limit(c, r, r->kind == BWL_J_ZONE, false);
		break;
	case BWL_J_RAISE_PEER:
	case BWL_J_RAISE_ZONE:
		add_limit(c, r, r->kind == BWL_J_RAISE_ZONE, true);
		break;
	default:
		break;
	}
}

/*
 * A repeated closure counts from the later of its times, even if the clock was set back in between.
 */
static void turn(bool *is, uint64_t *is_s, bool on, uint64_t wall_s)
{
	if (!(*is && on && *is_s > wall_s))
		*is_s = wall_s;
	*is = on;
}

void bwl_closed_add(struct bwl_closed *c, const struct bwl_journal_rec *r)
{
	if (*r->name)
		add_named(c, r);
	switch (r->kind) {
	case BWL_J_BEGIN:
		c->begin_s = r->wall_s;
		break;
	case BWL_J_CLOSE:
		if (r->npfx)
			add_when(c, r);
		add_pfx(&c->closed, r->pfx, r->npfx, r->at);
		add_pfx(&c->hole, r->hole, r->nholes, r->at);
		break;
	case BWL_J_OPEN:
		add_pfx(&c->opened, r->pfx, r->npfx, r->at);
		break;
	case BWL_J_STOP:
	case BWL_J_START:
		turn(&c->stop, &c->stop_s, r->kind == BWL_J_STOP, r->wall_s);
		break;
	case BWL_J_CLAMP:
	case BWL_J_LIFT:
		turn(&c->clamp, &c->clamp_s, r->kind == BWL_J_CLAMP, r->wall_s);
		break;
	default:
		break;
	}
}

/* With equal numbers the closure comes last. */
static int by_name(const void *a, const void *b)
{
	const struct bwl_closed_name *x = a, *y = b;
	int d = strncmp(x->name, y->name, BWL_NAME_LEN);

	return d ? d : x->at != y->at ? (x->at > y->at) - (x->at < y->at) : x->closed - y->closed;
}

static int by_limit(const void *a, const void *b)
{
	const struct bwl_closed_limit *x = a, *y = b;
	int d = x->zone - y->zone;

	if (!d)
		d = strncmp(x->name, y->name, BWL_NAME_LEN);
	return d ? d : (x->at > y->at) - (x->at < y->at);
}

static void merge(struct bwl_closed_limit *to, const struct bwl_closed_limit *from)
{
	struct bwl_journal_limits *t = &to->lim;
	const struct bwl_journal_limits *f = &from->lim;

	to->wall_s = from->wall_s;
	to->at = from->at;
	to->gone = from->gone;
	if (from->gone) {
		memset(t, 0, sizeof(*t));
		return;
	}
	if (f->set & BWL_JS_RATE)
		t->rate_bps = f->rate_bps;
	if (f->set & BWL_JS_BURST)
		t->burst = f->burst;
	if (f->set & BWL_JS_MORE) {
		t->volume = t->volume + f->volume < t->volume ? ~0ULL : t->volume + f->volume;
	} else if (f->set & BWL_JS_VOLUME) {
		t->volume = f->volume;
		t->window_ns = f->window_ns;
		t->set &= ~(uint32_t)BWL_JS_UNLIMITED;
	}
	if (f->set & BWL_JS_EXPIRY)
		t->expiry_s = f->expiry_s;
	if (f->set & BWL_JS_MODE)
		t->mode = f->mode;
	if (f->set & BWL_JS_ACCEPT)
		t->accept_bps = f->accept_bps;
	t->set |= f->set & ~(uint32_t)BWL_JS_MORE;
}

static int wholly_opened(const struct bwl_pfxset_item *i, void *arg)
{
	return i->value > *(const uint64_t *)arg;
}

static void settle_names(struct bwl_closed *c)
{
	size_t i, n = 0;

	if (c->nnames)
		qsort(c->name, c->nnames, sizeof(*c->name), by_name);
	for (i = 0; i < c->nnames; i++) {
		struct bwl_closed_name *x = &c->name[i];

		if (i + 1 < c->nnames && !strncmp(x->name, x[1].name, BWL_NAME_LEN)) {
			if (x->closed && x[1].closed && x[1].wall_s < x->wall_s)
				x[1].wall_s = x->wall_s; /* the clock was set back in between */
			continue;
		}
		if (c->name[i].closed)
			c->name[n++] = c->name[i];
	}
	c->nnames = n;
}

static int by_at(const void *a, const void *b)
{
	const struct bwl_closed_when *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void settle_limits(struct bwl_closed *c)
{
	size_t i, n = 0;

	if (c->nlimits)
		qsort(c->limit, c->nlimits, sizeof(*c->limit), by_limit);
	for (i = 0; i < c->nlimits; i++) {
		struct bwl_closed_limit *last = n ? &c->limit[n - 1] : NULL;

		if (last && last->zone == c->limit[i].zone &&
		    !strncmp(last->name, c->limit[i].name, BWL_NAME_LEN)) {
			merge(last, &c->limit[i]);
			continue;
		}
		c->limit[n++] = c->limit[i];
		c->limit[n - 1].lim.set &= ~(uint32_t)BWL_JS_MORE; /* added to an unknown volume */
	}
	c->nlimits = n;
	for (i = n = 0; i < c->nlimits; i++)
		if (!c->limit[i].gone && c->limit[i].lim.set)
			c->limit[n++] = c->limit[i];
	c->nlimits = n;
}

void bwl_closed_settle(struct bwl_closed *c)
{
	size_t i;

	settle_names(c);
	settle_limits(c);
	if (c->nwhen)
		qsort(c->when, c->nwhen, sizeof(*c->when), by_at);
	bwl_pfxset_sort(&c->closed);
	bwl_pfxset_sort(&c->opened);
	bwl_pfxset_sort(&c->hole);
	bwl_pfxset_free(&c->live);
	for (i = 0; i < c->closed.n; i++)
		if (!bwl_pfxset_holders(&c->opened, &c->closed.item[i].pfx, wholly_opened,
					&c->closed.item[i].value))
			bwl_pfxset_add(&c->live, &c->closed.item[i].pfx, c->closed.item[i].value);
	bwl_pfxset_sort(&c->live);
}

void bwl_closed_free(struct bwl_closed *c)
{
	free(c->name);
	free(c->limit);
	free(c->when);
	bwl_pfxset_free(&c->closed);
	bwl_pfxset_free(&c->opened);
	bwl_pfxset_free(&c->hole);
	bwl_pfxset_free(&c->live);
	memset(c, 0, sizeof(*c));
}

static const struct bwl_closed_name *find_name(const struct bwl_closed *c, const char *name)
{
	size_t low = 0, high = c->nnames;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int d = strncmp(c->name[mid].name, name, BWL_NAME_LEN);

		if (!d)
			return &c->name[mid];
		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

bool bwl_closed_name_is(const struct bwl_closed *c, const char *name)
{
	return find_name(c, name);
}

size_t bwl_closed_names(const struct bwl_closed *c)
{
	return c->nnames;
}

static int is_hole(const struct bwl_pfxset_item *i, void *arg)
{
	return i->value == *(const uint64_t *)arg;
}

/*
 * Is it open because it was granted since, or was already open when the prefix around it was
 * closed?
 */
static bool is_open(const struct bwl_pfx *narrow, const struct bwl_pfxset_item *closed, void *arg)
{
	const struct bwl_closed *c = arg;
	uint64_t at = closed->value;

	return bwl_pfxset_holders(&c->opened, narrow, wholly_opened, &at) ||
	       bwl_pfxset_holders(&c->hole, narrow, is_hole, &at);
}

struct one {
	const struct bwl_closed *c;
	const struct bwl_pfx *q;
};

static int closes(const struct bwl_pfxset_item *i, void *arg)
{
	const struct one *o = arg;

	return !is_open(o->q, i, (void *)(uintptr_t)o->c);
}

bool bwl_closed_pfx_is(const struct bwl_closed *c, const struct bwl_pfx *pfx)
{
	struct one o = { c, pfx };

	return bwl_pfxset_holders(&c->live, pfx, closes, &o);
}

size_t bwl_closed_into_policy(const struct bwl_closed *c, struct bwl_policy *pol)
{
	bool *closed = bwl_must(calloc(pol->npeers + 1, sizeof(*closed)));
	size_t i, n = 0;

	bwl_closed_find(&c->live, pol, is_open, (void *)(uintptr_t)c, closed);
	for (i = 0; i < pol->npeers; i++) {
		if (!closed[i] && !find_name(c, pol->peers[i].name))
			continue;
		pol->peers[i].revoked = true;
		n++;
	}
	free(closed);
	return n;
}

uint64_t bwl_closed_when(const struct bwl_closed *c, uint64_t at)
{
	const struct bwl_closed_when like = { .at = at };
	const struct bwl_closed_when *w =
		c->nwhen ? bsearch(&like, c->when, c->nwhen, sizeof(like), by_at) : NULL;

	return w ? w->wall_s : c->begin_s;
}

size_t bwl_closed_after(const struct bwl_closed *c, int64_t wall_s, const struct bwl_policy *pol,
			bool *ret)
{
	const struct bwl_closed_name *x;
	struct bwl_pfxset late = { 0 };
	size_t i, n = 0;

	for (i = 0; i < c->live.n; i++)
		if ((int64_t)bwl_closed_when(c, c->live.item[i].value) >= wall_s)
			bwl_pfxset_add(&late, &c->live.item[i].pfx, c->live.item[i].value);
	bwl_pfxset_sort(&late);
	bwl_closed_find(&late, pol, is_open, (void *)(uintptr_t)c, ret);
	bwl_pfxset_free(&late);
	for (i = 0; i < pol->npeers; i++) {
		x = find_name(c, pol->peers[i].name);
		ret[i] |= x && (int64_t)x->wall_s >= wall_s;
		n += ret[i];
	}
	return n;
}
