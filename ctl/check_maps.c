// SPDX-License-Identifier: GPL-2.0-or-later
/* See check.h: findings from the maps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

#define NS 1e9
#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)
#define NAMES 3 /* names that a line shows of a list of peers */

void check_switch(struct check *k)
{
	const char *state = bwl_switch_name(k->v->pins);

	if (!strcmp(state, "running"))
		check_say(k, "switch", CHECK_OK, NULL, "the stop switch is off");
	else
		check_say(k, "switch", CHECK_CRITICAL,
			  !strcmp(state, "stopped") ? "bwlimit-ctl stop --off, once it is known why"
			  : !strcmp(state, "closed")   ? "bwlimit-load up, as root"
			  : !strcmp(state, "unjudged") ? "journalctl -u bwlimitd"
						       : "bwlimit-load upgrade, as root",
			  "nothing passes: %s", state);
}

void check_policy(struct check *k)
{
	uint64_t until = bwl_pending_ns(k->v->pins, k->v->now_ns);
	char when[BWL_WHEN_BUF];

	if (!k->v->has_gen) {
		check_say(
			k, "policy", CHECK_CRITICAL,
			"bwlimit-ctl policy apply FILE; journalctl -u bwlimitd BWLIMIT_EVENT=policy",
			"no policy is in force: everything is dropped");
		return;
	}
	if (bwl_glass_until_ns(k->v->pins, k->v->now_ns))
		check_say(k, "policy", CHECK_CRITICAL, "bwlimit-ctl audit show says who, and why",
			  "an emergency policy is in force, and ends %s",
			  bwl_when(until, k->v->now_ns, when));
	else if (until)
		check_say(
			k, "policy", CHECK_WARNING,
			"bwlimit-ctl policy confirm, or policy rollback",
			"a policy is on trial: its grants end %s, the one before returns, and nothing else comes into force before that",
			bwl_when(until, k->v->now_ns, when));
	else if (bwl_is_trial_over(k->v->pins, k->v->now_ns))
		check_say(
			k, "policy", CHECK_CRITICAL,
			"systemctl status bwlimitd; bwlimit-ctl policy rollback",
			"a policy was not confirmed: its grants ended %s, and the one before has not returned",
			bwl_when(bwl_trial_ns(k->v->pins), k->v->now_ns, when));
	else
		check_say(k, "policy", CHECK_OK, NULL, "a policy of %s is in force",
			  k->v->gen.base->node_name);
}

static void judge_heartbeat(struct check *k)
{
	uint64_t at = bwl_silent_at(k->v), now = k->v->now_ns;
	double every_s = (double)k->v->gen.base->heartbeat_ns / NS;
	char when[BWL_WHEN_BUF];

	if (at == BWL_NEVER_NS) {
		check_say(k, "heartbeat", CHECK_OK, NULL, "the policy asks for no heartbeat");
		return;
	}
	k->heartbeat_s = ((double)at - (double)now) / NS;
	if (!at)
		check_say(k, "heartbeat", CHECK_CRITICAL, "systemctl start bwlimitd",
			  "the heartbeat was never renewed: every grant is at its floor");
	else if (at <= now)
		check_say(k, "heartbeat", CHECK_CRITICAL, "systemctl status bwlimitd",
			  "the heartbeat ended %s: every grant is at its floor",
			  bwl_when(at, now, when));
	else if (k->heartbeat_s < every_s / 2 &&
		 at < (k->v->gen.base->lease_ns ? LOAD(k->v->pins->lease->until_ns) : BWL_NEVER_NS))
		check_say(k, "heartbeat", CHECK_WARNING, "systemctl status bwlimitd",
			  "nobody renews the heartbeat, which ends %s", bwl_when(at, now, when));
	else
		check_say(k, "heartbeat", CHECK_OK, NULL, "the heartbeat ends %s",
			  bwl_when(at, now, when));
}

