// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random sequences: policies applied and tried, confirmed or not, names and prefixes that move,
 * split and merge, windows that shrink and grow, revocations, signs of tampering and grants,
 * writers that are killed, programs that are replaced, and reboots; under a flood at every
 * destination, also while a writer waits for packets in flight.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <bwl/tables.h>
#include "sequence.h"

#define STEPS 14

void tell(const char *fmt, ...)
{
	size_t n = strlen(m->told);
	va_list args;

	va_start(args, fmt);
	vsnprintf(m->told + n, sizeof(m->told) - n, fmt, args);
	va_end(args);
}

void broken(const char *fmt, ...)
{
	char text[300], all[360];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fputs(m->told, stderr);
	snprintf(all, sizeof(all), "MODEL_SEED=%llu: %s", (unsigned long long)m->seed, text);
	level_fail(all);
}

static void note(uint64_t v)
{
	m->digest = (m->digest ^ v) * 0x100000001b3ULL;
	m->digest ^= m->digest >> 29;
}

void model_frame(unsigned dest, bool six, char *spec, size_t bytes)
{
	if (six)
		snprintf(spec, bytes, "eth ip6 src=fd00:7::2 dst=fd00:1::%u udp fill=938",
			 dest + 2);
	else
		snprintf(spec, bytes, "eth ip4 src=10.0.7.2 dst=10.1.0.%u udp fill=958", dest + 2);
}

/* As much as passes, to all of them; by IPv6 every other time. */
static unsigned flood(void)
{
	unsigned d, n = 0, reason;
	const char *why;

	m->six = !m->six;
	for (d = 0; d < NDESTS; d++)
		while (1) {
			reason = level_send(d, m->six);
			note(level_now() ^ (uint64_t)reason << 8 ^ d);
			if (!bwl_reason_is_pass(reason))
				break;
			n++;
			why = ref_passed(d, level_now());
			if (why)
				broken("%u: %s", d, why);
		}
	if (getenv("MODEL_TELL"))
		tell("  %u\n", n);
	return n;
}

void model_on_grace(void)
{
	if (m->aside)
		return;
	flood();
	level_advance(1 + below(3) * 4000000);
	flood();
}

/*
 * Until the call returns either may be in force, so the shorter window counts; where only one of
 * them has the destination, its window does.
 */
static void shorter_counts(const struct policy *p)
{
	uint64_t ns = window[p->window].ns;

	for (unsigned d = 0; d < NDESTS; d++) {
		if (!has_any(p, d))
			continue;
		/* a total: by no window */
		if (!has_any(&m->now, d) || !ns || !ref_window_now((int)d) ||
		    ns < ref_window_now((int)d))
			ref_window((int)d, ns);
	}
}

static void window_is(const struct policy *p)
{
	for (unsigned d = 0; d < NDESTS; d++)
		ref_window((int)d, has_any(p, d) ? window[p->window].ns : 0);
}

int publish(const struct policy *p, const struct bwl_publish_opts *o, struct bwl_err *e)
{
	struct bwl_policy *pol = parsed(p);
	int r = bwl_publish(level_pins(), pol, o, NULL, e);

	bwl_policy_free(pol);
	return r;
}

/*
 * The same by way of a policy in which nobody has the destination: it comes back, to another grant
 * that goes on.
 */
static void forget_merged(const struct policy *to)
{
	const struct policy *from = &m->now;

	for (unsigned d = 0; from->any && d < NDESTS; d++) {
		if (from->name[d] >= 0)
			m->last[d] = from->name[d];
		else if (to->any && to->name[d] >= 0 && to->name[d] != m->last[d] &&
			 goes_on(from, to, to->name[d]))
			ref_forget((int)d);
	}
}

/* It is about to be put in force. */
static void expect_policy(const struct policy *p)
{
	shorter_counts(p);
	forget_merged(p);
	live_policy(p);
	for (unsigned d = 0; d < NDESTS; d++)
		if (p->name[d] >= 0)
			ref_has_window((int)d, window[p->window].ns);
}

