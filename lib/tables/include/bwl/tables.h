/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the pinned maps; the heartbeat and the lease in them. */
#ifndef BWL_TABLES_H
#define BWL_TABLES_H

#include <bwl/pins.h>
#include <bwl/policy.h>

/* The policy in force, read back from the maps. Rates are as encoded (within 2^-23). */
int bwl_policy_read(struct bwl_pins *p, struct bwl_policy **ret, struct bwl_err *e);
/* The same, as if peer id had this body: the result of an edit. */
int bwl_policy_read_as(struct bwl_pins *p, uint32_t id, const struct bwl_peer *body,
		       struct bwl_policy **ret, struct bwl_err *e);
/* The policy of a slot (bwl_slot_before()). */
int bwl_policy_read_slot(struct bwl_pins *p, uint32_t slot, struct bwl_policy **ret,
			 struct bwl_err *e);

/* Does a writer hold volumes full now, or did it when it was killed? */
bool bwl_is_held(const struct bwl_pins *p);
/* Does a writer rename peers now, or did it when it was killed? */
bool bwl_is_renaming(const struct bwl_pins *p);
/* One of these, or has it yet to note what is owed where prefixes are given up (bwl_given_v1)? */
bool bwl_is_unsettled(const struct bwl_pins *p);

/*
 * Sets the deadline to now + the policy's heartbeat, but not beyond the end of the lease.
 * ret_deadline_ns: ~0 for `heartbeat: none`. -EPERM: clamped, or the policy requires a lease and
 * none is live.
 */
int bwl_heartbeat(struct bwl_pins *p, uint64_t *ret_deadline_ns, struct bwl_err *e);
/*
 * Puts every grant to its floor; bwl_heartbeat() is refused (-EPERM) until bwl_unclamp(), over all
 * restarts. false: it has no effect, because the policy, or the one that a trial returns to, has no
 * heartbeat: revoke instead.
 */
bool bwl_clamp(struct bwl_pins *p);
bool bwl_is_clamped(const struct bwl_pins *p);
bool bwl_unclamp(struct bwl_pins *p); /* false: it was not clamped */

/* A policy with `lease` keeps its grants alive only this long after the last renewal. */
enum bwl_lease_state {
	BWL_LEASE_NONE, /* the policy requires none */
	BWL_LEASE_LIVE,
	BWL_LEASE_ENDED,
	BWL_LEASE_NEVER, /* not renewed since the maps were made, for example at boot */
};
struct bwl_lease_now {
	enum bwl_lease_state state;
	uint64_t longest_ns, until_ns, renewed_ns; /* 0: none */
};
int bwl_lease(struct bwl_pins *p, struct bwl_lease_now *ret, struct bwl_err *e);
const char *bwl_lease_word(enum bwl_lease_state state);
/* Why heartbeats are refused now; NULL: they are accepted. ret_todo: the next step. */
const char *bwl_why_silent(const struct bwl_pins *p, const struct bwl_base *base, uint64_t now_ns,
			   const char **ret_todo);
/* Ends the lease for_ns from now, possibly sooner than before; 0: as late as the policy allows. */
int bwl_lease_renew(struct bwl_pins *p, uint64_t for_ns, struct bwl_err *e);

/* 0: the policy in force has no peer of that name. */
uint32_t bwl_peer_id(const struct bwl_pins *p, const struct bwl_gen *g, const char *name);
/* Is the peer's grant revoked? g: the generation in force, NULL: none is. */
bool bwl_is_revoked(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id);
/*
 * By the stop switch, set by hand or from the journal; not while attach or upgrade keep it closed.
 */
bool bwl_is_stopped(const struct bwl_pins *p);

/* Until when an emergency policy holds, which cannot be confirmed; 0: there is none. */
uint64_t bwl_glass_until_ns(const struct bwl_pins *p, uint64_t now_ns);

/*
 * Every limit of a generation that has a volume or room for one; for accept only if it has a
 * volume.
 */
typedef void (*bwl_limit_fn)(const struct bwl_limit *l, uint32_t state, void *arg);
void bwl_limit_each(const struct bwl_pins *p, const struct bwl_gen *g, bwl_limit_fn fn, void *arg);
/*
 * The limit's owner, as the ledger names it: "peer tray-3", "class tray-3/ssh", "zone external",
 * "node".
 */
#define BWL_LIMIT_KEY 96
char *bwl_limit_key(const struct bwl_pins *p, uint32_t state, char buf[static BWL_LIMIT_KEY]);

/* What is left of one limit now. */
struct bwl_left {
	/*
	 * Bytes. A packet passes when debt + len <= burst. A part of burst is reserved for CPUs'
	 * shares (bwl_rate.burst_bytes + 1 is the rest); the shares they hold now are in the debt.
	 */
	uint64_t debt, burst;
	bool has_volume;
	uint64_t volume, used, window_ns; /* used: total, or in the window that ends now */
};
void bwl_limit_left(const struct bwl_pins *p, const struct bwl_rate *r, const struct bwl_volume *v,
		    uint32_t state, uint64_t now_ns, struct bwl_left *ret);
/* Destination -> peer id, as in the data plane; 0: none. family: 4 or 6. */
uint32_t bwl_lookup_dest(const struct bwl_gen *g, uint8_t family, const uint8_t *addr);
/* The same for a prefix: who has the whole of it, itself or by a prefix around it. */
uint32_t bwl_lookup_pfx(const struct bwl_gen *g, const struct bwl_pfx *q);
/* The rate in bit/s of an encoded rate, rounded to seven digits; 0: unlimited. */
uint64_t bwl_rate_decode(const struct bwl_rate *r);
/*
 * Sets everything except base and start. burst in bytes; CPUs may hold shares of a large one
 * (maps/share.h), on this machine, or with that many possible CPUs.
 */
void bwl_rate_encode(struct bwl_rate *r, uint64_t rate_bps, uint64_t burst);
void bwl_rate_encode_for(struct bwl_rate *r, uint64_t rate_bps, uint64_t burst, unsigned cpus);
/* log2 of the number of possible CPUs, rounded up, as passed to programs (bpf/lib/cpu.h). */
uint32_t bwl_cpu_bits(void);
/* Two ticks in ns: the maximum age of the time by ticks (bpf/lib/clock.h). */
uint64_t bwl_late_most_ns(void);
/* The burst as configured, including what CPUs may hold of it. */
uint64_t bwl_rate_burst(const struct bwl_rate *r);
/*
 * Sets base and start, so that r comes into force at now_ns. old: the rate in force until then,
 * NULL: none; word: bwl_state.finish_bytes, which packets may charge meanwhile, under old.
 */
void bwl_rate_follow(struct bwl_rate *r, const struct bwl_rate *old, __u64 *word, uint64_t now_ns);
void bwl_rate_follow_for(struct bwl_rate *r, const struct bwl_rate *old, __u64 *word,
			 uint64_t now_ns, unsigned cpus);

#endif
