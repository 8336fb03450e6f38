/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside lib: writes one policy into the inner maps of one generation, which is not yet in force.
 */
#ifndef BWL_LIB_BUILD_H
#define BWL_LIB_BUILD_H

#include <bwl/publish.h>
#include <bwl/carryover.h>
#include <bwl/generation.h>
#include "takeover.h"

struct bwl_build {
	struct bwl_pins *p;
	const struct bwl_policy *pol;
	struct bwl_ids *ids;
	const struct bwl_gen *old; /* NULL: none in force */
	/* pol is read from here, the policy before a trial; or NULL */
	const struct bwl_gen *returns;
	struct bwl_gen gen;               /* being filled */
	const struct bwl_rate **old_rate; /* by state index, from the old generation */
	const uint32_t *id;               /* by peer of pol */
	struct bwl_heirs heirs;
	struct bwl_given **owed; /* by peer of pol, or NULL (given_up.h) */
	bool *taken;             /* by peer of pol: it takes a closed prefix (closed_prefixes.h) */
	uint32_t seq;            /* grant_seq of this policy's grants */
	struct bwl_carryover carryover; /* accounts that begin to count with this policy */
	/* zone i of pol, if shared by weight: sum of its members' weights */
	uint64_t weights[BWL_MAX_ZONES];
	uint32_t nsubs, nnexthops;
	/* of the maps, and what has been written into those that are no arrays: for errors */
	struct bwl_gen_size size;
	struct bwl_gen_size written;
	struct bwl_publish_report *rep;
	const struct bwl_publish_opts *o; /* NULL: none */
};

/* -ENOENT. */
int bwl_no_peer(const char *name, struct bwl_err *e);

int bwl_build_sizes(const struct bwl_policy *pol, struct bwl_gen_size *ret, struct bwl_err *e);
/* Everything but the start of the rates. */
int bwl_build_fill(struct bwl_build *b, struct bwl_err *e);
/*
 * Last: continues every rate where the old generation's stands at now_ns. Those that were not in
 * force owe a burst, a grant also what may still wait (bwl_owe_waiting()), and begin to pay it off
 * by bwl_build_in_force().
 */
void bwl_build_start(struct bwl_build *b, uint64_t now_ns);
/*
 * From now_ns on no packet uses the old generation: what was not in force before begins to pay its
 * debt off. Not earlier, because until then the old name's packets pass by the old name's rate.
 */
void bwl_build_in_force(struct bwl_build *b, uint64_t now_ns);

/*
 * For a grant whose rate was not in force: what was charged to another name or rate, and waits for
 * its time (modes shape and mark), still leaves, within the horizon. So much it owes, too, above
 * the burst. horizon_ns: of the policy, 0: `auto`.
 */
void bwl_owe_waiting(struct bwl_rate *r, uint32_t horizon_ns);

/*
 * build_refused.c: the kernel refused an entry of the policy: which of how many. pfx NULL: not one
 * alone.
 */
int bwl_build_refused(const struct bwl_build *b, enum bwl_pin pin, const struct bwl_pfx *pfx,
		      const char *owner, int err, struct bwl_err *e);

/*
 * If e is an error of the kernel that passes, and did not pass soon enough: adds what is in force
 * now. e NULL-safe.
 */
void bwl_build_stays(struct bwl_err *e, const char *stays);

/* build_port.c: uplinks, host ports and the tunnel device. */
int bwl_build_ports(struct bwl_build *b, struct bwl_err *e);
struct bwl_key_lpm6 bwl_build_own_key(const struct bwl_pfx *pfx);
/* build_peer.c: peer i of the policy. */
int bwl_build_peer(struct bwl_build *b, size_t i, struct bwl_err *e);
bool bwl_build_counts(const struct bwl_policy *pol, const struct bwl_pol_peer *q, size_t class_);
bool bwl_build_accept_volume(const struct bwl_pol_peer *q); /* does accept have a volume? */

/* build_limit.c: builds a limit. before: the same limit in the generation in force, or NULL. */
int bwl_build_own_limit(struct bwl_build *b, const struct bwl_lim *lim, uint32_t state,
			const struct bwl_limit *before, struct bwl_limit *ret, struct bwl_err *e);
/* The same, for a limit that exists once: of the node, a zone or a port. */
int bwl_build_extra(struct bwl_build *b, enum bwl_extra_kind kind, const char *name,
		    const struct bwl_lim *lim, const struct bwl_limit *before,
		    struct bwl_limit *ret, struct bwl_err *e);
/*
 * One limit with its window; notes its account in carryover. base and start are left to the caller.
 */
int bwl_build_limit(struct bwl_carryover *carryover, const struct bwl_lim *lim, uint32_t state,
		    const struct bwl_volume *before, struct bwl_limit *ret, struct bwl_err *e);

#endif
