// SPDX-License-Identifier: GPL-2.0-or-later
/* The journal and the maps: see journal.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bwl/tables.h>
#include <bwl/generation.h>
#include "journal.h"

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)

static const char *dir_of(const struct bwl_pins *p)
{
	return bwl_journal_dir(p->ctl->drill);
}

/* What the maps have closed but the journal has not. */
struct found {
	struct bwl_pins *p;
	const struct bwl_closed *have;
	const struct bwl_journal_by *by; /* NULL: closed now, by nobody in particular */
	uint8_t *revoked; /* by id: 1 revoked; 2 revoked, and the name is not in the journal */
	struct bwl_pfxset news, live; /* value: the id; new prefixes of the revoked; of others */
	struct bwl_journal_rec *rec;
	size_t n, room;
};

/* Revoked in every generation that may come into force? */
static bool is_revoked(const struct found *f, const struct bwl_gen *g, const bool *has, uint32_t id,
		       bool *ret_body)
{
	const struct bwl_peer *body;
	bool revoked = true;
	uint32_t s;

	*ret_body = false;
	for (s = 0; s < BWL_GENERATIONS; s++) {
		body = has[s] ? bwl_body(f->p, &g[s], id) : NULL;
		if (!body)
			continue;
		*ret_body = true;
		revoked = revoked && bwl_revoked_since(f->p, id, body->meta.grant_seq);
	}
	return *ret_body ? revoked : LOAD(f->p->gate[id].revoked) != 0;
}

static int note_dest(const struct bwl_pfx *pfx, uint32_t id, void *arg)
{
	struct found *f = arg;

	if (!id || id >= f->p->schema.max_peers)
		return 0;
	if (!f->revoked[id])
		bwl_pfxset_add(&f->live, pfx, id);
	else if (!bwl_closed_pfx_is(f->have, pfx))
		bwl_pfxset_add(&f->news, pfx, id);
	return 0;
}

static struct bwl_journal_rec *add(struct found *f, enum bwl_journal_kind kind)
{
	if (f->n == f->room) {
		f->room = f->room ? 2 * f->room : 16;
		f->rec = bwl_must(reallocarray(f->rec, f->room, sizeof(*f->rec)));
	}
	f->rec[f->n] = (struct bwl_journal_rec){ .kind = kind };
	return &f->rec[f->n++];
}

