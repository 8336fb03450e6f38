// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long grants last without further signals: the heartbeat, and the lease; no heartbeat is
 * accepted beyond the lease's end. The data plane only knows the heartbeat's deadline, so a lease
 * ends even if every daemon is dead.
 */
#include <errno.h>
#include <bwl/policy.h>
#include <bwl/tables.h>
#include <bwl/units.h>
#include <bwl/heartbeat.h>

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)

struct silence {
	bool always;                 /* every policy that may come into force has a heartbeat */
	uint64_t every_ns, lease_ns; /* 0: none */
};

static int silence_of(struct bwl_pins *p, uint32_t slot, struct silence *ret, struct bwl_err *e)
{
	struct bwl_gen g;
	int r = bwl_gen_open(p, slot, &g, e);

	if (r)
		return r;
	*ret = (struct silence){ g.base->heartbeat_ns, g.base->heartbeat_ns, g.base->lease_ns };
	bwl_gen_close(&g);
	return 0;
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

/*
 * During a trial the policy before may return at any moment: a heartbeat or a lease counts for it,
 * too.
 */
static int silence_now(struct bwl_pins *p, struct silence *ret, struct bwl_err *e)
{
	uint32_t slot = bwl_slot_before(p);
	struct silence before = { .always = true };
	int r = silence_of(p, bwl_active_slot(p), ret, e);

	if (!r && slot != BWL_NO_SLOT)
		r = silence_of(p, slot, &before, e);
	if (r)
		return r;
	ret->always = ret->always && before.always;
	ret->every_ns = shorter(ret->every_ns, before.every_ns);
	ret->lease_ns = shorter(ret->lease_ns, before.lease_ns);
	return 0;
}

uint64_t bwl_glass_until_ns(const struct bwl_pins *p, uint64_t now_ns)
{
	return LOAD(p->lease->enrolled) & BWL_GLASS_BROKEN ? bwl_pending_ns(p, now_ns) : 0;
}

/* Moves the deadline to at_ns or earlier. A clamp stays, and an emergency policy keeps its end. */
static void lower_beat(struct bwl_pins *p, uint64_t at_ns)
{
	__u64 was = LOAD(p->ctl->heartbeat_ns);

	if (bwl_glass_until_ns(p, bwl_now_ns()))
		return;
	while (was > at_ns && was != BWL_CLAMPED_NS &&
	       !__atomic_compare_exchange_n(&p->ctl->heartbeat_ns, &was, at_ns, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

/*
 * A lease end that has passed, or was never set, counts as now: a deadline of 0 has another
 * meaning.
 */
static uint64_t lease_end(const struct bwl_pins *p, uint64_t now)
{
	uint64_t until = LOAD(p->lease->until_ns);

	return until > now ? until : now;
}

void bwl_silence_within(struct bwl_pins *p, uint64_t every_ns, uint64_t lease_ns)
{
	uint64_t now = bwl_now_ns();
	__u64 until = LOAD(p->lease->until_ns);

	while (lease_ns && until > now + lease_ns &&
	       !__atomic_compare_exchange_n(&p->lease->until_ns, &until, now + lease_ns, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	if (lease_ns)
		lower_beat(p, lease_end(p, now));
	if (every_ns)
		lower_beat(p, now + every_ns);
}

static int no_lease(const struct bwl_pins *p, struct bwl_err *e)
{
	bwl_fail(e, EPERM,
		 LOAD(p->lease->until_ns)
			 ? "the lease has ended: heartbeat refused"
			 : "no lease was given since the maps were made: heartbeat refused");
	return bwl_hint(e, "bwlimit-ctl lease renew");
}

int bwl_heartbeat(struct bwl_pins *p, uint64_t *ret_deadline_ns, struct bwl_err *e)
{
	__u64 was = LOAD(p->ctl->heartbeat_ns);
	struct silence s;
	uint64_t now, end;
	int r = silence_now(p, &s, e);

	if (r)
		return r;
	*ret_deadline_ns = s.every_ns ? bwl_glass_until_ns(p, bwl_now_ns()) : BWL_NEVER_NS;
	if (!s.every_ns || (*ret_deadline_ns && was != BWL_CLAMPED_NS))
		return 0;
	do { /* one word: a concurrent clamp is never overwritten */
		if (was == BWL_CLAMPED_NS) {
			bwl_fail(e, EPERM, "clamped after a sign of tampering: heartbeat refused");
			return bwl_hint(
				e, "once the cause is understood: bwlimit-ctl heartbeat --lift");
		}
		now = bwl_now_ns();
		end = s.lease_ns ? lease_end(p, now) : BWL_NEVER_NS;
		if (end == now)
			return no_lease(p, e);
		*ret_deadline_ns = end - now < s.every_ns ? end : now + s.every_ns;
	} while (!__atomic_compare_exchange_n(&p->ctl->heartbeat_ns, &was, *ret_deadline_ns, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	if (s.lease_ns) /* the lease may have been shortened meanwhile */
		lower_beat(p, lease_end(p, now));
	return 0;
}

bool bwl_clamp(struct bwl_pins *p)
{
	struct silence s;

	if (silence_now(p, &s, NULL) || !s.always)
		return false;
	__atomic_store_n(&p->ctl->heartbeat_ns, BWL_CLAMPED_NS, __ATOMIC_SEQ_CST);
	/* a policy that has come into force meanwhile may have looked for a clamp before */
	return !silence_now(p, &s, NULL) && s.always;
}

bool bwl_is_clamped(const struct bwl_pins *p)
{
	return LOAD(p->ctl->heartbeat_ns) == BWL_CLAMPED_NS;
}

bool bwl_unclamp(struct bwl_pins *p)
{
	__u64 was = BWL_CLAMPED_NS;

	return __atomic_compare_exchange_n(&p->ctl->heartbeat_ns, &was, 0, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

int bwl_lease(struct bwl_pins *p, struct bwl_lease_now *ret, struct bwl_err *e)
{
	struct silence s;
	int r = silence_now(p, &s, e);

	if (r)
		return r;
	*ret = (struct bwl_lease_now){ .longest_ns = s.lease_ns,
				       .until_ns = LOAD(p->lease->until_ns),
				       .renewed_ns = LOAD(p->lease->renewed_ns) };
	ret->state = !s.lease_ns                    ? BWL_LEASE_NONE
		     : !ret->until_ns               ? BWL_LEASE_NEVER
		     : bwl_now_ns() < ret->until_ns ? BWL_LEASE_LIVE
						    : BWL_LEASE_ENDED;
	return 0;
}

const char *bwl_lease_word(enum bwl_lease_state state)
{
	static const char *const words[] = {
		[BWL_LEASE_NONE] = "none",
		[BWL_LEASE_LIVE] = "live",
		[BWL_LEASE_ENDED] = "ended",
		[BWL_LEASE_NEVER] = "never",
	};

	return words[state];
}

const char *bwl_why_silent(const struct bwl_pins *p, const struct bwl_base *base, uint64_t now_ns,
			   const char **ret_todo)
{
	if (base->heartbeat_ns && bwl_is_clamped(p)) {
		*ret_todo = "bwlimit-ctl heartbeat --lift";
		return "clamped after a sign of tampering";
	}
	*ret_todo = "bwlimit-ctl lease renew";
	if (!base->lease_ns || now_ns < LOAD(p->lease->until_ns))
		return NULL;
	return LOAD(p->lease->until_ns) ? "the lease has ended"
					: "no lease was given since the maps were made";
}

int bwl_lease_renew(struct bwl_pins *p, uint64_t for_ns, struct bwl_err *e)
{
	uint64_t now = bwl_now_ns();
	char most[BWL_UNIT_BUF];
	struct silence s;
	int r = silence_now(p, &s, e);

	if (r)
		return r;
	if (!s.lease_ns) {
		bwl_fail(e, EINVAL, "the policy in force has no lease to renew");
		return bwl_hint(e, "set one in the policy, such as lease: 24h");
	}
	if (!for_ns)
		for_ns = s.lease_ns;
	if (for_ns < BWL_LEASE_MIN_NS || for_ns > s.lease_ns)
		return bwl_fail(e, ERANGE, "a lease must be 1s to %s under this policy",
				bwl_format_time(s.lease_ns, most));
	__atomic_store_n(&p->lease->renewed_ns, now, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->lease->until_ns, now + for_ns, __ATOMIC_SEQ_CST);
	lower_beat(p, now + for_ns);
	return 0;
}
