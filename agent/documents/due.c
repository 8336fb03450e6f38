// SPDX-License-Identifier: GPL-2.0-or-later
/* What a document asks to be done once, after the desired policy is in force: see part.h. */
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <bwl/publish.h>
#include "agent.h"
#include "bwl/heartbeat.h"
#include "journal/journal.h"
#include "part.h"

static int open_one(struct bwl_pins *p, const char *name, struct bwl_err *e)
{
	const struct bwl_change c = { .set = BWL_SET_AUTHORISE, .allowed = true };
	int r = bwl_audit_intent(e, "opened %s: a signed document orders it", name);

	if (!r)
		r = bwl_journal_grant(p, name, (struct bwl_journal_limits){ 0 }, 0, e);
	if (!r) {
		r = bwl_peer_change(p, name, &c, e);
		if (r) /* whatever the maps still have closed is closed in the journal again */
			bwl_journal_note(p, NULL);
	}
	return r;
}

/* Which peers of the policy in force were closed after people signed: they did not mean these. */
static int closed_since(struct bwl_pins *p, int64_t signed_s, struct bwl_policy **ret_pol,
			bool **ret, struct bwl_err *e)
{
	struct bwl_journal j;
	int r = bwl_policy_read(p, ret_pol, e);

	if (r)
		return r;
	*ret = bwl_must(calloc((*ret_pol)->npeers + 1, sizeof(**ret)));
	bwl_journal_look(bwl_journal_dir(p->ctl->drill), &j);
	bwl_closed_after(&j.closed, signed_s, *ret_pol, *ret);
	bwl_journal_free(&j);
	for (size_t i = 0; (int64_t)agent_revoked_again_s() >= signed_s && i < (*ret_pol)->npeers;
	     i++)
		(*ret)[i] = true; /* not in the journal yet */
	return 0;
}

static void skipped(const char *name)
{
	agent_later(
		LOG_WARNING, "documents",
		"%s stays closed: the document that opens it was signed before it was closed on this tray; sign a new one",
		name);
}

/* Uses a handle of its own: closing it releases the lock. */
static int open_closed(struct documents *v, const json_t *due, struct bwl_err *e)
{
	BWL_AUTO(bwl_pins_close) struct bwl_pins *p = NULL;
	BWL_AUTO(bwl_policy_free) struct bwl_policy *pol = NULL;
	BWL_AUTO_FREE bool *since = NULL;
	const json_t *name;
	size_t i;
	int r = bwl_pins_open(v->a->pin_dir, true, &p, e);

	if (!r)
		r = bwl_pins_lock(p, e);
	if (!r)
		r = closed_since(p, json_integer_value(json_object_get(due, "signed")), &pol,
				 &since, e);
	json_array_foreach(json_object_get(due, "opens"), i, name)
	{
		const struct bwl_pol_peer *q = r ? NULL
						 : bwl_policy_peer(pol, json_string_value(name));
		struct bwl_err one = { 0 };

		if (q && since[q - pol->peers])
			skipped(q->name);
		else if (q && open_one(p, q->name, &one) && one.code != ENOENT)
			return *e = one, -one.code;
	}
	return r;
}

#define BEHIND_S 60

/*
 * The journal's times are those of this machine's clock. If the clock is behind, a closure seems
 * older than the signature although it came later. A signed time vouches for the clock as well as
 * synchronisation does.
 */
const char *docs_why_clock_is_wrong(const struct docs *s, const struct docs_clock *c,
				    enum bwl_wall wall)
{
	if (docs_now(s, c) - c->wall_s > BEHIND_S)
		return "this machine's clock is behind the signed time";
	if (wall == BWL_WALL_OLD)
		return "this machine's clock shows a time before this program was built";
	return wall == BWL_WALL_OK || docs_is_heard(s)
		       ? NULL
		       : "this machine's clock is not synchronised, and no signed time came";
}

