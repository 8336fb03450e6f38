/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside lib: which peer takes over from which, from one policy to the next. A peer's account and
 * revocation follow its name. If the name is gone or new, they follow its prefixes: a peer that
 * covers any part of them takes over. bwl_retired_v1 keeps the prefixes of peers that left earlier.
 */
#ifndef BWL_LIB_HEIRS_H
#define BWL_LIB_HEIRS_H

#include <bwl/publish.h>
#include <bwl/generation.h>
#include <bwl/ids.h>

struct bwl_heir {
	uint32_t peer; /* of the policy */
	uint32_t of;   /* id that it takes over from, in part or as a whole */
};

struct bwl_heirs {
	struct bwl_heir *pair; /* by peer */
	size_t n;
	struct bwl_heir *moved; /* for zones: both stay, and a prefix moves between them */
	size_t nmoved;
};

/*
 * Assigns ids to all peers of pol. stays: by id, 1 in pol. A new name with exactly a prefix of a
 * peer that left takes over its id, except for a trial; every other overlap is a pair in ret. A way
 * back (o->returns) needs no room for prefixes of peers that leave.
 */
int bwl_heirs_assign(struct bwl_ids *ids, const struct bwl_policy *pol, const struct bwl_gen *old,
		     const struct bwl_publish_opts *o, uint32_t *id, uint8_t *stays,
		     struct bwl_heirs *ret, struct bwl_publish_report *rep, struct bwl_err *e);
void bwl_heirs_done(struct bwl_heirs *h);
/* The pairs of one peer: *ret_n of them, from the returned one on. */
const struct bwl_heir *bwl_heirs_of(const struct bwl_heirs *h, size_t peer, size_t *ret_n);
/*
 * [zone of pol][zone of old]: it has members from there, or peers that take over from such members.
 * The caller frees it; NULL: no memory.
 */
uint8_t (*bwl_heirs_zones(const struct bwl_heirs *h, const struct bwl_pins *p,
			  const struct bwl_policy *pol, const struct bwl_gen *old,
			  const uint32_t *id))[BWL_MAX_ZONES];
/* A prefix as a key of bwl_retired_v1, and back. */
struct bwl_key_retired bwl_retired_key(const struct bwl_pfx *pfx, bool closed);
struct bwl_pfx bwl_retired_pfx(const struct bwl_key_retired *k);
/* Peers that left: fn for each prefix, closed ones excepted, until it returns anything but 0. */
int bwl_retired_each(const struct bwl_pins *p, bwl_dest_fn fn, void *arg);
/*
 * Keeps the prefixes of peers of g that are not in force, until half of all places are taken (the
 * rest is for those that have something to lose): g is about to be lost, and `revoke` of such a
 * name looks for who has them.
 */
int bwl_retired_keep(struct bwl_pins *p, const struct bwl_gen *g, const struct bwl_gen *in_force,
		     struct bwl_err *e);
/* Removes entries of names that no longer exist or are in force again. */
int bwl_retired_prune(struct bwl_pins *p, const struct bwl_gen *in_force, struct bwl_err *e);
/* Removes entries of peers that have the same prefix in g: nothing is owed for these. */
void bwl_retired_back(struct bwl_pins *p, const struct bwl_gen *g);
/* A peer has a new name: its prefixes are in the policy again. */
void bwl_retired_take(struct bwl_pins *p, const struct bwl_pol_peer *q);

#endif
