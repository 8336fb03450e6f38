/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the kernel's SAs and policies to bwl_tunnel_v1: which encrypted peer has a usable SA, and
 * how much of the work the device does. if_id is the peer's id everywhere.
 */
#ifndef BWL_TRACK_H
#define BWL_TRACK_H

#include "bwl/pins.h"
#include "xfrm.h"

/*
 * Findings about a peer, the worst first. Up to NOT_ENCRYPTED a finding closes the peer even beside
 * a good SA; up to NOT_TUNNEL it is an alarm, because somebody made what must not exist.
 */
#define BWL_TRACK_WHYS(X)                                                                          \
	X(USABLE, "usable", "an outbound SA and a policy that demands it")                         \
	X(NO_PEER, "no-peer",                                                                      \
	  "there are SAs or IPsec policies for an id that belongs to no encrypted "                \
	  "peer")                                                                                  \
	X(POLICY_REMOTE, "policy-remote",                                                          \
	  "an IPsec policy leads to an address that is not the peer's")                            \
	X(OPEN_POLICY, "open-policy", "an IPsec policy demands no ESP tunnel")                     \
	X(HALF_OFFLOAD, "half-offload", "the device has the SA but not the policy: cleartext")     \
	X(NOT_ENCRYPTED, "not-encrypted", "an SA has no cipher, or nothing authenticates it")      \
	X(SA_REMOTE, "sa-remote", "an SA has an address that is not the peer's; it is not used")   \
	X(NOT_TUNNEL, "not-tunnel", "an SA is not ESP in tunnel mode; it is not used")             \
	X(NO_POLICY, "no-policy", "an SA, but no IPsec policy that demands it")                    \
	X(UNMATCHED, "unmatched", "no SA matches the IPsec policy")                                \
	X(NO_SA, "no-sa", "no outbound SA")
enum bwl_track_why {
#define X(e, name, text) BWL_TRACK_##e,
	BWL_TRACK_WHYS(X)
#undef X
		_BWL_TRACK_WHY_MAX
};
const char *bwl_track_why_name(unsigned why);
const char *bwl_track_why_text(unsigned why);

/* track_select.c, no I/O: one peer. */
struct bwl_track_found {
	const struct bwl_xfrm_sa *sa;
	const struct bwl_xfrm_policy *policy;
	uint32_t nsa, npolicy;
};
struct bwl_track_verdict {
	uint8_t flags, offload; /* as in struct bwl_tunnel */
	uint16_t overhead;
	__be32 spi_out, spi_in;
	uint8_t why;                /* enum bwl_track_why: USABLE, or why nothing may leave */
	uint8_t alarm;              /* enum bwl_track_why, the worst; 0: none */
	uint32_t ifindex;           /* the device with packet offload; 0: none, or several */
	uint8_t carried_by;         /* enum bwl_carried_by; for XDP the flags are set, too */
	uint64_t next_mac;          /* as in struct bwl_tunnel */
	struct bwl_xfrm_addr other; /* POLICY_REMOTE, SA_REMOTE: which address */
};
/*
 * Sets all of bwl_tunnel's flags except BENEATH and XDP, which concern the device. remote NULL: not
 * an encrypted peer. now_s: wall clock, against which the kernel counts lifetimes.
 */
void bwl_track_judge(const struct bwl_track_found *found, const struct bwl_xfrm_addr *remote,
		     uint64_t now_s, struct bwl_track_verdict *ret);

/* track.c: all peers, still without I/O except the map. */
struct bwl_track;
/* Called after an entry of the map was written. */
typedef void (*bwl_track_fn)(uint32_t id, const struct bwl_track_verdict *v, void *arg);
/* map NULL: nothing is written. 0 or -ENOMEM. */
int bwl_track_new(uint32_t max_peers, struct bwl_tunnel *map, bwl_track_fn fn, void *arg,
		  struct bwl_track **ret);
