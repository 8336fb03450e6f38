/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A volume's account in the maps, as the ledger follows it: its release, what it has spent, and for
 * windows the ages. Below release.c and release_adopt.c, which both change it.
 */
#ifndef BWL_AGENT_RELEASE_ACCOUNT_H
#define BWL_AGENT_RELEASE_ACCOUNT_H

#include "release.h"

struct tracked {
	char key[BWL_LIMIT_KEY];
	uint32_t state, window; /* window: BWL_NO_WINDOW for a total volume */
	uint32_t epoch;
	uint64_t volume, slice_ns, lead, bytes_per_s;
	uint64_t used;     /* at the last check */
	uint64_t wrote_ns; /* when its row was written */
	bool ready;        /* its row belongs to these maps, or it has none */
	bool no_row;
	bool full; /* no_row, and there is no room for one */
	bool due;
	uint64_t want;  /* due: the next release */
	uint64_t since; /* released since releases_forget_spent() */
};

struct releases {
	struct bwl_pins *pins;
	char era[LEDGER_ERA];
	struct tracked *t;
	uint32_t n, room, was; /* was: number in the previous list */
	bool much;
	uint32_t slot, generation, edits; /* of the policy that t is from */
	bool has_list;
	uint64_t lowered_ns, ended_ns;
	struct releases_count count;
};

static inline struct bwl_release *release_of(const struct releases *m, const struct tracked *t)
{
	return &m->pins->mark[t->state];
}
static inline uint64_t released_read(const struct releases *m, const struct tracked *t)
{
	return __atomic_load_n(&release_of(m, t)->spendable_bytes, __ATOMIC_SEQ_CST);
}
static inline bool released_is_bytes(uint64_t released)
{
	return released > BWL_RELEASE_CLOSED;
}
/* What its volume counts: total, or the window's. A negative count (see carry.c) is closed. */
static inline uint64_t used_of(const struct releases *m, const struct tracked *t)
{
	uint64_t v;

	if (t->window == BWL_NO_WINDOW)
		return __atomic_load_n(&m->pins->state[t->state].used_bytes, __ATOMIC_SEQ_CST);
	v = __atomic_load_n(&m->pins->window[t->window].total_bytes, __ATOMIC_SEQ_CST);
	return v >> 63 ? t->volume : v;
}

/* Bytes by the age of their slice, the newest first, as a packet at now_ns would see them. */
void window_ages(const struct releases *m, const struct tracked *t, uint64_t now_ns,
		 uint64_t age[LEDGER_SLICES]);
/* Waits until no packet uses an earlier release. */
int releases_grace(struct releases *m, struct bwl_err *e);
/* A row for t in these maps. */
struct ledger_row row_of(const struct releases *m, const struct tracked *t, uint64_t spent,
			 uint64_t now_ns);

#endif