static void is_in_force(const struct policy *p, uint64_t confirm_ns)
{
	m->before = m->now;
	m->lost.any = false;
	m->now = *p;
	window_is(p);
	ref_trial(confirm_ns ? level_now() + confirm_ns : 0);
}

static void put_in_force(const struct policy *p, const struct bwl_publish_opts *o)
{
	struct bwl_err e = { 0 };

	ref_trial(0);
	expect_policy(p);
	level_pins()->ctl->fresh_volume = !m->now.any && !m->rebooted;
	if (publish(p, o, &e))
		broken("%s", e.text);
	is_in_force(p, o->confirm_ns);
}

/* A policy that may follow; false: none was found. */
static bool next_policy(bool trial, struct policy *ret)
{
	unsigned tries = 0;

	do
		change(&m->now, ret);
	while (merges(&m->now, ret) && ++tries < 100);
	return tries < 100 && !(trial && merges(ret, &m->now));
}

static void tell_policy(const char *what, const struct policy *p)
{
	tell("%s%s", what, strstr(text_of(p), "heartbeat: none\n") + 16);
}

static void apply_one(bool trial)
{
	struct bwl_publish_opts o = { .confirm_ns = trial ? (1 + below(30)) * MODEL_SECOND : 0 };
	struct bwl_err e = { 0 };
	struct policy next;

	if (!next_policy(trial, &next))
		return;
	tell_policy(trial ? "TRIAL " : "APPLY ", &next);
	if (ref_trial_ns()) { /* before its end and after it */
		if (publish(&next, &o, &e) != -EBUSY)
			broken("a trial did not refuse another policy");
		live_after("a policy was refused");
		return;
	}
	put_in_force(&next, &o);
}

static void return_one(void)
{
	struct bwl_err e = { 0 };
	struct policy before = m->before;

	if (!ref_trial_ns())
		return;
	tell("ROLLBACK\n");
	shorter_counts(&before);
	forget_merged(&before);
	live_policy(&before);
	ref_trial(0);
	if (bwl_rollback(level_pins(), &e))
		broken("%s", e.text);
	m->now = before;
	window_is(&before);
	live_after("a trial's way back");
}

static void confirm_one(void)
{
	struct bwl_err e = { 0 };
	int r;

	if (!ref_trial_ns())
		return;
	tell("CONFIRM\n");
	r = bwl_confirm(level_pins(), &e);
	if (r != (level_now() >= ref_trial_ns() ? -EBUSY : 0))
		broken("confirm: %d: %s", r, e.text);
	if (!r)
		ref_trial(0);
}

static void is_revoked(int k)
{
	live_revoked(k);
	for (unsigned d = 0; d < NDESTS; d++)
		if (has_dest(&m->now, k, d) ||
		    (ref_trial_ns() && (has_dest(&m->before, k, d) || has_dest(&m->lost, k, d))))
			ref_close((int)d);
}

static void revoke_one(void)
{
	struct bwl_err e = { 0 };
	int k = (int)below(NNAMES);

	tell("REVOKE %s\n", name[k]);
	live_revoked(k);
	if (bwl_revoke(level_pins(), name[k], &e)) {
		if (e.code != ENOENT || has(&m->now, k) || (ref_trial_ns() && has(&m->before, k)))
			broken("revoke %s: %s", name[k], e.text);
		return;
	}
	is_revoked(k);
}

/* As agent/tamper does it: one peer at once, before it looks further, or all. */
static void tamper_one(void)
{
	int k = (int)below(NNAMES);
	struct bwl_err e = { 0 };

	if (below(3)) {
		tell("TAMPER %s\n", name[k]);
		live_revoked(k);
		bwl_revoke_at_once(level_pins(), name[k]);
		flood();
		if (!bwl_revoke(level_pins(), name[k], &e))
			is_revoked(k);
		return;
	}
	tell("TAMPER all\n");
	if (bwl_revoke(level_pins(), NULL, &e))
		broken("%s", e.text);
	for (k = 0; k < NNAMES; k++)
		is_revoked(k);
}