static int by_id(const void *a, const void *b)
{
	const struct bwl_pfxset_item *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* Prefixes that are open within closed ones stay open. */
static int add_hole(const struct bwl_pfxset_item *i, void *arg)
{
	struct bwl_pfxset *holes = arg;

	bwl_pfxset_add(holes, &i->pfx, 0);
	return 0;
}

static struct bwl_pfx *plain(const struct bwl_pfxset_item *i, size_t n)
{
	struct bwl_pfx *p = bwl_must(calloc(n + 1, sizeof(*p)));
	size_t k;

	for (k = 0; k < n; k++)
		p[k] = i[k].pfx;
	return p;
}

static uint64_t closed_at_s(const struct bwl_journal_by *by, const char *name)
{
	bool named = by && !by->n;

	for (size_t i = 0; by && !named && i < by->n; i++)
		named = !strncmp(by->name[i], name, BWL_NAME_LEN);
	return named ? by->wall_s : 0;
}

/* Adds the record of one peer: its name if that is new, and its new prefixes. */
static void add_peer(struct found *f, uint32_t id, const struct bwl_pfxset_item *i, size_t n)
{
	struct bwl_journal_rec *r = add(f, BWL_J_CLOSE);
	struct bwl_pfxset holes = { 0 };
	size_t k;

	snprintf(r->name, sizeof(r->name), "%.31s", f->p->name[id].name);
	r->wall_s = closed_at_s(f->by, r->name);
	for (k = 0; k < n; k++)
		if (i[k].pfx.len < (i[k].pfx.family == 4 ? 32 : 128))
			bwl_pfxset_overlaps(&f->live, &i[k].pfx, add_hole, &holes);
	bwl_pfxset_sort(&holes);
	r->pfx = plain(i, n);
	r->npfx = (uint32_t)n;
	r->hole = plain(holes.item, holes.n);
	r->nholes = (uint32_t)holes.n;
	bwl_pfxset_free(&holes);
}

static void add_peers(struct found *f)
{
	size_t i = 0, n;
	uint32_t id;

	bwl_pfxset_sort(&f->live);
	bwl_pfxset_sort(&f->news);
	if (f->news.n)
		qsort(f->news.item, f->news.n, sizeof(*f->news.item), by_id);
	for (id = 1; id < f->p->schema.max_peers; id++) {
		for (n = 0; i + n < f->news.n && f->news.item[i + n].value == id; n++)
			;
		if (n || f->revoked[id] == 2)
			add_peer(f, id, &f->news.item[i], n);
		i += n;
	}
}

static int look_at_peers(struct found *f, struct bwl_err *e)
{
	struct bwl_gen g[BWL_GENERATIONS];
	bool has[BWL_GENERATIONS], body, walk = false;
	uint32_t id, s;
	int r = 0;

	for (s = 0; s < BWL_GENERATIONS; s++)
		has[s] = (s == bwl_active_slot(f->p) || s == bwl_slot_before(f->p)) &&
			 !bwl_gen_open(f->p, s, &g[s], NULL);
	for (id = 1; id < f->p->schema.max_peers; id++) {
		if (!f->p->name[id].name[0] || !is_revoked(f, g, has, id, &body))
			continue;
		f->revoked[id] = bwl_closed_name_is(f->have, f->p->name[id].name) ? 1 : 2;
		walk |= body;
	}
	for (s = 0; s < BWL_GENERATIONS; s++) {
		if (!has[s])
			continue;
		if (walk && !r)
			r = bwl_dest_each(&g[s], note_dest, f);
		bwl_gen_close(&g[s]);
	}
	add_peers(f);
	return r ? bwl_fail(e, -r, "cannot read the destinations: %s", strerror(-r)) : 0;
}

static int found_new(struct bwl_pins *p, const struct bwl_closed *have, struct found *ret,
		     struct bwl_err *e)
{
	*ret = (struct found){ .p = p, .have = have, .revoked = calloc(p->schema.max_peers, 1) };
	return ret->revoked ? 0 : bwl_fail(e, ENOMEM, "out of memory");
}

static int look(struct found *f, struct bwl_err *e)
{
	if (bwl_is_stopped(f->p) && !f->have->stop)
		add(f, BWL_J_STOP);
	if (bwl_is_clamped(f->p) && !f->have->clamp)
		add(f, BWL_J_CLAMP);
	return look_at_peers(f, e);
}

static void found_free(struct found *f)
{
	size_t i;

	for (i = 0; i < f->n; i++) {
		free((void *)(uintptr_t)f->rec[i].pfx);
		free((void *)(uintptr_t)f->rec[i].hole);
	}
	free(f->rec);
	free(f->revoked);
	bwl_pfxset_free(&f->news);
	bwl_pfxset_free(&f->live);
}

int bwl_journal_begin(struct bwl_pins *p, enum bwl_journal_state *ret_was, struct bwl_err *e)
{
	struct bwl_closed nothing = { 0 };
	struct found f;
	int r = found_new(p, &nothing, &f, e);

	if (!r)
		r = look(&f, e);
	if (!r)
		r = bwl_journal_make(dir_of(p), f.rec, f.n, ret_was, e);
	found_free(&f);
	return r;
}

static int note(struct bwl_pins *p, const struct bwl_journal_by *by, struct bwl_err *e)
{
	const char *dir = dir_of(p);
	struct bwl_journal j;
	struct found f;
	int r = bwl_pins_whole(p, e), err;

	if (!r)
		r = found_new(p, &j.closed, &f, e);
	if (r)
		return r;
	f.by = by;
	bwl_journal_look(dir, &j);
	if (j.state != BWL_JOURNAL_OFF && j.state != BWL_JOURNAL_OK) {
		bwl_fail(e, EUCLEAN, "the journal cannot be trusted: %s", j.why);
		r = bwl_hint(e,
			     "bwlimit-ctl journal init starts a new one with what is closed now");
	} else if (j.state == BWL_JOURNAL_OK) {
		err = look(&f, e);
		if (f.n)
			r = bwl_journal_append(dir, f.rec, f.n, j.seq, e);
		r = r ? r : err;
	}
	found_free(&f);
	bwl_journal_free(&j);
	return r;
}

int bwl_journal_note(struct bwl_pins *p, struct bwl_err *e)
{
	return note(p, NULL, e);
}

int bwl_journal_closed(struct bwl_pins *p, struct bwl_err *e)
{
	return bwl_journal_closed_by(p, NULL, e);
}

int bwl_journal_closed_by(struct bwl_pins *p, const struct bwl_journal_by *by, struct bwl_err *e)
{
	struct bwl_err why = { 0 };
	int tries = 5, r;

	do
		r = note(p, by, &why);
	while (r == -EAGAIN && tries--);
	if (!r)
		return 0;
	if (dir_of(p) && access(dir_of(p), R_OK | W_OK) && errno == EACCES) {
		bwl_fail(
			e, EACCES,
			"it is closed; it stays closed over a reboot if bwlimitd runs: bwlimitd writes the journal, this user may not");
		return bwl_hint(e, "systemctl status bwlimitd; as root: bwlimit-ctl journal show");
	}
	bwl_fail(e, EIO, "it is closed, but only until reboot: %.600s", why.text);
	return bwl_hint(e, "%s",
			*why.hint ? why.hint : "a running bwlimitd writes it as soon as it can");
}

int bwl_journal_opening(const struct bwl_pins *p, enum bwl_journal_kind kind, struct bwl_err *e)
{
	struct bwl_journal_rec r = { .kind = kind };
	const char *dir = dir_of(p);

	return dir ? bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, e) : 0;
}

