// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads an account, and waits until nothing uses earlier values: see release_account.h. */
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "release_account.h"

int releases_grace(struct releases *m, struct bwl_err *e)
{
	BWL_AUTO(bwl_pins_close) struct bwl_pins *p = NULL;
	int r;

	/* Ends in synchronize_rcu(): programs run under RCU (kernel >= 4.20). */
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		return 0;
	/* not possible with nohz_full: do what a writer does, under the lock */
	r = bwl_pins_open(m->pins->dir, true, &p, e);
	if (r)
		return r;
	r = bwl_pins_lock(p, e);
	if (!r)
		r = bwl_grace(p, e);
	return r;
}

void window_ages(const struct releases *m, const struct tracked *t, uint64_t now_ns,
		 uint64_t age[LEDGER_SLICES])
{
	const volatile struct bwl_window *w = &m->pins->window[t->window];
	uint64_t now = now_ns / t->slice_ns, turn, slice[BWL_SLICES_KEPT], newest, back;
	unsigned i, tries;

	for (tries = 0; tries < 1000; tries++) {
		turn = w->turn;
		for (i = 0; i < BWL_SLICES_KEPT; i++)
			slice[i] = w->slice_bytes[i];
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (!(turn & BWL_TURN_LOCK) && turn == w->turn)
			break;
	}
	memset(age, 0, LEDGER_SLICES * sizeof(*age));
	newest = turn & BWL_TURN_SLICE_MASK;
	if ((turn & ~BWL_TURN_LOCK) >> BWL_TURN_EPOCH_SHIFT != (t->epoch & 0x7f) || newest > now)
		newest = now; /* the slices had another length: they count as new */
	for (i = 0; i < BWL_SLICES_KEPT; i++) {
		if (slice[i] >> 63)
			continue;
		back = (newest % BWL_SLICES_KEPT + BWL_SLICES_KEPT - i) % BWL_SLICES_KEPT +
		       (now - newest);
		if (back < LEDGER_SLICES)
			age[back] += slice[i];
	}
}

struct ledger_row row_of(const struct releases *m, const struct tracked *t, uint64_t spent,
			 uint64_t now_ns)
{
	struct ledger_row r = { .spent = spent };

	memcpy(r.key, t->key, sizeof(t->key));
	memcpy(r.era, m->era, sizeof(r.era));
	if (t->window != BWL_NO_WINDOW) {
		r.slice_ns = t->slice_ns;
		r.at_ns = now_ns;
		window_ages(m, t, now_ns, r.slice);
	}
	return r;
}
