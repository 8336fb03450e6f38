/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The read model: the content of the pinned maps, in the words that every tool uses. Fields of
 * peers are described here, for tables and documents alike; everything else has one encoder each.
 */
#ifndef BWL_MODEL_H
#define BWL_MODEL_H

#include "pins.h"
#include <bwl/policy.h>
#include <bwl/show.h>
#include "tables.h"

/* The pins, with the generation in force. */
struct bwl_view {
	struct bwl_pins *pins;
	struct bwl_gen gen;
	uint64_t now_ns;
	bool has_gen; /* false: no policy is in force */
};
/* dir NULL: the default. Only bwl_view_close() closes what this opens. */
int bwl_view_open(const char *dir, bool writable, struct bwl_view *ret, struct bwl_err *e);
void bwl_view_close(struct bwl_view *v);

/* May a peer send now, and if not, why? */
enum bwl_standing {
	BWL_STAND_LIVE,
	BWL_STAND_EXPIRED,
	BWL_STAND_SILENT,
	BWL_STAND_REVOKED,
	BWL_STAND_NONE,
};
enum bwl_standing bwl_standing(const struct bwl_view *v, uint32_t id, const struct bwl_peer *body);
const char *bwl_standing_name(enum bwl_standing s);
/*
 * Are the peer's own limits enforced, or counted only? As bwl_peer_enforced() (bwl/policy.h), from
 * the maps; and where the grant has ended there is nothing to enforce. Also of a limit by its
 * state: those of a zone, a port, the node, a floor or of accept always are.
 */
bool bwl_enforced(const struct bwl_view *v, uint32_t id, const struct bwl_peer *body);
bool bwl_limit_enforced(const struct bwl_view *v, uint32_t state);
/* The peer whose mode says whether that limit holds while the grant is live; 0: it always does. */
uint32_t bwl_limit_peer(const struct bwl_pins *p, uint32_t state);
/* How an operator enforces the limits of a peer in mode monitor, which may have none. */
bool bwl_is_bare(const struct bwl_peer *body);
#define BWL_ENFORCE_HINT(bare)                                                                     \
	((bare) ? "bwlimit-ctl grant NAME rate R mode police reason TEXT"                          \
		: "bwlimit-ctl grant NAME mode police reason TEXT")
/*
 * When grants fall to their floors: BWL_NEVER_NS for `heartbeat: none`, 0 if it was never renewed.
 */
uint64_t bwl_silent_at(const struct bwl_view *v);
/* What is left of the peer's grant. */
void bwl_grant_left(const struct bwl_view *v, uint32_t id, const struct bwl_peer *body,
		    struct bwl_left *ret);

/*
 * Do packets wait for their time? Only if every uplink keeps departure times and TC carries the
 * peer; otherwise mode shape polices.
 */
bool bwl_paces(const struct bwl_pins *pins, uint32_t id);
const char *bwl_mode_in_force(const struct bwl_pins *pins, uint32_t id, unsigned mode);
#define BWL_NOT_ENFORCED " (not enforced)" /* for people, behind such a mode's name */
struct bwl_value bwl_v_mode(const struct bwl_pins *pins, uint32_t id, unsigned mode);
/* "none", "crypto", "packet"; NULL while there is no SA. */
const char *bwl_offload_name(const struct bwl_tunnel *t);
/* "running", "stopped", "upgrading", "closed", "unjudged" */
const char *bwl_switch_name(const struct bwl_pins *p);
/* "none", "unbound", "tpm" */
const char *bwl_ledger_name(const struct bwl_pins *p);

/* Limits. NULL or absent: null. */
json_t *bwl_json_lim(const struct bwl_lim *l);
json_t *bwl_json_left(const struct bwl_left *l);
struct bwl_value bwl_v_left(const struct bwl_left *l); /* "1.2 GiB of 20 GiB" for people */
#define BWL_LIM_BUF 96
/* "1gbit", "unlimited"; "64kb"; "1gb per 1d"; "-": none */
char *bwl_lim_rate(const struct bwl_lim *l, char buf[static BWL_UNIT_BUF]);
char *bwl_lim_burst(const struct bwl_lim *l, char buf[static BWL_UNIT_BUF]);
char *bwl_lim_volume(const struct bwl_lim *l, char buf[static BWL_LIM_BUF]);
char *bwl_left_volume(const struct bwl_left *l, char buf[static BWL_LIM_BUF]);

