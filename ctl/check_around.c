// SPDX-License-Identifier: GPL-2.0-or-later
/* See check.h: findings beyond the maps: bwlimitd's socket, files that it and root write. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bwl/agent.h"
#include "bwl/desired.h"
#include "check.h"
#include "export/verified.h"
#include "history/db.h"
#include "ordered.h"

#define ANSWER_S 3
#define SECOND 1000000000ULL

/* A subscriber to events is answered before anything else, even if it wants none. */
void check_agent(struct check *k)
{
	json_t *what, *answer;

	if (ctl_is_ordered()) {
		check_say(k, "agent", CHECK_OK, NULL, "bwlimitd runs this");
		return;
	}
	what = json_object();
	errno = 0;
	answer = ctl_ask_at(k->c, BWL_AGENT_EVENTS, what, -1, ANSWER_S);
	if (answer)
		check_say(k, "agent", CHECK_OK, NULL, "bwlimitd answers");
	else if (errno == ENOENT || errno == ECONNREFUSED)
		check_say(k, "agent", CHECK_CRITICAL, "systemctl start bwlimitd",
			  "bwlimitd is not running");
	else if (errno == EACCES || errno == EPERM)
		check_say(k, "agent", CHECK_UNKNOWN, "as root, or a member of bwlimit-read",
			  "no permission to ask bwlimitd");
	else
		check_say(k, "agent", CHECK_CRITICAL, "journalctl -u bwlimitd",
			  "bwlimitd does not answer");
	json_decref(what);
	json_decref(answer);
}

void check_verify(struct check *k)
{
	struct bwl_verified x;
	struct bwl_err e = { 0 };
	char t[BWL_UNIT_BUF];
	double age_s;

	if (bwl_verified(k->c->pin_dir, &x, &e)) {
		check_say(k, "verify", CHECK_UNKNOWN,
			  "systemctl status bwlimit-verify.timer; bwlimit-load verify, as root",
			  "%s", e.text);
		return;
	}
	age_s = difftime(time(NULL), (time_t)x.at_s);
	k->verify_failed = x.failed;
	if (x.failed)
		check_say(k, "verify", CHECK_CRITICAL, "bwlimit-load verify, as root",
			  "%u check%s of verify failed: %s", x.failed, BWL_S(x.failed), x.first);
	else if (age_s > (double)k->at.verify_ns / 1e9)
		check_say(k, "verify", CHECK_WARNING, "systemctl status bwlimit-verify.timer",
			  "verify was clean, but that was %s ago", bwl_human_time(age_s, t));
	else
		check_say(k, "verify", CHECK_OK, NULL, "verify was clean %s ago, with %u warning%s",
			  bwl_human_time(age_s < 0 ? 0 : age_s, t), x.warned, BWL_S(x.warned));
}

void check_clock(struct check *k)
{
	bool good = bwl_wall_state() == BWL_WALL_OK;

	check_say(k, "clock", good ? CHECK_OK : CHECK_WARNING, "timedatectl; chronyc tracking",
		  good ? "the wall clock is synchronised"
		       : "the wall clock is not synchronised: no signed time is trusted");
}

/*
 * Percent of the peer's own rate that it used over that time, whatever a zone above it lets
 * through; 0: unlimited, contained, or it has not sent that much in total.
 */
static double share_of(const struct check *k, struct hist_reader *r, uint32_t id)
{
	const struct bwl_peer *body = bwl_body(k->v->pins, &k->v->gen, id);
	int64_t span = (int64_t)(k->at.limit_ns / SECOND),
		to = hist_reader_state(r)->wall_s; /* a time that is not written yet is not idle */
	struct hist_values all = { 0 };
	char name[BWL_NAME_LEN];
	unsigned damaged;
	double most;

	if (!body || body->meta.flags & BWL_PEER_CONTAINED)
		return 0;
	most = (double)bwl_rate_decode(&body->grant.rate) / 8 * (double)span;
	if (most <= 0 || (double)k->count[id].bytes * 100 < most * (double)k->at.limit)
		return 0;
	if (!bwl_peer_name(k->v->pins, id, name) ||
	    hist_reader_get(r, name, "", to - span, to, span, &all, &damaged, NULL))
		return 0;
	return 100 * (double)all.v[HIST_SENT] / most;
}

/*
 * What no enforced rate lets pass: its burst too, and a tenth for the seconds at which the history
 * divides it.
 */
static double most_of(const struct check *k, const struct bwl_peer *body)
{
	double per_s = (double)bwl_rate_decode(&body->grant.rate) / 8;

	return 110 + 100 * (double)bwl_rate_burst(&body->grant.rate) * (double)SECOND /
			     (per_s * (double)k->at.limit_ns);
}

/*
 * A rate that is only counted may be exceeded, and nobody is woken for it. Nor once it is enforced,
 * or the peer is closed: what passed before stays in the history.
 */
static void judge_limits(struct check *k, struct hist_reader *r)
{
	const struct bwl_peer *body;
	double most[2] = { 0 }; /* [1]: within rates that were enforced */
	uint32_t whose[2] = { 0 };
	char name[BWL_NAME_LEN], t[BWL_UNIT_BUF];
	bool now;

	for (uint32_t id = 1; id < k->v->pins->schema.max_peers; id++) {
		double share = share_of(k, r, id);
		bool held;

		if (share <= 0)
			continue;
		body = bwl_body(k->v->pins, &k->v->gen, id);
		held = body && bwl_mode_enforces(body->meta.mode) && share <= most_of(k, body);
		if (share > most[held]) {
			most[held] = share;
			whose[held] = id;
		}
	}
	bwl_format_time(k->at.limit_ns, t);
	if (most[1] >= (double)k->at.limit && bwl_peer_name(k->v->pins, whose[1], name)) {
		check_say(k, "limits", CHECK_CRITICAL,
			  "bwlimit-ctl history NAME --since 24h; bwlimit-ctl revoke NAME",
			  "a theft? %s has taken %.0f %% of its own rate for %s", name, most[1], t);
	} else if (most[0] >= (double)k->at.limit && bwl_peer_name(k->v->pins, whose[0], name)) {
		body = bwl_body(k->v->pins, &k->v->gen, whose[0]);
		now = !body || bwl_enforced(k->v, whose[0], body);
		check_say(k, "limits", CHECK_WARNING,
			  "bwlimit-ctl history NAME --since 24h; bwlimit-ctl revoke NAME",
			  "%s has taken %.0f %% of its own rate for %s, which %s", name, most[0], t,
			  now ? "was not enforced then" : "is not enforced");
	} else {
		check_say(k, "limits", CHECK_OK, NULL,
			  "no exit was at its own rate for the last %s (zones are not checked)", t);
	}
}

void check_history(struct check *k)
{
	struct hist_reader *r = NULL;
	struct bwl_err e = { 0 };
	char t[BWL_UNIT_BUF];
	double age_s;

	if (hist_reader_open(bwl_state_dir(), &r, &e)) {
		check_say(k, "history", CHECK_UNKNOWN,
			  "systemctl status bwlimitd: it writes the history, and answers for it",
			  "%s", e.text);
		return;
	}
	age_s = difftime(time(NULL), (time_t)hist_reader_state(r)->wall_s);
	check_say(k, "history", age_s > (double)k->at.history_ns / 1e9 ? CHECK_WARNING : CHECK_OK,
		  "systemctl status bwlimitd", "the history was written %s ago",
		  bwl_human_time(age_s < 0 ? 0 : age_s, t));
	judge_limits(k, r);
	hist_reader_close(r);
}
