// SPDX-License-Identifier: GPL-2.0-or-later
/* Raises the releases, and lowers those of windows: see release.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/policy.h>
#include "release_account.h"
#include "release_adopt.h"

#define SECOND 1000000000ULL
#define BUSY_NS 2000000ULL    /* minimum between two looks */
#define ACTIVE_NS 20000000ULL /* maximum while something is being spent */
#define IDLE_NS 100000000ULL  /* maximum while nothing is */
#define LOWER_NS (10 * SECOND)
#define ENDED_NS (60 * SECOND)
#define REFRESH_NS (60 * SECOND) /* windows: slices turn; a row is refreshed at most this often */

uint64_t releases_lead(uint64_t volume, uint64_t bytes_per_s, uint64_t burst)
{
	uint64_t lead = volume / 100, want = 2 * bytes_per_s + burst;

	if (bytes_per_s && want < lead)
		lead = want;
	if (lead < BWL_GSO_BURST)
		lead = BWL_GSO_BURST;
	return lead < volume ? lead : volume;
}

int releases_new(struct bwl_pins *pins, const char *era, struct releases **ret, struct bwl_err *e)
{
	struct releases *m = calloc(1, sizeof(*m));

	if (!m)
		return bwl_fail(e, ENOMEM, "out of memory");
	m->pins = pins;
	memcpy(m->era, era, strnlen(era, sizeof(m->era) - 1));
	*ret = m;
	return 0;
}

void releases_free(struct releases *m)
{
	if (m)
		free(m->t);
	free(m);
}

void releases_forget(struct releases *m)
{
	m->has_list = false;
}

bool releases_spent_much(const struct releases *m)
{
	return m->much;
}

void releases_forget_spent(struct releases *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		m->t[i].since = 0;
	m->much = false;
}

struct releases_count releases_count(const struct releases *m)
{
	return m->count;
}

static void add(const struct bwl_limit *l, uint32_t state, void *arg)
{
	struct releases *m = arg;
	const struct bwl_volume *v = &l->volume;
	char key[BWL_LIMIT_KEY];
	struct tracked *t;
	uint64_t since;

	if (v->spendable_bytes == BWL_VOLUME_NONE ||
	    state >= BWL_STATES(m->pins->schema.max_peers, m->pins->schema.max_extras) ||
	    (v->slice_ns && v->window >= m->pins->schema.max_windows))
		return;
	if (m->n == m->room) {
		t = reallocarray(m->t, m->room ? 2 * m->room : 64, sizeof(*t));
		if (!t) {
			m->has_list = false; /* the next look begins the list again */
			return;
		}
		m->room = m->room ? 2 * m->room : 64;
		m->t = t;
	}
	bwl_limit_key(m->pins, state, key);
	t = &m->t[m->n];
	since = m->n++ < m->was && !strcmp(t->key, key) ? t->since : 0;
	*t = (struct tracked){ .state = state,
			       .since = since,
			       .window = v->slice_ns ? v->window : BWL_NO_WINDOW,
			       .epoch = v->epoch,
			       .volume = v->spendable_bytes,
			       .slice_ns = v->slice_ns,
			       .bytes_per_s = bwl_rate_decode(&l->rate) / 8 };
	t->lead = releases_lead(t->volume, t->bytes_per_s,
				t->bytes_per_s ? bwl_rate_burst(&l->rate) : 0);
	memcpy(t->key, key, sizeof(t->key));
	t->used = used_of(m, t);
}

static bool is_current(const struct releases *m)
{
	const volatile struct bwl_ctl *c = m->pins->ctl;

	return m->has_list && m->generation == c->generation && m->edits == c->edits &&
	       m->slot == bwl_active_slot(m->pins);
}

/* Names of the list are in the policy, or were until now. */
static void see_all(const struct releases *m, struct ledger *l, uint64_t now)
{
	for (uint32_t i = 0; i < m->n; i++) {
		int at = ledger_find(l, m->t[i].key);

		if (at >= 0)
			ledger_see(l, at, now);
	}
}

static int list(struct releases *m, struct ledger *l, struct bwl_err *e)
{
	const volatile struct bwl_ctl *c = m->pins->ctl;
	struct bwl_gen g;
	int r;

	see_all(m, l, bwl_now_ns());
	m->was = m->n;
	m->n = 0;
	m->generation = c->generation;
	m->edits = c->edits;
	m->slot = bwl_active_slot(m->pins);
	m->has_list = true;
	if (m->slot == BWL_NO_SLOT)
		return 0;
	r = bwl_gen_open(m->pins, m->slot, &g, e);
	if (r) {
		m->has_list = false;
		return r;
	}
	bwl_limit_each(m->pins, &g, add, m);
	bwl_gen_close(&g);
	m->count.volumes = m->n;
	return m->has_list ? 0 : bwl_fail(e, ENOMEM, "out of memory");
}

