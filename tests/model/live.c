// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lower bound: what is allowed passes again. The promises only say what may not pass; what
 * must is what they leave open. Where
 *
 *   open     nothing may still be revoked by name or prefix, since the last grant of it,
 *   idle     a limit was idle until its bucket is full and its window has passed, also if all of
 *            both was owed when that began: burst / rate, the longest horizon, 12/11 of the
 *            window since the first packet under it,
 *   room     and a volume in total is larger by a whole volume than all that ever passed,
 *
 * there the whole volume passes, at half of the rate, by IPv4 and IPv6: not a frame is refused.
 *
 * After each fault in a sequence (a writer that was killed, a policy that was refused, a way back,
 * a reboot) this is judged aside, on maps that are thrown away: the sequence goes on as if nobody
 * had asked, and draws nothing more. At its end it is judged on its own maps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sequence.h"

#define HORIZON_NS (MODEL_SECOND / 4) /* the longest default */
#define BURST_NS (MODEL_BURST * 8 * MODEL_SECOND / MODEL_RATE)
#define PACE_NS (2ULL * MODEL_FRAME * 8 * MODEL_SECOND / MODEL_RATE)
#define ROOM (MODEL_VOLUME / MODEL_FRAME)
/* "New limits stay closed for a minute", until bwlimitd settles, where a tool was killed. */
#define KILLED_NS (60 * MODEL_SECOND)

/* What may be so of names and of destinations. */
struct doubt {
	bool name[NNAMES], dest[NDESTS];
};
static struct {
	const char *event;
	struct doubt closed;
	struct doubt spent; /* volumes in total, of whose past nothing is known: they begin spent */
	bool had[NNAMES][NDESTS];  /* ever */
	bool kept[NNAMES][NDESTS]; /* of a name in doubt, what it had: closed until it is granted */
	int zone_name;
	unsigned asked;
} live;

/* All of it takes as long as the rest: of some sequences, or where one alone is looked at. */
static bool in_each(unsigned n)
{
	return !(m->seed % n) || getenv("MODEL_LIVE") || getenv("MODEL_SEED");
}

void live_begin(void)
{
	memset(&live, 0, sizeof(live));
}

/* Who has, or had, a prefix in doubt is in doubt; and so is all that it has. */
static void spread(const struct policy *p, struct doubt *x)
{
	bool more = p->any;

	while (more) {
		more = false;
		for (unsigned i = 0; i < NPLACES; i++) {
			int k = p->of_place[i];
			bool *dest = x->dest + places[i].first;
			size_t n = places[i].last - places[i].first + 1;
			bool any = k >= 0 && (x->name[k] || memchr(dest, true, n));

			if (!any || (x->name[k] && !memchr(dest, false, n)))
				continue;
			more = x->name[k] = true;
			memset(dest, true, n);
		}
	}
}

static void keep(void)
{
	for (unsigned k = 0; k < NNAMES; k++)
		for (unsigned d = 0; live.closed.name[k] && d < NDESTS; d++)
			live.kept[k][d] |= live.had[k][d];
}

void live_revoked(int k)
{
	live.closed.name[k] = true;
	for (unsigned d = 0; d < NDESTS; d++)
		live.closed.dest[d] |= live.had[k][d];
	spread(&m->now, &live.closed);
	spread(&m->before, &live.closed);
	spread(&m->lost, &live.closed);
	keep();
}

/* Who has what another one had, and is revoked with, is open until the next policy
 * (docs/track-record.md, "Open"). */
void live_granted(int k)
{
	memset(live.kept[k], false, sizeof(live.kept[k]));
	for (unsigned d = 0; d < NDESTS; d++)
		for (int j = 0; has_dest(&m->now, k, d) && j < NNAMES; j++)
			if (live.kept[j][d])
				return;
	live.closed.name[k] = false;
	for (unsigned d = 0; d < NDESTS; d++)
		if (has_dest(&m->now, k, d))
			live.closed.dest[d] = false;
}

/* Only what the first policy brings begins unspent, until it has left. */
static void begins_spent(const struct policy *p)
{
	bool first = !m->now.any && !m->rebooted, back = ref_trial_ns();

	if (first)
		live.zone_name = p->zone_name;
	for (int k = 0; k < NNAMES; k++)
		live.spent.name[k] |= first ? !has(p, k)
					    : !has(&m->now, k) && !(back && has(&m->before, k));
	if (m->rebooted || (p->zone && p->zone_name != live.zone_name))
		memset(live.spent.name, true, sizeof(live.spent.name));
	spread(p, &live.spent);
}

void live_policy(const struct policy *p)
{
	/* Who has what a closed one had is closed with the next policy (docs/track-record.md,
	 * "Open"). */
	for (unsigned k = 0; k < NNAMES; k++)
		for (unsigned d = 0; d < NDESTS; d++)
			live.closed.dest[d] |= live.kept[k][d];
	for (unsigned i = 0; p->any && i < NPLACES; i++)
		for (unsigned d = places[i].first; p->of_place[i] >= 0 && d <= places[i].last; d++)
			live.had[p->of_place[i]][d] = true;
	spread(p, &live.closed);
	keep();
	begins_spent(p);
}

static bool must_pass(unsigned d)
{
	int k = m->now.name[d];

	return k >= 0 && !live.closed.name[k] && !live.closed.dest[d];
}