struct of {
	uint32_t id;
	struct bwl_pfxset set;
};

static int note_of(const struct bwl_pfx *pfx, uint32_t id, void *arg)
{
	struct of *o = arg;

	if (id == o->id)
		bwl_pfxset_add(&o->set, pfx, id);
	return 0;
}

int bwl_journal_grant(struct bwl_pins *p, const char *name, struct bwl_journal_limits lim,
		      uint64_t for_ns, struct bwl_err *e)
{
	struct bwl_journal_rec rec = { .kind = BWL_J_OPEN, .lim = lim };
	const char *dir = dir_of(p);
	struct of o = { 0 };
	struct bwl_gen g;
	int r;

	if (!dir)
		return 0;
	r = bwl_gen_open(p, bwl_active_slot(p), &g, e);
	if (r)
		return r;
	o.id = bwl_peer_id(p, &g, name);
	if (o.id && bwl_dest_each(&g, note_of, &o))
		r = bwl_fail(e, EIO, "cannot read the destinations of %s", name);
	bwl_gen_close(&g);
	snprintf(rec.name, sizeof(rec.name), "%.31s", name);
	if (for_ns != BWL_JOURNAL_SAME_END) {
		rec.lim.set |= BWL_JS_EXPIRY;
		rec.lim.expiry_s = for_ns ? (uint64_t)time(NULL) + for_ns / 1000000000 : 0;
	}
	rec.pfx = plain(o.set.item, o.set.n);
	rec.npfx = (uint32_t)o.set.n;
	if (!r)
		r = bwl_journal_append(dir, &rec, 1, BWL_JOURNAL_ANY, e);
	if (r && e && !*e->hint)
		bwl_hint(e,
			 "nothing was opened: what opens something must be in the journal first");
	free((void *)(uintptr_t)rec.pfx);
	bwl_pfxset_free(&o.set);
	return r;
}

int bwl_journal_limits(const struct bwl_pins *p, bool zone, const char *name,
		       struct bwl_journal_limits lim, struct bwl_err *e)
{
	struct bwl_journal_rec rec = { .kind = zone ? BWL_J_ZONE : BWL_J_PEER, .lim = lim };
	const char *dir = dir_of(p);
	struct bwl_err why = { 0 };

	snprintf(rec.name, sizeof(rec.name), "%.31s", name);
	if (!dir || !bwl_journal_append(dir, &rec, 1, BWL_JOURNAL_ANY, &why))
		return 0;
	bwl_fail(e, EIO, "it is changed, but only until reboot: %.600s", why.text);
	return bwl_hint(e, "%s", *why.hint ? why.hint : "fix that, then repeat the command");
}

int bwl_journal_raise(const struct bwl_pins *p, const struct bwl_policy *pol, uint64_t until_s,
		      struct bwl_err *e)
{
	const char *dir = dir_of(p);
	struct bwl_journal_rec *rec;
	struct bwl_journal j;
	size_t i, z, n = 0;
	int r = 0;

	bwl_journal_look(dir, &j);
	rec = bwl_must(calloc(j.closed.nlimits + 1, sizeof(*rec)));
	for (i = 0; i < j.closed.nlimits; i++) {
		const struct bwl_closed_limit *l = &j.closed.limit[i];
		bool named = !l->zone && bwl_policy_peer(pol, l->name);

		for (z = 0; l->zone && z < pol->nzones; z++)
			named |= !strncmp(pol->zones[z].name, l->name, BWL_NAME_LEN);
		if (!named || l->wall_s > until_s)
			continue;
		rec[n].kind = l->zone ? BWL_J_RAISE_ZONE : BWL_J_RAISE_PEER;
		memcpy(rec[n++].name, l->name, BWL_NAME_LEN);
	}
	if (n)
		r = bwl_journal_append(dir, rec, n, BWL_JOURNAL_ANY, e);
	free(rec);
	bwl_journal_free(&j);
	return r;
}