static void judge_lease(struct check *k)
{
	struct bwl_lease_now l;
	char when[BWL_WHEN_BUF];

	if (bwl_lease(k->v->pins, &l, NULL) || l.state == BWL_LEASE_NONE) {
		check_say(k, "lease", CHECK_OK, NULL, "the policy needs no lease");
		return;
	}
	if (l.state != BWL_LEASE_LIVE) {
		check_say(k, "lease", CHECK_CRITICAL, "bwlimit-ctl lease renew",
			  l.state == BWL_LEASE_NEVER ? "no lease was given since the maps were made"
						     : "the lease has ended");
		return;
	}
	k->lease_s = ((double)l.until_ns - (double)k->v->now_ns) / NS;
	check_say(k, "lease", k->lease_s < (double)l.longest_ns / NS / 4 ? CHECK_WARNING : CHECK_OK,
		  "bwlimit-ctl lease renew; journalctl -u bwlimit-sync", "the lease ends %s",
		  bwl_when(l.until_ns, k->v->now_ns, when));
}

void check_silence(struct check *k)
{
	bool clamped = k->v->gen.base->heartbeat_ns && bwl_is_clamped(k->v->pins);

	if (clamped) /* the deadline has passed for that reason */
		check_say(k, "tamper", CHECK_CRITICAL,
			  "once the cause is understood: bwlimit-ctl heartbeat --lift",
			  "every grant is at its floor after a sign of tampering");
	else
		check_say(k, "tamper", CHECK_OK, NULL, "nothing is clamped");
	if (!clamped)
		judge_heartbeat(k);
	judge_lease(k);
}

/* The first few names of a list, and how many there are. */
struct some {
	unsigned n;
	char text[NAMES * (BWL_NAME_LEN + 2) + 32];
};

static void add_name(struct some *s, const struct check *k, uint32_t id)
{
	size_t at = strlen(s->text);
	char name[BWL_NAME_LEN];

	if (s->n++ < NAMES && bwl_peer_name(k->v->pins, id, name))
		snprintf(s->text + at, sizeof(s->text) - at, "%s%s", at ? ", " : "", name);
	else if (s->n == NAMES + 1)
		snprintf(s->text + at, sizeof(s->text) - at, ", …");
}

static void look_at_peer(struct check *k, uint32_t id, const struct bwl_peer *body,
			 struct some *closed, struct some *ending, struct some *without_sa,
			 struct some *counted)
{
	enum bwl_standing is = bwl_standing(k->v, id, body);
	uint64_t ends = body->meta.expiry_ns;
	const struct bwl_tunnel *t = &k->v->pins->tunnel[id];

	k->peers++;
	k->passed_bytes += k->count[id].bytes;
	k->dropped_bytes += k->count[id].drop_bytes;
	if (is == BWL_STAND_REVOKED)
		add_name(closed, k, id);
	if (is == BWL_STAND_LIVE && ends != BWL_NEVER_NS && ends - k->v->now_ns < k->at.ends_ns)
		add_name(ending, k, id);
	if (is == BWL_STAND_LIVE && body->meta.path != BWL_PATH_CLEAR &&
	    !(LOAD(t->flags) & BWL_TUN_SA))
		add_name(without_sa, k, id);
	if (!bwl_enforced(k->v, id, body)) {
		add_name(counted, k, id);
		k->bare |= bwl_is_bare(body);
	}
}