static void grant_one(void)
{
	const struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	struct bwl_err e = { 0 };
	int k = (int)below(NNAMES), r;
	unsigned d;

	tell("GRANT %s\n", name[k]);
	for (d = 0; d < NDESTS; d++) /* before: what it opens may pass at once */
		if (!ref_trial_ns() && has_dest(&m->now, k, d))
			ref_open((int)d);
	r = bwl_peer_change(level_pins(), name[k], &c, &e);
	if (r != (ref_trial_ns() ? -EBUSY : has(&m->now, k) ? 0 : -ENOENT))
		broken("grant %s: %d: %s", name[k], r, e.text);
	if (!r)
		live_granted(k);
}

struct killed {
	struct bwl_policy *next; /* NULL: the one before a trial */
	struct bwl_publish_opts o;
};

static int killable(struct bwl_pins *pins, void *arg)
{
	const struct killed *x = arg;
	struct bwl_err e = { 0 };

	return x->next ? bwl_publish(pins, x->next, &x->o, NULL, &e) : bwl_rollback(pins, &e);
}

/* A writer is killed: either policy is in force, and the next writer repairs what it left. */
static void kill_one(void)
{
	bool trial = !below(3), back = ref_trial_ns();
	struct killed x = { .o.confirm_ns = trial ? (1 + below(30)) * MODEL_SECOND : 0 };
	uint64_t trial_ns = ref_trial_ns();
	struct bwl_err e = { 0 };
	struct policy next;
	uint32_t was;
	int r = 0;

	if (back)
		next = m->before;
	else if (!next_policy(trial, &next))
		return;
	if (!m->now.any || !next.any)
		return;
	x.next = back ? NULL : parsed(&next);
	was = level_pins()->ctl->active;
	tell_policy(back ? "KILLED ROLLBACK " : trial ? "KILLED TRIAL " : "KILLED APPLY ", &next);
	expect_policy(&next);
	ref_trial(0);
	if (!level_kill(killable, &x, below(9), below(below(2) ? 300 : 6000), &r) && r)
		broken("a writer that was not killed: %d", r);
	bwl_policy_free(x.next);
	if (level_pins()->ctl->active == was) {
		tell("not in force\n");
		ref_trial(trial_ns);
	} else {
		is_in_force(&next, back ? 0 : x.o.confirm_ns);
		ref_trial(bwl_trial_ns(level_pins()));
	}
	if (ref_trial_ns() && bwl_slot_before(level_pins()) == BWL_NO_SLOT) {
		m->lost = m->before;
		m->before.any = false; /* no way back is left */
	}
	flood();
	window_is(&m->now);
	live_after("a writer was killed");
	if (below(2) && bwl_settle_held(level_pins()->dir, &e))
		broken("%s", e.text);
}

static void upgrade(void)
{
	struct bwl_ctl *ctl = level_pins()->ctl;

	tell("UPGRADE\n");
	ctl->stop = BWL_UPGRADING;
	if (flood())
		broken("something passes during an upgrade");
	level_upgrade();
	ctl->stop = 0;
	live_after("an upgrade");
}

static void some_time(void)
{
	/* twice what empties the shortest window */
	static const uint64_t ns[] = { 1000,
				       1000000,
				       30000000,
				       MODEL_SECOND,
				       12 * MODEL_SECOND,
				       40 * MODEL_SECOND,
				       3700 * MODEL_SECOND,
				       50000 * MODEL_SECOND };
	uint64_t by = ns[below(8)];

	tell("WAIT %llu us\n", (unsigned long long)by / 1000);
	level_advance(by);
}

/*
 * Maps and ledger are gone; the policy, or the one before a trial, and the journal of closures are
 * not. Host ports stay down until all is in force again.
 */
