// SPDX-License-Identifier: GPL-2.0-or-later
/* What the thread knows of the documents, and the end of everything in the maps: see part.h. */
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include "agent.h"
#include "bwl/heartbeat.h"
#include "bwl/publish.h"
#include "enrolled/glass.h"
#include "part.h"

#define FOREVER_NS (1ULL << 62)
#define WITHHELD_NS 60000000000ULL /* the store reports its content within this time */
#define REPEAT_NS (600 * 1000000000ULL)
/* times are rounded to seconds here and there: the word is not changed for less */
#define SLACK_NS 2000000000ULL

void docs_rebuild(struct documents *v)
{
	struct bwl_err e = { 0 };

	docs_terms_free(&v->terms);
	if (v->docs.m && docs_terms(&v->docs, &v->terms, &e) && e.code != ENOENT)
		agent_later(LOG_ERR, "documents", "the documents in force cannot be read: %s",
			    e.text);
}

void docs_reload(struct documents *v)
{
	struct docs_clock c = docs_clock_now();
	const struct docs_leased leased = v->docs.leased;
	struct bwl_err e = { 0 };

	docs_terms_free(&v->terms);
	docs_free(&v->docs);
	v->damaged = docs_load(v->a->state_dir, &c, &v->docs, &e) && e.code != ENOENT;
	v->docs.leased = leased;
	if (v->damaged)
		agent_later(LOG_ALERT, "documents", "%s", e.text);
	docs_rebuild(v);
}

static void tell_why(struct documents *v, const char *why)
{
	if (!strcmp(v->why, why))
		return;
	snprintf(v->why, sizeof(v->why), "%s", why);
	if (*why)
		agent_later(LOG_ALERT, "offline", "everything is at its floor: %s", why);
	else
		agent_later(LOG_NOTICE, "offline", "the grants of signed documents are open again");
}

bool docs_is_withheld(const struct documents *v)
{
	return v->missing_ns && bwl_now_ns() - v->missing_ns > WITHHELD_NS;
}

static void mind_missing(struct documents *v)
{
	uint64_t now = bwl_now_ns();
	char name[1][DOCS_KEY];
	size_t n = v->docs.m ? docs_missing(&v->docs, name, 1) : 0;

	if (!n)
		v->missing_ns = v->missed_ns = 0;
	else if (!v->missing_ns)
		v->missing_ns = now;
	if (!docs_is_withheld(v) || (v->missed_ns && now - v->missed_ns < REPEAT_NS))
		return;
	v->missed_ns = now;
	agent_later(
		LOG_ALERT, "withheld",
		"%s and %zu more: published according to a signed time, but withheld from this tray",
		name[0], n - 1);
}

/*
 * A broken glass that was revoked by its digest or its epoch ends at once, not at its own end, even
 * if the revocation was accepted while no agent ran.
 */
static void mind_glass(struct documents *v)
{
	BWL_AUTO(bwl_pins_close) struct bwl_pins *p = NULL; /* closing it gives the lock back */
	enum bwl_way_back way = BWL_BACK_TO_NONE;
	struct bwl_err e = { 0 };
	int r;

	if (!v->docs.m || !bwl_glass_until_ns(v->pins, bwl_now_ns()) ||
	    bwl_pins_are_busy(v->pins) || !bwl_glass_is_over(v->docs.m, v->a->state_dir))
		return;
	r = bwl_pins_open(v->a->pin_dir, true, &p, &e);
	if (!r)
		r = bwl_pins_lock(p, &e);
	if (!r && !bwl_glass_until_ns(p, bwl_now_ns()))
		return; /* somebody was faster, and may have begun another trial */
	if (!r) {
		way = bwl_way_back(p);
		r = bwl_rollback(p, &e);
	}
	if (r && e.code != ENOENT && strcmp(v->glass_why, e.text))
		agent_later(LOG_ERR, "break-glass",
			    "the break-glass policy was revoked, but cannot be rolled back: %s",
			    e.text);
	else if (!r)
		agent_later(LOG_ALERT, "break-glass", "the break-glass policy was revoked; %s",
			    bwl_way_back_words(way));
	snprintf(v->glass_why, sizeof(v->glass_why), "%s", r ? e.text : "");
}

/*
 * Sets the lease's end, earlier or later than before, whatever the policy allows. No heartbeat goes
 * beyond it. An end that is not the lease's own is no sign of tampering.
 */
static void set_lease(struct bwl_pins *p, const struct docs_end *end)
{
	uint64_t now = bwl_now_ns(), at_ns = end->at_ns < now ? now : end->at_ns;

	if (!end->lease) /* first: whoever sees the end then also sees that it was handled */
		__atomic_store_n(&p->lease->acted_ns, at_ns, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->lease->renewed_ns, now, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->lease->until_ns, at_ns, __ATOMIC_SEQ_CST);
	bwl_silence_within(p, 0, FOREVER_NS);
}

/*
 * The data plane ends everything by itself, whatever process is dead: the lease word has the time.
 * The agent extends it only while our policy is in force, so that signed times do not keep an
 * earlier policy alive.
 */
void docs_mind_end(struct documents *v)
{
	struct docs_clock c = docs_clock_now();
	struct docs_end end = { 0, BWL_MEMORY " is damaged", false };
	uint64_t is = v->pins->lease->until_ns, deadline;

	mind_missing(v);
	mind_glass(v);
	if (!v->damaged && (!v->docs.m || !docs_has_policy(&v->docs)))
		return;
	if (v->docs.m)
		end = docs_end(&v->docs, &v->terms, &c);
	tell_why(v, end.at_ns ? "" : end.why);
	if (end.at_ns + SLACK_NS < is && is > c.boot_ns)
		set_lease(v->pins, &end);
	else if (v->in_force && end.at_ns > is + SLACK_NS)
		set_lease(v->pins, &end);
	else
		return;
	bwl_heartbeat(v->pins, &deadline, NULL);
}
