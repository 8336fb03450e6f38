/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pinned maps say, and the heartbeat and the lease in them. */
#ifndef BWL_TABLES_H
#define BWL_TABLES_H

#include <bwl/pins.h>
#include <bwl/policy.h>

/* The policy in force, read back from the maps. Rates are as encoded (within 2^-23). */
int bwl_policy_read(struct bwl_pins *p, struct bwl_policy **ret, struct bwl_err *e);
/* The same, as if peer id had this body: what an edit would make of it. */
int bwl_policy_read_as(struct bwl_pins *p, uint32_t id, const struct bwl_peer *body,
		       struct bwl_policy **ret, struct bwl_err *e);

/* Volumes that a writer holds full at this moment, or held when he was killed. */
bool bwl_is_held(const struct bwl_pins *p);

/*
 * Deadline = now + the policy's heartbeat, and no later than the end of the lease. ret_deadline_ns:
 * ~0 when the policy says none. -EPERM: clamped, or the policy asks for a lease and none is live.
 */
int bwl_heartbeat(struct bwl_pins *p, uint64_t *ret_deadline_ns, struct bwl_err *e);
/*
 * Every grant to its floor; bwl_heartbeat() is refused (-EPERM) until bwl_unclamp(), whoever is
 * restarted. false, and nothing is changed: the policy, or the one that a trial returns to, has no
 * heartbeat.
 */
bool bwl_clamp(struct bwl_pins *p);
bool bwl_is_clamped(const struct bwl_pins *p);
bool bwl_unclamp(struct bwl_pins *p); /* false: it was not */

/* A policy with `lease` holds its grants until so long after the last renewal. */
enum bwl_lease_state {
	BWL_LEASE_NONE, /* the policy asks for none */
	BWL_LEASE_LIVE,
	BWL_LEASE_ENDED,
	BWL_LEASE_NEVER, /* since the maps were made, at boot say, it was not renewed */
};
struct bwl_lease_now {
	enum bwl_lease_state state;
	uint64_t longest_ns, until_ns, renewed_ns; /* 0: none */
};
int bwl_lease(struct bwl_pins *p, struct bwl_lease_now *ret, struct bwl_err *e);
const char *bwl_lease_word(enum bwl_lease_state state);
/* Why no heartbeat is taken now, NULL: it is; ret_todo: what to do. */
const char *bwl_why_silent(const struct bwl_pins *p, const struct bwl_base *base, uint64_t now_ns,
			   const char **ret_todo);
/* It ends for_ns from now, which may be sooner than before; 0: as late as the policy allows. */
int bwl_lease_renew(struct bwl_pins *p, uint64_t for_ns, struct bwl_err *e);

/* 0 when there is no peer of that name in the policy in force. */
uint32_t bwl_peer_id(const struct bwl_pins *p, const struct bwl_gen *g, const char *name);
/* Is what the peer may send revoked? g: in force, NULL: none is. */
bool bwl_is_revoked(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id);
/* By the stop switch: a hand, or what the journal has of one; not while attach or upgrade close. */
bool bwl_is_stopped(const struct bwl_pins *p);

/* Until when an emergency's policy holds, which nobody confirms; 0: none does. */
uint64_t bwl_glass_until_ns(const struct bwl_pins *p, uint64_t now_ns);

/* Every limit of a generation that has a volume or a place for one: all but accept. */
typedef void (*bwl_limit_fn)(const struct bwl_limit *l, uint32_t state, void *arg);
void bwl_limit_each(const struct bwl_pins *p, const struct bwl_gen *g, bwl_limit_fn fn, void *arg);
/* Whose it is, as a ledger names it: "peer tray-3", "class tray-3/ssh", "zone external", "node". */
#define BWL_LIMIT_KEY 96
char *bwl_limit_key(const struct bwl_pins *p, uint32_t state, char buf[static BWL_LIMIT_KEY]);

/* What is left of one limit right now. */
struct bwl_left {
	/*
	 * Bytes. A packet passes when debt + len <= burst, of which what CPUs may hold is kept for
	 * them (bwl_rate.burst_bytes + 1 is the rest); what they hold now is in the debt.
	 */
	uint64_t debt, burst;
	bool has_volume;
	uint64_t volume, used, window_ns; /* used: total, or in the window that ends now */
};
void bwl_limit_left(const struct bwl_pins *p, const struct bwl_rate *r, const struct bwl_volume *v,
		    uint32_t state, uint64_t now_ns, struct bwl_left *ret);
/* Destination -> peer id, as the data plane looks it up; 0 none. family 4 or 6. */
uint32_t bwl_lookup_dest(const struct bwl_gen *g, uint8_t family, const uint8_t *addr);
/* bit/s that an encoded rate stands for, rounded to seven digits; 0 unlimited. */
uint64_t bwl_rate_decode(const struct bwl_rate *r);
/*
 * Sets all but base and start. burst in bytes; of a large one CPUs may hold shares (maps/share.h),
 * on this machine, or on one of so many possible CPUs.
 */
void bwl_rate_encode(struct bwl_rate *r, uint64_t rate_bps, uint64_t burst);
void bwl_rate_encode_for(struct bwl_rate *r, uint64_t rate_bps, uint64_t burst, unsigned cpus);
/* log2 of the possible CPUs, rounded up: what programs are told of them (bpf/lib/cpu.h). */
uint32_t bwl_cpu_bits(void);
/* Two ticks in ns: how old the time by ticks may be (bpf/lib/clock.h). */
uint64_t bwl_late_most_ns(void);
/* The burst that was encoded, with what CPUs may hold of it. */
uint64_t bwl_rate_burst(const struct bwl_rate *r);
/*
 * Sets base and start: r comes into force at now_ns. old: what was in force until then, NULL
 * nothing; word: bwl_state.finish_bytes, which packets may charge meanwhile, by old.
 */
void bwl_rate_follow(struct bwl_rate *r, const struct bwl_rate *old, __u64 *word, uint64_t now_ns);
void bwl_rate_follow_for(struct bwl_rate *r, const struct bwl_rate *old, __u64 *word,
			 uint64_t now_ns, unsigned cpus);

#endif
