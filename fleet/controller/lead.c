// SPDX-License-Identifier: GPL-2.0-or-later
/* See lead.h. */
#include <stdio.h>
#include <string.h>
#include "bwl/clock.h"
#include "lead.h"

#define BEHIND_S 60 /* the clocks of two controllers may differ */

int lead_begin(struct lead *l, struct bwl_err *e)
{
	int r;

	l->time_ns = 0;
	r = lead_closings_read(l, e);
	r = r ? r : lead_rollouts_read(l, e);
	return r ? r : lead_logs_read(l, e);
}

void lead_end(struct lead *l)
{
	lead_rollouts_forget(l);
}

/*
 * A signed time in the future ends documents early in the whole fleet, until people sign another
 * root; one in the past is useless. So an unsynchronised clock signs none.
 */
static bool clock_is_right(struct lead *l, int64_t now_s, struct bwl_err *e)
{
	enum bwl_wall w = l->c->o->trust_clock ? BWL_WALL_OK : bwl_wall_state();

	if (w != BWL_WALL_OK) {
		bwl_fail(e, EAGAIN,
			 "the clock of this machine is not synchronised: no signed time is issued");
		bwl_hint(e, "start a time service, or use --trust-clock");
	} else if (now_s + BEHIND_S < l->v->time.issued_s) {
		bwl_fail(
			e, EAGAIN,
			"the clock of this machine is %lld s behind the newest signed time: no signed time is issued",
			(long long)(l->v->time.issued_s - now_s));
		bwl_hint(
			e,
			"set the clock; if a signed time was wrong, a new root with another online key clears it");
	} else {
		return true;
	}
	return false;
}

/*
 * The time names closing documents: a tray that gets this time but not one of those knows that it
 * is withheld. Once the leader has seen such a document it names it until it ends, even if somebody
 * removed it from the store.
 */
static json_t *named(struct lead *l, int64_t now_s)
{
	struct bwl_err why = { 0 };
	BWL_AUTO_FREE char *whose = NULL;
	size_t left_out;
	json_t *o = json_pack("{s:I, s:o}", "root", (json_int_t)bwl_root_terms(l->v->root)->version,
			      "closing", view_closing(l->v, now_s, &left_out, &whose));

	if (left_out && (left_out != l->told_left_out ||
			 strncmp(whose, l->told_whose, sizeof(l->told_whose) - 1))) {
		bwl_fail(
			&why, E2BIG,
			"%zu revocations and expulsions are not in the signed time, because there is no room: %.200s; a tray does not notice if the store withholds one of them",
			left_out, whose);
		bwl_hint(
			&why,
			"ask whoever signed so many: a key may be stolen; a revocation with `new_epoch` ends them all");
		why.id = "closing-no-room";
		l->c->say(l->c, "alarm", "timestamp/time", &why);
	}
	l->told_left_out = left_out;
	snprintf(l->told_whose, sizeof(l->told_whose), "%s", left_out ? whose : "");
	return o;
}

static int sign_time(struct lead *l, uint64_t now_ns, int64_t now_s, struct bwl_err *e)
{
	struct bwl_err why = { 0 };
	struct lead_document d = {
		.type = BWL_SIGNED_TIMESTAMP,
		.tray = "",
		.key_name = "time",
		.name = "time",
		.audience = "all",
		.now_s = now_s,
		.not_after_s = now_s + LEAD_TIME_FOR_S,
	};
	int r;

	if (now_ns < l->time_ns)
		return 0;
	if (!clock_is_right(l, now_s, &why)) {
		if (!l->told_clock)
			l->c->say(l->c, "trouble", "timestamp/time", &why);
		l->told_clock = true;
		l->time_ns = now_ns + LEAD_AGAIN_NS;
		return 0;
	}
	l->told_clock = false;
	d.more = named(l, now_s);
	/*
	 * The version follows the clock, so that it rises even if the store was restored from an
	 * old copy.
	 */
	d.version = (uint64_t)now_s > l->v->time.version ? (uint64_t)now_s : l->v->time.version + 1;
	r = lead_publish(l, &d, NULL, 0, e);
	if (r)
		return r;
	l->v->time.version = d.version;
	l->v->time.issued_s = now_s;
	l->time_ns = now_ns + LEAD_TIME_NS;
	return 0;
}

int lead_step(struct lead *l, uint64_t now_ns, int64_t now_s, struct bwl_err *e)
{
	int r;

	l->until_ns = now_ns + LEAD_MAX_NS;
	r = sign_time(l, now_ns, now_s, e);
	r = r ? r : lead_closings(l, now_s, e);
	r = r ? r : lead_rollouts(l, now_ns, now_s, e);
	r = r ? r : lead_leases(l, now_ns, now_s, e);
	return r ? r : lead_logs(l, now_ns, now_s, e);
}
