// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Performs the policy's `tamper` action for a sign, in the thread that detects it: first the map,
 * then the kernel's SAs. Nothing here waits for a disk, a log or charon: they come later
 * (deferred.c).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <bwl/publish.h>
#include "bwl/plural.h"
#include "agent.h"
#include "ipsec/xfrm.h"
#include "line_budget.h"

static struct {
	pthread_mutex_t lock;
	uint8_t action[_BWL_TAMPER_MAX];
	bool told;
	struct tamper_say said[_BWL_TAMPER_MAX][BWL_MAX_PORTS];
} wanted = { .lock = PTHREAD_MUTEX_INITIALIZER };

void agent_tamper_policy(const struct bwl_policy *pol)
{
	pthread_mutex_lock(&wanted.lock);
	memcpy(wanted.action, pol->tamper, sizeof(wanted.action));
	wanted.told = true;
	pthread_mutex_unlock(&wanted.lock);
}

bool agent_tamper_is_told(void)
{
	bool told;

	pthread_mutex_lock(&wanted.lock);
	told = wanted.told;
	pthread_mutex_unlock(&wanted.lock);
	return told;
}

/* No grant since this peer was revoked, in either generation. */
static bool is_closed(struct bwl_pins *p, uint32_t id)
{
	bool closed = true;

	for (uint32_t slot = 0; closed && slot < BWL_GENERATIONS; slot++) {
		const struct bwl_peer *body;
		struct bwl_gen g;

		if (bwl_gen_open(p, slot, &g, NULL))
			continue;
		body = bwl_body(p, &g, id);
		if (body && (body->meta.flags & BWL_PEER_GRANT))
			closed = bwl_revoked_since(p, id, body->meta.grant_seq);
		bwl_gen_close(&g);
	}
	return closed;
}

static _Atomic uint64_t clamped_again_s, revoked_again_s;

uint64_t agent_clamped_again_s(void)
{
	return atomic_load(&clamped_again_s);
}

uint64_t agent_revoked_again_s(void)
{
	return atomic_load(&revoked_again_s);
}

/* A repeated closure leaves no trace in the maps. */
static void note_again(enum bwl_action action)
{
	uint64_t now_s = (uint64_t)time(NULL);

	if (action == BWL_ACTION_CLAMP)
		atomic_store(&clamped_again_s, now_s);
	else if (action != BWL_ACTION_LOG)
		atomic_store(&revoked_again_s, now_s);
}

static atomic_bool destroyed; /* by this process, or about to be */

/* Is everything that the action would close already closed? */
static bool is_done(struct bwl_pins *p, enum bwl_action action, const struct agent_sign *s)
{
	const volatile struct bwl_ctl *c = p->ctl;

	switch (action) {
	case BWL_ACTION_CLAMP:
		return bwl_is_clamped(p);
	case BWL_ACTION_DESTROY:
		if (!atomic_load(&destroyed))
			return false;
		/* fallthrough */
	case BWL_ACTION_REVOKE:
		return c->revoked_all && c->revoked_all == c->seq;
	case BWL_ACTION_REVOKE_PEER:
		for (unsigned i = 0; i < s->npeers; i++)
			if (!is_closed(p, s->peer[i]))
				return false;
		return true;
	default:
		return true;
	}
}

struct peers {
	uint32_t max;
	const struct agent_sign *sign; /* NULL: every peer */
};

static bool is_wanted(uint32_t peer, const void *arg)
{
	const struct peers *x = arg;

	if (!peer || peer >= x->max)
		return false;
	for (unsigned i = 0; x->sign && i < x->sign->npeers; i++)
		if (x->sign->peer[i] == peer)
			return true;
	return !x->sign;
}

static void close_map(struct bwl_pins *p, enum bwl_action action, const struct agent_sign *s)
{
	if (action == BWL_ACTION_REVOKE || action == BWL_ACTION_DESTROY)
		bwl_revoke(p, NULL, NULL);
	for (unsigned i = 0; action == BWL_ACTION_REVOKE_PEER && i < s->npeers; i++)
		bwl_revoke(p, p->name[s->peer[i]].name, NULL);
}

static bool is_ordered(const struct agent_sign *s)
{
	return s->input == BWL_TAMPER_command || s->input == BWL_TAMPER_lease;
}

/* A line is written for whatever has closed something, and for whatever somebody ordered. */
static bool may_say(const struct agent_sign *s, bool done, uint64_t now,
		    unsigned long long *ret_silent)
{
	bool yes;

	*ret_silent = 0;
	if (!done || is_ordered(s))
		return true;
	pthread_mutex_lock(&wanted.lock);
	yes = tamper_say(&wanted.said[s->input][s->port % BWL_MAX_PORTS], now, ret_silent);
	pthread_mutex_unlock(&wanted.lock);
	return yes;
}

bool agent_tamper(struct bwl_pins *p, const struct agent_sign *s, bool quiet)
{
	uint64_t start = bwl_now_ns(), closed, kernel;
	struct peers who = { .max = p->schema.max_peers };
	struct bwl_xfrm_dropped sas = { 0 };
	enum bwl_action action;
	unsigned long long silent;
	char more[64] = "";
	bool done, ends;

	pthread_mutex_lock(&wanted.lock);
	action = wanted.action[s->input];
	pthread_mutex_unlock(&wanted.lock);
	if (action == BWL_ACTION_REVOKE_PEER && !s->npeers)
		action = BWL_ACTION_REVOKE; /* the peer is unknown */
	done = is_done(p, action, s);
	if (done)
		note_again(action);
	if (done && quiet)
		return false;
	if (action == BWL_ACTION_CLAMP && !bwl_clamp(p))
		action = BWL_ACTION_REVOKE; /* without a heartbeat there is no clamp */
	ends = action == BWL_ACTION_REVOKE || action == BWL_ACTION_REVOKE_PEER ||
	       action == BWL_ACTION_DESTROY;
	close_map(p, action, s);
	closed = bwl_now_ns();
	if (action == BWL_ACTION_REVOKE_PEER)
		who.sign = s;
	if (ends)
		bwl_xfrm_drop(is_wanted, &who, &sas, NULL);
	kernel = bwl_now_ns();
	if (s->did)
		*s->did = action;
	if (may_say(s, done, kernel, &silent)) {
		if (silent)
			snprintf(more, sizeof(more), "; %llu more since the last line", silent);
		agent_later(LOG_ALERT | (done && !is_ordered(s) ? AGENT_LOG_HOST : 0), "tamper",
			    "%s: %s; action %s: map %.3f ms, %u SA%s of the kernel %.3f ms%s",
			    bwl_tamper_name(s->input), s->what, bwl_action_name(action),
			    (double)(closed - start) / 1e6, sas.sas, BWL_S(sas.sas),
			    (double)(kernel - closed) / 1e6, more);
	}
	if (action == BWL_ACTION_DESTROY && !done) {
		atomic_store(&destroyed, true);
		agent_destroy_keys(KEYS_TAMPER);
	}
	if (ends && p->ctl->tunnel)
		agent_end_sas(p, who.sign ? s->peer : NULL, who.sign ? s->npeers : 0);
	return true;
}