static void reboot(void)
{
	const struct policy p = ref_trial_ns() ? m->before : m->now;
	const struct bwl_publish_opts o = { 0 };
	bool closed[NDESTS] = { false };
	unsigned d;

	tell("REBOOT\n");
	for (d = 0; d < NDESTS; d++)
		closed[d] = ref_is_closed((int)d);
	level_advance(60 * MODEL_SECOND);
	level_open(true);
	m->rebooted = true;
	m->now = m->before = m->lost = (struct policy){ 0 };
	ref_trial(0);
	ref_open(-1); /* of what the policy does not name the journal speaks, which is not here */
	live_begin();
	if (!p.any)
		return;
	level_pins()->ctl->stop = 1;
	put_in_force(&p, &o);
	for (d = 0; d < NDESTS; d++) {
		struct bwl_err e = { 0 };

		if (!closed[d] || p.name[d] < 0)
			continue;
		if (bwl_revoke(level_pins(), name[p.name[d]], &e))
			broken("%s", e.text);
		is_revoked(p.name[d]);
	}
	level_pins()->ctl->stop = 0;
	live_after("a reboot");
}

/* What is revoked on trial, and how that ends. */
static void end_trial(void)
{
	revoke_one();
	flood();
	if (below(2))
		confirm_one();
	else
		return_one();
	flood();
}

static void step(void)
{
	if (ref_trial_ns() && !below(4))
		end_trial();
	switch (below(30)) {
	case 0 ... 6:
		apply_one(false);
		break;
	case 7 ... 11:
		apply_one(true);
		break;
	case 12 ... 13:
		return_one();
		break;
	case 14 ... 15:
		confirm_one();
		break;
	case 16 ... 18:
		revoke_one();
		break;
	case 19:
		tamper_one();
		break;
	case 20 ... 21:
		grant_one();
		break;
	case 22 ... 23:
		kill_one();
		break;
	case 24:
		if (below(4))
			upgrade();
		else
			reboot();
		break;
	default:
		some_time();
	}
	flood();
}

/* Control: after all that, whoever is granted gets through. */
static void all_is_open_again(void)
{
	const struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	const struct bwl_publish_opts o = { 0 };
	struct bwl_err e = { 0 };
	struct policy p;
	unsigned i;

	if (ref_trial_ns() && m->before.any)
		return_one();
	m->windows[0] = m->windows[1] = 1 + below(3);
	do
		make(&p);
	while (merges(&m->now, &p));
	tell_policy("END ", &p);
	if (ref_trial_ns() && bwl_rollback(level_pins(), &e))
		broken("%s", e.text);
	put_in_force(&p, &o);
	ref_open(-1); /* from here on: what it opens passes at once */
	for (i = 0; i < NPLACES; i++)
		if (p.of_place[i] < 0)
			continue;
		else if (bwl_peer_change(level_pins(), name[p.of_place[i]], &c, &e))
			broken("%s", e.text);
		else
			live_granted(p.of_place[i]);
	/* The first packet after a change of a window's length begins its slices: once more. */
	level_advance(3 * 86400 * MODEL_SECOND);
	flood();
	level_advance(3 * 86400 * MODEL_SECOND);
	if (!flood())
		broken("nothing passes at the end");
	live_at_end();
}

void model_sequence(uint64_t n)
{
	unsigned i;

	if (!m) /* shared with a process that is killed */
		m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			 0);
	if (m == MAP_FAILED)
		level_fail("no memory");
	memset(m, 0, offsetof(struct model, told) + 1);
	m->seed = m->state = n;
	m->zones = !below(4);
	m->windows[0] = below(4);
	m->windows[1] = below(4);
	for (i = 0; i < NDESTS; i++)
		m->last[i] = -1;
	ref_begin();
	live_begin();
	level_open(false);
	for (i = 0; i < STEPS; i++)
		step();
	all_is_open_again();
	if (getenv("MODEL_TELL"))
		fputs(m->told, stderr);
}

uint64_t model_digest(void)
{
	return m->digest;
}