json_t *bwl_json_policy(const struct bwl_policy *p, uint64_t now_ns);
/* The object without version and kind, for `status` and `lease show`. */
json_t *bwl_json_lease(const struct bwl_lease_now *l, uint64_t now_ns);
json_t *bwl_json_tunnel(const struct bwl_view *v, const struct bwl_pol_peer *p, uint32_t id);
/* One row of the counters. */
struct bwl_reason_row {
	const char *port; /* NULL: of interfaces that are not ports */
	bool gate;        /* the last gate of an uplink or of management */
	unsigned reason;
	const struct bwl_reason_count *n;
};
extern const struct bwl_column bwl_reason_columns[];
/* The packet of an event: peer, port, addresses, ports of its protocol, bytes. */
json_t *bwl_json_packet(const struct bwl_pins *p, const struct bwl_event *e);
/*
 * Names come from a map that others write, so they are cut to a name's maximum length. NULL: none.
 */
const char *bwl_peer_name(const struct bwl_pins *p, uint32_t id, char buf[static BWL_NAME_LEN]);

/* Rates between two samples of a peer's counters. */
struct bwl_speed {
	double passed_bps, dropped_bps, dropped_fps; /* bit/s, bit/s, frames/s */
};

/* A row of a list of peers; each list fills in what its fields need. */
struct bwl_peer_row {
	const struct bwl_view *v;
	uint32_t id;
	uint64_t now_ns;
	const struct bwl_peer *body; /* of the maps */
	struct bwl_left left;
	const struct bwl_pol_peer *pol; /* read back as a policy */
	const struct bwl_peer_count *count;
	const struct bwl_over_count *over;
	const struct bwl_speed *speed; /* NULL: not measured */
};
/* Fields from the policy: they need only pol and now_ns. */
extern const struct bwl_field bwl_f_name, bwl_f_addresses, bwl_f_zone, bwl_f_weight, bwl_f_from,
	bwl_f_contained, bwl_f_revoked, bwl_f_grant, bwl_f_grant_rate, bwl_f_grant_burst,
	bwl_f_grant_volume, bwl_f_mode, bwl_f_enforced, bwl_f_mark_percent, bwl_f_pol_expires,
	bwl_f_accept, bwl_f_accept_none, bwl_f_floor, bwl_f_classes, bwl_f_tenants, bwl_f_path,
	bwl_f_uplink, bwl_f_via, bwl_f_via6, bwl_f_ipsec_remote;
/* Fields from the maps. */
extern const struct bwl_field bwl_f_peer, bwl_f_state, bwl_f_state_counted, bwl_f_rate, bwl_f_burst,
	bwl_f_left, bwl_f_expires, bwl_f_body_mode, bwl_f_mode_in_force, bwl_f_body_enforced,
	bwl_f_sa_out, bwl_f_offload, bwl_f_horizon, bwl_f_portion, bwl_f_tunnel;
/* Fields from the counters. */
extern const struct bwl_field bwl_f_passed_frames, bwl_f_passed_bytes, bwl_f_dropped_frames,
	bwl_f_dropped_bytes, bwl_f_refund_lost, bwl_f_over_frames, bwl_f_over_bytes, bwl_f_passes,
	bwl_f_drops, bwl_f_share;

/* The columns of a peer in a policy, with which every list that shows policies begins. */
#define BWL_POLICY_COLUMNS                                                                         \
	{ &bwl_f_name, BWL_BOTH }, { &bwl_f_addresses, BWL_BOTH }, { &bwl_f_zone, BWL_BOTH },      \
		{ &bwl_f_weight, BWL_BOTH }, { &bwl_f_from, BWL_BOTH },                            \
		{ &bwl_f_contained, BWL_BOTH }, { &bwl_f_revoked, BWL_BOTH },                      \
		{ &bwl_f_grant, BWL_BOTH }, { &bwl_f_grant_rate, BWL_BOTH },                       \
		{ &bwl_f_grant_burst, BWL_BOTH }, { &bwl_f_grant_volume, BWL_BOTH },               \
		{ &bwl_f_mode, BWL_BOTH }, { &bwl_f_enforced, BWL_BOTH },                          \
		{ &bwl_f_mark_percent, BWL_BOTH }, { &bwl_f_pol_expires, BWL_FOR_PROGRAMS },       \
		{ &bwl_f_accept, BWL_BOTH }, { &bwl_f_accept_none, BWL_BOTH },                     \
		{ &bwl_f_floor, BWL_BOTH }, { &bwl_f_classes, BWL_BOTH },                          \
		{ &bwl_f_tenants, BWL_BOTH }, { &bwl_f_path, BWL_BOTH },                           \
		{ &bwl_f_uplink, BWL_BOTH }, { &bwl_f_via, BWL_BOTH }, { &bwl_f_via6, BWL_BOTH },  \
	{                                                                                          \
		&bwl_f_ipsec_remote, BWL_BOTH                                                      \
	}

#endif