/*
 * Not while the policy is being changed: the writer then holds accounts full, and a full account
 * would be written, and released, as spent. Entries of the previous list keep their accounts and
 * continue.
 */
static int scan(struct releases *m, struct ledger *l, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int still = bwl_pins_still(m->pins);

	if (still == -EWOULDBLOCK)
		return 0;
	if (still < 0)
		return bwl_fail(e, -still, "cannot lock %s: %s", m->pins->dir, strerror(-still));
	return bwl_is_held(m->pins) ? 0 : list(m, l, e); /* by a killed writer: reconcile.c */
}

/* part: how many quarters of the lead must be left; with less it is due. */
static bool is_due(struct releases *m, struct tracked *t, unsigned part)
{
	uint64_t released = released_read(m, t), used = used_of(m, t);

	t->want = used + t->lead < t->volume ? used + t->lead : t->volume;
	if (t->want < used)
		t->want = used;
	if (!released_is_bytes(released) || t->no_row)
		return true;
	return t->want > released && (released < used || released - used < t->lead / 4 * part);
}

static int stage(struct releases *m, struct ledger *l, struct tracked *t, uint64_t now)
{
	uint64_t released = released_read(m, t);
	int at = ledger_find(l, t->key);
	struct ledger_row row;

	if (released_is_bytes(released) && t->want < released)
		t->want = released;
	row = row_of(m, t, t->want, now);
	/* A total never falls, even if its row is higher than the maps. */
	if (t->window == BWL_NO_WINDOW && at >= 0 && ledger_at(l, at)->spent > row.spent &&
	    !ledger_at(l, at)->slice_ns)
		row.spent = ledger_at(l, at)->spent;
	t->wrote_ns = now;
	return ledger_put(l, &row);
}

/*
 * If somebody else has written the release meanwhile (for example for a new owner of the state),
 * that one is right.
 */
static void release(struct releases *m, struct tracked *t, __u64 was)
{
	if (__atomic_compare_exchange_n(&release_of(m, t)->spendable_bytes, &was, t->want, false,
					__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) &&
	    released_is_bytes(was) && t->want > was)
		t->since += t->want - was;
	m->much |= t->since > t->volume / 10;
}

uint32_t releases_most_rows(const struct bwl_schema *s)
{
	return 2 * (s->max_peers + s->max_extras);
}

/*
 * The rows that there still may be go to those who were first in the list. Who gets none is closed,
 * also if no ledger had come before.
 */
