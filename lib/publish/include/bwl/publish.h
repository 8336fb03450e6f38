/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Publishes policies in the pinned maps. Every writer takes the lock itself. If it is killed at any
 * point, either the old policy or the new one is in force; the next writer clears what is left.
 */
#ifndef BWL_PUBLISH_H
#define BWL_PUBLISH_H

#include <jansson.h>
#include <bwl/tables.h>

struct bwl_publish_opts {
	uint64_t confirm_ns; /* 0: permanent; otherwise its grants end unless confirmed in time */
	bool fresh_volume;   /* volumes with an unknown past start unspent */
	bool allowed;        /* it may widen: enough people signed it (bwl_gate_fn) */
	/* read from the maps and edited: what only a file contains is as it was */
	bool of_maps;
	bool breaks_glass; /* with confirm_ns: it cannot be confirmed and ends by itself */
	bool returns;      /* it is the policy before one on trial (bwl_rollback()) */
	/* Peers that it opens although they are revoked; this ends with it, too. */
	const char *const *opens;
	size_t nopens;
};

struct bwl_publish_report {
	uint32_t peers, prefixes, added, retired;
	uint32_t inherited;    /* new names that took over a removed peer's id and state */
	uint32_t kept_revoked; /* peers that stay revoked; `grant` re-authorises them */
	uint32_t exhausted;    /* volumes that start spent because their past is unknown */
	uint64_t map_bytes;    /* peak memory of both generations during the swap */
	double seconds;
};

/* report.c: as in documents, and back; false: not a report. */
json_t *bwl_json_report(const struct bwl_publish_report *r);
bool bwl_report_from(const json_t *o, struct bwl_publish_report *ret);

/* Builds the policy in the unused generation and puts it in force as a whole. */
int bwl_publish(struct bwl_pins *p, struct bwl_policy *pol, const struct bwl_publish_opts *o,
		struct bwl_publish_report *ret, struct bwl_err *e);
/*
 * Ends a trial (confirm_ns) and keeps its policy. -ENOENT: there is none. -EBUSY: its time has run
 * out. -EPERM: the tray is enrolled, and the policy on trial ends by itself.
 */
int bwl_confirm(struct bwl_pins *p, struct bwl_err *e);
/*
 * Settles what a killed writer left (bwl_is_unsettled()), as every writer does first. Waits for a
 * writer that is alive.
 */
int bwl_settle_held(const char *pin_dir, struct bwl_err *e);
/*
 * Ends a trial, before or after its time has run out, by applying the policy before again. If it is
 * killed: the trial goes on to its end, or its grants stay ended. -ENOENT: no trial.
 */
int bwl_rollback(struct bwl_pins *p, struct bwl_err *e);
/* What a trial's end leads to, to be asked before bwl_rollback() and with the lock held. */
enum bwl_way_back {
	BWL_BACK_TO_POLICY,
	BWL_BACK_TO_NONE, /* the policy on trial was the first one */
	BWL_BACK_IS_LOST, /* bwl_is_before_lost(): to none, too */
};
enum bwl_way_back bwl_way_back(const struct bwl_pins *p);
const char *bwl_way_back_words(enum bwl_way_back way); /* after it: what is in force */
/*
 * -EBUSY, with the next step, for everything but confirm and rollback: while a policy is on trial,
 * and after its end until the policy before is in force again. Otherwise what nobody confirmed
 * would be compared with, taken over from and edited, and by and by it would stay.
 */
int bwl_trial_refuses(const struct bwl_pins *p, struct bwl_err *e);

/* A change to one peer's grant; fields not in `set` stay as they are. */
enum bwl_change_bits {
	BWL_SET_RATE = 1 << 0,
	BWL_SET_BURST = 1 << 1,
	BWL_SET_VOLUME = 1 << 2,
	BWL_SET_EXPIRY = 1 << 3,
	BWL_SET_MODE = 1 << 4,
	BWL_SET_ACCEPT = 1 << 5,
	BWL_SET_AUTHORISE = 1 << 6, /* `grant`: lifts a revocation */
	BWL_ADD_VOLUME = 1 << 7,    /* raise the volume by lim.volume */
	BWL_ADD_ONCE = 1 << 8, /* a volume per window stays: lim.volume more of the present one */
};
struct bwl_change {
	unsigned set;
	struct bwl_lim lim; /* rate_bps, burst, volume + window_ns + has_volume */
	uint64_t expiry_ns;
	uint8_t mode, mark_pct; /* mark_pct 0: stays */
	struct bwl_lim accept;
	uint64_t *given; /* BWL_ADD_ONCE: how much more of the present window; NULL: not asked */
	bool allowed;    /* as in struct bwl_publish_opts */
	bool only_ask;   /* only ask the gate: change nothing */
};
/* Writes a spare entry and switches one index to it: no packet sees half a change. */
int bwl_peer_change(struct bwl_pins *p, const char *name, const struct bwl_change *c,
		    struct bwl_err *e);
/* enum bwl_enrolled_flags of these maps (maps/ctl.h). */
uint64_t bwl_enrolled(const struct bwl_pins *p);
void bwl_enrolled_set(struct bwl_pins *p, uint64_t flags);
void bwl_enrolled_clear(struct bwl_pins *p, uint64_t flags);
/*
 * If a root of signed documents is enrolled (docs/fleet.md), what is not `allowed` may only
 * tighten. Every writer asks the gate before it writes, with the lock held; a program that has set
 * no gate cannot write there. pol: what would be in force; NULL: is this tray enrolled? 1 or 0.
 * edit: pol is what the maps would contain, so a peer that is not revoked in it is opened; in a
 * policy, a peer that is revoked now stays revoked. The one implementation: enrolled/gate.h.
 */
typedef int (*bwl_gate_fn)(struct bwl_pins *p, struct bwl_policy *pol,
			   const struct bwl_publish_opts *o, bool edit, struct bwl_err *e);
void bwl_gate_set(bwl_gate_fn fn);
int bwl_gate_ask(struct bwl_pins *p, struct bwl_policy *pol, const struct bwl_publish_opts *o,
		 struct bwl_err *e);
bool bwl_only_tightens(struct bwl_pins *p);
#define BWL_ENROLLED_WIDENS "enrolled-widens" /* e->id */
/* -EPERM, with that id and the next step. what: a sentence that says what would be wider. */
int bwl_gate_refuse(struct bwl_err *e, const char *what);
/* The same for one peer's body. */
int bwl_gate_ask_peer(struct bwl_pins *p, uint32_t id, const struct bwl_peer *body,
		      struct bwl_err *e);

/*
 * Closes the peer; name NULL: every peer. First one store, without the lock; then who has prefixes
 * that the name had when it left the policy, or gets back after a trial: with a warning each, or by
 * `also`. -ENOENT: no such name.
 */
int bwl_revoke(struct bwl_pins *p, const char *name, struct bwl_err *e);
/* The one store alone, for the first of two passes over many names. */
void bwl_revoke_at_once(struct bwl_pins *p, const char *name);
typedef void (*bwl_revoked_fn)(void *arg, const char *name);
int bwl_revoke_also(struct bwl_pins *p, const char *name, bwl_revoked_fn also, void *arg,
		    struct bwl_err *e);

#endif