void bwl_track_free(struct bwl_track *t); /* NULL-safe */
/*
 * remote NULL: not, or no longer, an encrypted peer. uplink: ifindex of the device through which
 * its packets leave; 0: unknown. 0 or -ENOMEM.
 */
int bwl_track_peer(struct bwl_track *t, uint32_t id, const struct bwl_xfrm_addr *remote,
		   uint32_t uplink);
/* Whether XDP may carry a peer of path offload, by its ports and its next hop. */
struct bwl_track_way {
	bool wanted;       /* path: offload */
	bool host, uplink; /* native XDP on a host port of the peer; on its uplink, which sends */
	uint64_t next_mac; /* 0 unknown */
};
int bwl_track_way(struct bwl_track *t, uint32_t id, const struct bwl_track_way *way);
/* Compares every entry at the next settle, because a policy writer may close entries. */
void bwl_track_recheck(struct bwl_track *t);
/* Takes in a notification. 0, or -ENOMEM: from then on only a dump helps. */
int bwl_track_news(struct bwl_track *t, const struct bwl_xfrm_msg *m);
/*
 * Notifications were lost, or UNCLEAR: until the next dump ends no peer counts as packet-offloaded.
 */
bool bwl_track_is_unsure(const struct bwl_track *t);
void bwl_track_lost(struct bwl_track *t);
/* A dump: begin, every message as a notification, end: what was not in it is removed. */
void bwl_track_dump_begin(struct bwl_track *t);
void bwl_track_dump_end(struct bwl_track *t);
/* Writes the resulting entries, closing ones first. Returns how many were written. */
uint32_t bwl_track_settle(struct bwl_track *t, uint64_t now_s);
/* The result for one peer at the last settle; false: not an encrypted peer, and no SA. */
bool bwl_track_get(const struct bwl_track *t, uint32_t id, struct bwl_track_verdict *ret);

/* track_path.c: ports and next hops of the peers of path offload. */
struct bwl_track_ways;
int bwl_track_ways_new(struct bwl_track_ways **ret);
void bwl_track_ways_free(struct bwl_track_ways *w); /* NULL-safe */
/* The peers of a policy: begin, then each of them. from: mask of host ports. 0 or -ENOMEM. */
void bwl_track_ways_begin(struct bwl_track_ways *w);
int bwl_track_ways_add(struct bwl_track_ways *w, uint32_t id, const struct bwl_xfrm_addr *remote,
		       uint32_t uplink_port, uint64_t from);
/* Asks the kernel and updates t. 0 or -ENOMEM: what cannot be queried counts as absent. */
int bwl_track_ways_look(const struct bwl_track_ways *w, const struct bwl_pins *p,
			struct bwl_track *t);

/* track_run.c: the kernel's SAs into the pins. Opening reads all of them once. */
struct bwl_tracker;
int bwl_tracker_open(struct bwl_pins *pins, bool dry_run, bwl_track_fn fn, void *arg,
		     struct bwl_tracker **ret, struct bwl_err *e);
void bwl_tracker_close(struct bwl_tracker *r); /* NULL-safe */
const struct bwl_track *bwl_tracker_track(const struct bwl_tracker *r);
/* Tracking ends: nothing counts as packet-offloaded any more. */
void bwl_tracker_leave(struct bwl_tracker *r);

/*
 * Tracking continuously, by the kernel's notifications. Only one process at a time may follow a pin
 * directory.
 */
struct bwl_track_user {
	bool (*goes_on)(void *arg);
	void (*begins)(void *arg); /* the kernel's present state is in the pins */
	void (*changed)(const struct bwl_pins *pins, uint32_t id, const struct bwl_track_verdict *v,
			void *arg);
	/* An error after which it continues. Each text once. */
	void (*failed)(const struct bwl_err *e, void *arg);
	void *arg;
};
/*
 * Runs until goes_on() returns false: 0. -EBUSY: another process does this; -ESTALE: the maps were
 * detached or replaced; or another error.
 */
int bwl_track_follow(const char *pin_dir, const struct bwl_track_user *u, struct bwl_err *e);

#endif