static void give_room(struct releases *m, const struct ledger *l)
{
	uint32_t left, i;

	m->count.rows = (uint32_t)ledger_count(l);
	m->count.most = releases_most_rows(&m->pins->schema);
	m->count.full = 0;
	left = m->count.most > m->count.rows ? m->count.most - m->count.rows : 0;
	for (i = 0; i < m->n; i++) {
		struct tracked *t = &m->t[i];
		__u64 none = BWL_RELEASE_NONE;

		t->full = t->ready && t->no_row && !left;
		if (t->ready && t->no_row && left)
			left--;
		if (!t->full)
			continue;
		if (!m->count.full++)
			memcpy(m->count.full_key, t->key, sizeof(m->count.full_key));
		__atomic_compare_exchange_n(&release_of(m, t)->spendable_bytes, &none,
					    BWL_RELEASE_CLOSED, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	}
}

static bool may_raise(const struct tracked *t)
{
	return t->ready && !t->full;
}

static int raise_due(struct releases *m, struct ledger *l, struct bwl_err *e)
{
	BWL_AUTO_FREE uint64_t *was = NULL;
	uint64_t now = bwl_now_ns();
	bool any = false;
	uint32_t i;
	int r = 0;

	give_room(m, l);
	for (i = 0; i < m->n && !any; i++)
		any = may_raise(&m->t[i]) && is_due(m, &m->t[i], 2);
	if (!any)
		return 0;
	was = calloc(m->n, sizeof(*was));
	if (!was)
		return bwl_fail(e, ENOMEM, "out of memory");
	/* One commit for all of them, including those that will be due soon: fewer writes. */
	for (i = 0; !r && i < m->n; i++) {
		struct tracked *t = &m->t[i];

		was[i] = released_read(m, t);
		t->due = may_raise(t) && is_due(m, t, 3);
		if (t->due)
			r = stage(m, l, t, now);
	}
	r = r ? bwl_fail(e, ENOMEM, "out of memory") : ledger_commit(l, e);
	for (i = 0; !r && i < m->n; i++) {
		struct tracked *t = &m->t[i];

		if (!t->due)
			continue;
		release_of(m, t)->unknown_bytes = 0; /* from now on the row has it as spent */
		t->no_row = false;
		release(m, t, was[i]);
	}
	if (!r)
		m->pins->ctl->ledger |= BWL_LEDGER_CAME;
	return r;
}

/*
 * A window's total falls as slices expire, and its row must not keep for ever what was once spent:
 * a reboot would lose that much. The release is lowered first, then the row; in between nothing
 * passes beyond the release.
 */
static int lower(struct releases *m, struct ledger *l, uint64_t now, struct bwl_err *e)
{
	uint64_t age[LEDGER_SLICES], left, released;
	uint32_t i, n = 0, k;
	int r = 0;

	for (i = 0; i < m->n; i++) {
		struct tracked *t = &m->t[i];

		t->due = false;
		released = released_read(m, t);
		if (t->window == BWL_NO_WINDOW || !may_raise(t) || !released_is_bytes(released))
			continue;
		window_ages(m, t, now, age);
		for (k = 0, left = 0; k < LEDGER_SLICES; k++)
			left += age[k];
		t->want = left + t->lead < t->volume ? left + t->lead : t->volume;
		t->due = released > t->want && released - t->want > t->lead;
		if (t->due)
			release(m, t, released);
		else if (left && now - t->wrote_ns > REFRESH_NS && now - t->wrote_ns > t->slice_ns)
			t->due = true; /* its slices are older now */
		n += t->due;
	}
	if (!n)
		return 0;
	r = releases_grace(m, e);
	for (i = 0; !r && i < m->n; i++) {
		struct tracked *t = &m->t[i];

		if (!t->due)
			continue;
		window_ages(m, t, now, age);
		for (k = 0, left = 0; k < LEDGER_SLICES; k++)
			left += age[k];
		released = released_read(m, t);
		t->want = released_is_bytes(released) && released > left ? released : left;
		r = stage(m, l, t, now) ? bwl_fail(e, ENOMEM, "out of memory") : 0;
	}
	return r ? r : ledger_commit(l, e);
}

/*
 * Not while a policy is tried, whose predecessor may come back, nor while none is in force: then
 * nobody knows who is named. A window that no policy has named for as long as it is has forgotten
 * all, whatever its slices say: they are at most as old as they were when it left.
 */
static int drop_ended(struct releases *m, struct ledger *l, uint64_t now, struct bwl_err *e)
{
	const struct ledger_row *row;
	bool any = false;
	int i, r = 0;

	if (!is_current(m) || m->slot == BWL_NO_SLOT || bwl_slot_before(m->pins) != BWL_NO_SLOT)
		return 0;
	see_all(m, l, now);
	for (i = 0; !r && i < ledger_count(l); i++) {
		row = ledger_at(l, i);
		if (!ledger_seen(l, i))
			ledger_see(l, i, now);
		if (!row->slice_ns || now - ledger_seen(l, i) <= BWL_SLICES_KEPT * row->slice_ns)
			continue;
		r = ledger_drop(l, row->key);
		any = true;
	}
	if (r)
		return bwl_fail(e, ENOMEM, "out of memory");
	return any ? ledger_commit(l, e) : 0;
}

/* When the fastest of the accounts being spent may be due. */
static uint64_t next_look(struct releases *m)
{
	uint64_t ns = IDLE_NS, used, released, room, due;
	uint32_t i;

	m->count.waiting = 0;
	for (i = 0; i < m->n; i++) {
		struct tracked *t = &m->t[i];

		used = used_of(m, t);
		released = released_read(m, t);
		m->count.waiting += released != BWL_RELEASE_NONE && used < t->volume &&
				    (released < used || released - used < BWL_MIN_BURST) &&
				    released < t->volume;
		if (used == t->used)
			continue;
		t->used = used;
		if (ns > ACTIVE_NS)
			ns = ACTIVE_NS;
		room = released > used ? released - used : 0;
		room = room > t->lead / 2 ? room - t->lead / 2 : 0;
		due = t->bytes_per_s ? (uint64_t)((double)room * 1e9 / (double)t->bytes_per_s)
				     : BUSY_NS;
		if (released < t->volume && due < ns)
			ns = due < BUSY_NS ? BUSY_NS : due;
	}
	return ns;
}

int releases_run(struct releases *m, struct ledger *l, uint64_t *ret_ns, struct bwl_err *e)
{
	uint64_t now = bwl_now_ns();
	int r = 0;

	*ret_ns = IDLE_NS;
	if (!is_current(m))
		r = scan(m, l, e);
	if (!r)
		r = releases_adopt(m, l, e);
	if (!r)
		r = raise_due(m, l, e);
	if (!r && now - m->lowered_ns > LOWER_NS) {
		r = lower(m, l, now, e);
		m->lowered_ns = now;
	}
	if (!r && now - m->ended_ns > ENDED_NS) {
		r = drop_ended(m, l, now, e);
		m->ended_ns = now;
	}
	*ret_ns = next_look(m);
	if (!is_current(m) && *ret_ns > BUSY_NS)
		*ret_ns = BUSY_NS;
	return r;
}