/* People did not mean what was stopped or clamped after they signed. */
static bool was_meant(uint64_t closed_s, const json_t *due, const char *what)
{
	if ((int64_t)closed_s < json_integer_value(json_object_get(due, "signed")))
		return true;
	agent_later(
		LOG_WARNING, "documents",
		"`%s` is not lifted: the policy that lifts it was signed before it happened; sign a new policy",
		what);
	return false;
}

static bool has_word(const json_t *list, const char *word)
{
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v) if (!strcmp(json_string_value(v), word)) return true;
	return false;
}

static int lift_stop(struct bwl_pins *p, struct bwl_err *e)
{
	uint32_t want = BWL_STOPPED;
	int r = bwl_audit_intent(e, "stop --off: a signed document orders it");

	if (!r)
		r = bwl_journal_opening(p, BWL_J_START, e);
	if (!r && !__atomic_compare_exchange_n(&p->ctl->stop, &want, BWL_RUN, false,
					       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		agent_later(
			LOG_WARNING, "documents",
			"a policy lifts `stop`, but this tray was not stopped by hand: it stays closed");
	return r;
}

static int lift_clamp(struct bwl_pins *p, struct bwl_err *e)
{
	int r = bwl_audit_intent(e, "heartbeat --lift: a signed document orders it");

	if (!r)
		r = bwl_journal_opening(p, BWL_J_LIFT, e);
	if (!r)
		bwl_unclamp(p);
	return r;
}

/* After a lost memory the clamp stays until this tray is enrolled anew; nothing else ends it. */
static int lift(struct documents *v, const json_t *due, struct bwl_err *e)
{
	BWL_AUTO(bwl_pins_close) struct bwl_pins *p = NULL;
	const json_t *words = json_object_get(due, "lifts");
	struct bwl_journal j;
	int r = bwl_pins_open(v->a->pin_dir, true, &p, e);

	if (!r)
		r = bwl_pins_lock(p, e);
	if (r)
		return r;
	bwl_journal_look(bwl_journal_dir(p->ctl->drill), &j);
	if (j.state != BWL_JOURNAL_OK && j.state != BWL_JOURNAL_OFF) {
		bwl_fail(
			e, EIO,
			"nothing is lifted: the journal does not show when this tray was stopped or clamped: %.200s",
			j.why);
		r = bwl_hint(e, "bwlimit-ctl journal init");
	}
	if (!r && has_word(words, "stop") && bwl_is_stopped(p) &&
	    was_meant(j.closed.stop_s, due, "stop"))
		r = lift_stop(p, e);
	if (j.closed.clamp_s < agent_clamped_again_s()) /* not in the journal yet */
		j.closed.clamp_s = agent_clamped_again_s();
	if (!r && has_word(words, "clamp") && bwl_is_clamped(p) &&
	    !(bwl_enrolled(p) & BWL_MEMORY_LOST) && was_meant(j.closed.clamp_s, due, "clamp"))
		r = lift_clamp(p, e);
	bwl_journal_free(&j);
	return r;
}

static int is_clock_right(const struct documents *v, struct bwl_err *e)
{
	struct docs_clock c = docs_clock_now();
	const char *why = docs_why_clock_is_wrong(&v->docs, &c, bwl_wall_state());

	if (!why)
		return 0;
	bwl_fail(e, EIO, "%s: cannot tell whether it was closed before the document was signed",
		 why);
	return bwl_hint(e, "set the clock; it opens within a minute");
}

void docs_do_due(struct documents *v)
{
	const json_t *due = v->docs.m ? bwl_memory_due(v->docs.m) : NULL;
	bool opens = json_object_get(due, "opens"), lifts = json_object_get(due, "lifts");
	struct bwl_err e = { 0 };
	int r;

	if (!json_object_size(due))
		return;
	r = opens || lifts ? is_clock_right(v, &e) : 0;
	if (!r && opens)
		r = open_closed(v, due, &e);
	if (!r && lifts)
		r = lift(v, due, &e);
	if (!r) {
		bwl_memory_set_due(v->docs.m, json_object());
		r = bwl_memory_keep(v->docs.m, v->a->state_dir, &e);
	}
	if (r)
		agent_later(LOG_ERR, "documents", "not opened yet: %s", e.text);
}
