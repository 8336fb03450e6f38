// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After a reboot the maps are new, and a volume starts as spent because they know nothing of its
 * past. The ledger knows it: the account becomes what its row says, plus what passed in these maps.
 *
 *   1  the release is closed, and no packet is on its way past it
 *   2  the row is written with the account's future value, marked pending
 *   3  the account is set, and is known from then on
 *   4  the next commit clears `pending` and raises the release (release.c)
 *
 * After a kill at any point it begins again: before 2 nothing has changed, after it nothing passed.
 */
#include <string.h>
#include <syslog.h>
#include "agent.h"
#include "release_adopt.h"

static uint64_t sum(const uint64_t v[LEDGER_SLICES])
{
	uint64_t s = 0;
	unsigned i;

	for (i = 0; i < LEDGER_SLICES; i++)
		s += v[i];
	return s;
}

static bool is_other(const struct releases *m, const struct tracked *t,
		     const struct ledger_row *row)
{
	return strcmp(row->era, m->era) || row->pending || release_of(m, t)->unknown_bytes;
}

/* The account's bytes, without those that were put there because nothing was known. */
static void known_ages(const struct releases *m, const struct tracked *t, uint64_t now,
		       uint64_t age[LEDGER_SLICES])
{
	uint64_t unknown = release_of(m, t)->unknown_bytes;
	int i;

	window_ages(m, t, now, age);
	for (i = LEDGER_SLICES - 1; unknown && i >= 0; i--)
		if (age[i] >= unknown) {
			age[i] -= unknown;
			break;
		}
}

static struct ledger_row target_of(const struct releases *m, const struct tracked *t,
				   const struct ledger_row *was, uint64_t now)
{
	uint64_t unknown = release_of(m, t)->unknown_bytes, used = used_of(m, t), fed;
	struct ledger_row r = row_of(m, t, 0, now);
	unsigned i;

	r.pending = 1;
	if (t->window == BWL_NO_WINDOW) {
		r.spent = was->spent + (used > unknown ? used - unknown : 0);
		return r;
	}
	known_ages(m, t, now, r.slice);
	fed = sum(was->slice);
	/* Time without counting does not age a slice: it stays as old as it was. */
	if (was->slice_ns == t->slice_ns && fed <= was->spent) {
		for (i = 0; i < LEDGER_SLICES; i++)
			r.slice[i] += was->slice[i];
		r.slice[0] += was->spent - fed;
	} else {
		r.slice[0] += was->spent;
	}
	r.spent = sum(r.slice);
	return r;
}

/*
 * Nobody else writes the window: a packet that reads a closed release leaves it as it is
 * (bwl_limit_volume()), and releases_grace() has waited for packets that had read an open one. A
 * lock bit that is set was left by a process that died.
 */
static void fill_window(struct bwl_window *w, const struct tracked *t, const struct ledger_row *row)
{
	uint64_t now = bwl_now_ns() / t->slice_ns & BWL_TURN_SLICE_MASK, i;

	__atomic_fetch_or(&w->turn, BWL_TURN_LOCK, __ATOMIC_SEQ_CST);
	w->total_bytes = row->spent;
	for (i = 0; i < LEDGER_SLICES; i++)
		w->slice_bytes[(now + BWL_SLICES_KEPT - i) % BWL_SLICES_KEPT] = row->slice[i];
	w->slice_ns = t->slice_ns;
	__atomic_store_n(&w->turn, now | (uint64_t)t->epoch << BWL_TURN_EPOCH_SHIFT,
			 __ATOMIC_SEQ_CST);
}

static void put_in_maps(struct releases *m, struct tracked *t, const struct ledger_row *row)
{
	if (t->window == BWL_NO_WINDOW)
		__atomic_store_n(&m->pins->state[t->state].used_bytes, row->spent,
				 __ATOMIC_SEQ_CST);
	else
		fill_window(&m->pins->window[t->window], t, row);
	release_of(m, t)->unknown_bytes = 0;
	m->count.restored++;
	t->ready = true;
	agent_log(LOG_INFO, "ledger", "%s: %llu bytes count as spent, according to the ledger",
		  t->key, (unsigned long long)row->spent);
}

/* Within the same maps a row is never behind its release: if it is, the ledger is an old copy. */
static int check(const struct releases *m, const struct tracked *t, const struct ledger_row *row,
		 struct bwl_err *e)
{
	uint64_t released = released_read(m, t);

	if (!released_is_bytes(released) || row->spent >= released)
		return 0;
	return bwl_fail(
		e, EUCLEAN,
		"the ledger has %llu bytes of %s, but %llu were released: it is an old copy",
		(unsigned long long)row->spent, t->key, (unsigned long long)released);
}

static int find_others(struct releases *m, struct ledger *l, uint32_t *ret_n, struct bwl_err *e)
{
	uint32_t i, n = 0;
	int at, r = 0;

	for (i = 0; !r && i < m->n; i++) {
		struct tracked *t = &m->t[i];

		t->due = false;
		if (t->ready)
			continue;
		at = ledger_find(l, t->key);
		t->due = at >= 0 && is_other(m, t, ledger_at(l, at));
		t->ready = !t->due;
		t->no_row = at < 0;
		if (t->due)
			n++;
		else if (at >= 0)
			r = check(m, t, ledger_at(l, at), e);
		if (at < 0 && release_of(m, t)->unknown_bytes) {
			m->count.unknown++;
			agent_log(
				LOG_WARNING, "ledger",
				"%s: neither maps nor ledger know its past use: its volume counts as spent; bwlimit-ctl grant NAME volume +V once gives it V",
				t->key);
		}
	}
	*ret_n = n;
	return r;
}

static int adopt_all(struct releases *m, struct ledger *l, struct bwl_err *e)
{
	uint64_t now;
	uint32_t i;
	int r;

	for (i = 0; i < m->n; i++)
		if (m->t[i].due)
			__atomic_store_n(&release_of(m, &m->t[i])->spendable_bytes,
					 BWL_RELEASE_CLOSED, __ATOMIC_SEQ_CST);
	r = releases_grace(m, e);
	now = bwl_now_ns();
	for (i = 0; !r && i < m->n; i++) {
		const struct ledger_row *was;
		struct ledger_row row;

		if (!m->t[i].due)
			continue;
		was = ledger_at(l, ledger_find(l, m->t[i].key));
		/* Pending in these maps: it already has the account's future value. */
		if (was->pending && !strcmp(was->era, m->era))
			continue;
		row = target_of(m, &m->t[i], was, now);
		if (ledger_put(l, &row))
			r = bwl_fail(e, ENOMEM, "out of memory");
	}
	if (!r)
		r = ledger_commit(l, e);
	for (i = 0; !r && i < m->n; i++)
		if (m->t[i].due)
			put_in_maps(m, &m->t[i], ledger_at(l, ledger_find(l, m->t[i].key)));
	return r;
}

int releases_adopt(struct releases *m, struct ledger *l, struct bwl_err *e)
{
	uint32_t n;
	int r = find_others(m, l, &n, e);

	return r || !n ? r : adopt_all(m, l, e);
}
