// SPDX-License-Identifier: GPL-2.0-or-later
/* Applies what the journal has closed to policies and maps: see journal.h. */
#include <time.h>
#include <bwl/publish.h>
#include <bwl/generation.h>
#include "journal.h"

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)

static bool is_cut(const struct bwl_journal *j)
{
	return j->state == BWL_JOURNAL_MISSING || j->state == BWL_JOURNAL_CUT;
}

void bwl_journal_warn(const struct bwl_journal *j)
{
	if (is_cut(j))
		bwl_warn(
			"the journal of closures cannot be trusted: %s; everything that it could have closed is closed: bwlimit-ctl journal init, then `bwlimit-ctl stop --off`, `heartbeat --lift`, and `grant NAME` for each peer that may send",
			j->why);
}

static void close_unknown(struct bwl_pins *p, struct bwl_policy *pol)
{
	uint32_t slot = bwl_active_slot(p);
	bool has = false;
	struct bwl_gen g;
	size_t i;

	if (slot != BWL_NO_SLOT)
		has = !bwl_gen_open(p, slot, &g, NULL);
	for (i = 0; i < pol->npeers; i++)
		if (!has || !bwl_peer_id(p, &g, pol->peers[i].name))
			pol->peers[i].revoked = true;
	if (has)
		bwl_gen_close(&g);
}

void bwl_journal_into_policy(struct bwl_pins *p, const struct bwl_journal *j,
			     struct bwl_policy *pol, bool lower, bool trust_clock)
{
	if (is_cut(j))
		close_unknown(p, pol);
	if (j->state != BWL_JOURNAL_OK)
		return;
	bwl_closed_into_policy(&j->closed, pol);
	if (lower)
		bwl_closed_lower(&j->closed, pol, bwl_now_ns(), (uint64_t)time(NULL),
				 trust_clock || bwl_wall_state() == BWL_WALL_OK);
}

void bwl_journal_policy(struct bwl_pins *p, struct bwl_policy *pol, bool lower, bool trust_clock)
{
	struct bwl_journal j;

	bwl_journal_look(bwl_journal_dir(p->ctl->drill), &j);
	bwl_journal_warn(&j);
	bwl_journal_into_policy(p, &j, pol, lower, trust_clock);
	bwl_journal_free(&j);
}

/* Changes the word in the maps from its present value: a concurrent change wins. */
static bool turn(struct bwl_pins *p, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&p->ctl->stop, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

void bwl_journal_stop(struct bwl_pins *p)
{
	uint32_t was = LOAD(p->ctl->stop);

	while (was != BWL_STOPPED &&
	       !__atomic_compare_exchange_n(&p->ctl->stop, &was, BWL_STOPPED, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

bool bwl_journal_is_unjudged(const struct bwl_pins *p)
{
	uint32_t is = LOAD(p->ctl->stop);

	return is == BWL_CLOSED_UNJUDGED || is == BWL_UNJUDGED || is == BWL_STOPPED_UNJUDGED;
}

void bwl_journal_unjudged(struct bwl_pins *p)
{
	turn(p, BWL_UNJUDGED, BWL_CLOSED_UNJUDGED);
	turn(p, BWL_CLOSED, BWL_CLOSED_UNJUDGED);
}

void bwl_journal_judged(struct bwl_pins *p)
{
	turn(p, BWL_CLOSED_UNJUDGED, BWL_CLOSED);
	turn(p, BWL_UNJUDGED, BWL_RUN);
	turn(p, BWL_STOPPED_UNJUDGED, BWL_STOPPED);
}

static bool is_granted(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id)
{
	const struct bwl_peer *body = bwl_body(p, g, id);

	return body && !bwl_revoked_since(p, id, body->meta.grant_seq);
}

static void close_names(struct bwl_pins *p, const struct bwl_closed *c)
{
	struct bwl_gen g;

	if (!bwl_closed_names(c) || bwl_gen_open(p, bwl_active_slot(p), &g, NULL))
		return;
	for (uint32_t id = 1; id < p->schema.max_peers; id++)
		if (is_granted(p, &g, id) && bwl_closed_name_is(c, p->name[id].name))
			bwl_revoke(p, p->name[id].name, NULL);
	bwl_gen_close(&g);
}

void bwl_journal_boot(struct bwl_pins *p, const struct bwl_journal *j)
{
	/* An old copy that says stop must still be detected as old: it stays unjudged. */
	if (is_cut(j) || (j->closed.stop && !turn(p, BWL_CLOSED_UNJUDGED, BWL_STOPPED_UNJUDGED) &&
			  !turn(p, BWL_UNJUDGED, BWL_STOPPED_UNJUDGED)))
		bwl_journal_stop(p);
	if (j->closed.clamp && !bwl_is_clamped(p) && !bwl_clamp(p))
		bwl_revoke(p, NULL, NULL); /* like bwlimitd if the policy has no heartbeat */
	close_names(p, &j->closed);
}