static void idle(void)
{
	uint64_t ns = window[m->now.window].ns;

	level_advance(BURST_NS + HORIZON_NS);
	/* The first packet under a new window that the rate lets through begins its slices. */
	for (unsigned d = 0; ns && d < NDESTS; d++)
		if (m->now.name[d] >= 0 && bwl_reason_is_pass(level_send(d, false)))
			ref_passed(d, level_now());
	if (ns)
		level_advance(ns / 11 * 12 + MODEL_SECOND);
}

/* A total becomes a window in this sequence, or a window a total: what is spent may count twice. */
static bool turns(void)
{
	return !window[m->windows[0]].ns != !window[m->windows[1]].ns;
}

/* So many frames there is room for after an idle window, by the volume that this name is under. */
static unsigned room(int k)
{
	uint64_t passed = ref_bytes();
	bool spent = !m->now.zone && live.spent.name[k];

	if (window[m->now.window].ns || m->now.volume /* apply_again() */)
		return ROOM;
	for (int i = 0; m->now.zone && i < NNAMES; i++)
		spent |= live.spent.name[i] && has(&m->now, i);
	if (spent || passed >= MODEL_VOLUME || (passed && turns()))
		return 0;
	return (unsigned)(MODEL_VOLUME - passed) / MODEL_FRAME;
}

/* These have one volume. */
static void all_of(const bool *dests, unsigned frames, bool refer)
{
	unsigned i, n = 0, dest[NDESTS], reason;
	const char *why;

	for (i = 0; i < NDESTS; i++)
		if (dests[i])
			dest[n++] = i;
	for (i = 0; n && i < frames; i++) {
		unsigned d = dest[i / 2 % n];

		reason = level_send(d, i % 2);
		if (!bwl_reason_is_pass(reason))
			broken("%s: %u: frame %u of %u, by IPv%d, is refused (%s), though it is allowed",
			       live.event, d, i + 1, frames, i % 2 ? 6 : 4,
			       bwl_reason_name(reason));
		why = refer ? ref_passed(d, level_now()) : NULL;
		if (why)
			broken("%u: %s", d, why);
		level_advance(PACE_NS);
	}
}

static void all_pass(bool refer)
{
	int k, last = m->now.zone ? 0 : NNAMES - 1;

	for (k = 0; k <= last; k++) {
		bool dests[NDESTS];

		for (unsigned d = 0; d < NDESTS; d++)
			dests[d] = must_pass(d) && (m->now.zone || m->now.name[d] == k);
		all_of(dests, room(k), refer);
	}
}

void live_at_end(void)
{
	unsigned rounds = in_each(32) ? 4 : in_each(8); /* 240 frames of each limit, or 60 */

	live.event = "at the end";
	while (rounds--) {
		idle();
		all_pass(true);
	}
}

static bool ends_trial(void)
{
	struct bwl_err e = { 0 };
	int r;

	if (!ref_trial_ns())
		return true;
	if (m->before.any && (live.asked % 2 || level_now() >= ref_trial_ns())) {
		tell("  ASIDE: ROLLBACK\n");
		r = bwl_rollback(level_pins(), &e);
		m->now = m->before;
		live_policy(&m->now);
	} else if (level_now() < ref_trial_ns()) {
		tell("  ASIDE: CONFIRM\n");
		r = bwl_confirm(level_pins(), &e);
	} else {
		return false; /* its end has come, and no way back is left */
	}
	if (r)
		broken("%s: %s", live.event, e.text);
	return true;
}

static void apply_again(void)
{
	const struct bwl_publish_opts o = { 0 };
	struct bwl_err e = { 0 };

	tell("  ASIDE: APPLY AGAIN\n");
	if (!window[m->now.window].ns)
		/* it may have begun spent */
		m->now.volume = (2 * MODEL_VOLUME + ref_bytes()) * (turns() ? 8 : 1);
	if (publish(&m->now, &o, &e))
		broken("%s: %s", live.event, e.text);
}

static void grant_all(void)
{
	const struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	struct bwl_err e = { 0 };

	tell("  ASIDE: GRANT all\n");
	for (int k = 0; k < NNAMES; k++) {
		if (!has(&m->now, k))
			continue;
		if (bwl_peer_change(level_pins(), name[k], &c, &e))
			broken("%s: grant %s: %s", live.event, name[k], e.text);
		live_granted(k);
	}
}

/* By time alone; by the same policy, applied again; by grants; by both. */
static void aside(void)
{
	unsigned how = live.asked / 2 % 4;
	struct bwl_err e = { 0 };

	m = memcpy(malloc(sizeof(*m)), m, sizeof(*m));
	m->aside = true; /* no flood: it would spend what is asked for */
	if (!ends_trial())
		return;
	if (how & 1)
		apply_again();
	else
		level_advance(KILLED_NS);
	level_reopen();
	if (bwl_settle_held(level_pins()->dir, &e)) /* as bwlimitd does, each minute */
		broken("%s: %s", live.event, e.text);
	if (how & 2)
		grant_all();
	idle();
	all_pass(false);
}

void live_after(const char *event)
{
	if (!m->now.any || !in_each(32))
		return;
	live.event = event;
	live.asked = (unsigned)m->seed + live.asked + 1;
	level_aside(aside);
}