void check_peers(struct check *k)
{
	struct some closed = { 0 }, ending = { 0 }, without_sa = { 0 }, counted = { 0 };
	char within[BWL_UNIT_BUF];

	for (uint32_t id = 1; id < k->v->pins->schema.max_peers; id++) {
		const struct bwl_peer *body = bwl_body(k->v->pins, &k->v->gen, id);

		if (body)
			look_at_peer(k, id, body, &closed, &ending, &without_sa, &counted);
	}
	k->closed = closed.n;
	check_say(k, "closures", closed.n ? CHECK_WARNING : CHECK_OK,
		  "bwlimit-ctl audit show; bwlimit-ctl grant NAME … opens one again",
		  closed.n ? "%u peer%s closed: %s" : "no peer is closed", closed.n,
		  closed.n == 1 ? " is" : "s are", closed.text);
	check_say(k, "grants", ending.n ? CHECK_WARNING : CHECK_OK,
		  "bwlimit-ctl grant NAME … for TIME reason TEXT",
		  ending.n ? "%u grant%s within %s: %s" : "no grant ends soon", ending.n,
		  ending.n == 1 ? " ends" : "s end", bwl_format_time(k->at.ends_ns, within),
		  ending.text);
	check_say(k, "sas", without_sa.n ? CHECK_WARNING : CHECK_OK, "bwlimit-ctl ipsec status",
		  without_sa.n ? "%u encrypted peer%s no SA: %s"
			       : "no encrypted peer is without an SA",
		  without_sa.n, without_sa.n == 1 ? " has" : "s have", without_sa.text);
	check_say(k, "enforced", counted.n ? CHECK_WARNING : CHECK_OK, BWL_ENFORCE_HINT(k->bare),
		  counted.n ? "limits of %u peer%s are counted, not enforced: %s"
			    : "the limits of every peer are enforced",
		  counted.n, BWL_S(counted.n), counted.text);
}

struct volumes {
	struct check *k;
	double most;      /* percent, of those that are enforced; < 0: none */
	unsigned counted; /* the others: a spent one stops nothing */
	char whose[BWL_LIMIT_KEY], held[BWL_LIMIT_KEY];
	const char *why_held;
};

/*
 * By the mode alone: what monitor let a grant use beyond its volume is as little a reason for
 * anything after the grant's end.
 */
static bool counts(const struct bwl_view *v, uint32_t state)
{
	uint32_t id = bwl_limit_peer(v->pins, state);
	const struct bwl_peer *body = id ? bwl_body(v->pins, &v->gen, id) : NULL;

	return !body || bwl_mode_enforces(body->meta.mode);
}

static void look_at_volume(const struct bwl_limit *l, uint32_t state, void *arg)
{
	struct volumes *x = arg;
	const struct bwl_view *v = x->k->v;
	struct bwl_left left;
	const char *word;
	double used;

	if (l->volume.spendable_bytes == BWL_VOLUME_NONE ||
	    state >= BWL_STATES(v->pins->schema.max_peers, v->pins->schema.max_extras))
		return;
	bwl_limit_left(v->pins, &l->rate, &l->volume, state, v->now_ns, &left);
	used = left.volume ? 100 * (double)left.used / (double)left.volume : 100;
	if (!counts(v, state)) {
		x->counted++;
	} else if (used > x->most) {
		x->most = used;
		bwl_limit_key(v->pins, state, x->whose);
	}
	word = ctl_ledger_word(&v->pins->mark[state], &left);
	if (!x->why_held && strcmp(word, "none") && strcmp(word, "released")) {
		x->why_held = word;
		bwl_limit_key(v->pins, state, x->held);
	}
}

void check_volumes(struct check *k)
{
	struct volumes x = { .k = k, .most = -1 };

	bwl_limit_each(k->v->pins, &k->v->gen, look_at_volume, &x);
	k->volume_percent = x.most;
	if (x.most < 0)
		check_say(k, "volumes", CHECK_OK, NULL, "the policy has no volume%s",
			  x.counted ? " that is enforced" : "");
	else
		check_say(k, "volumes",
			  x.most >= (double)k->at.volume_critical  ? CHECK_CRITICAL
			  : x.most >= (double)k->at.volume_warning ? CHECK_WARNING
								   : CHECK_OK,
			  "bwlimit-ctl usage; bwlimit-ctl grant NAME volume +V once reason TEXT",
			  "%.0f %% of the volume of %s is used", x.most, x.whose);
	if (x.why_held)
		check_say(k, "ledger", CHECK_WARNING, "bwlimit-ctl usage; journalctl -u bwlimitd",
			  "the ledger holds back the volume of %s: %s", x.held, x.why_held);
	else
		check_say(k, "ledger", CHECK_OK, NULL, "the ledger holds back no volume");
}
