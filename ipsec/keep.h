/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps charon in line with the policy, whatever happens to it: compares its state, and does what
 * is missing, each time anew. Nothing here remembers a charon; a restarted one has no connections,
 * which is what the comparison finds.
 */
#ifndef BWL_IPSEC_KEEP_H
#define BWL_IPSEC_KEEP_H

#include "ipsec/conn.h"

/* Has charon other connections bwl-* than the tree? Then call bwl_ipsec_load(). */
int bwl_keep_differs(struct bwl_vici *v, json_t *tree, bool *ret, struct bwl_err *e);

struct bwl_keep; /* since when a peer is without an SA, and when to retry */
int bwl_keep_new(struct bwl_keep **ret, struct bwl_err *e);
void bwl_keep_free(struct bwl_keep *k); /* NULL-safe */

#define BWL_KEEP_FIRST_NS 1000000000ULL /* charon itself starts what is loaded */
#define BWL_KEEP_STALE_NS 5000000000ULL /* the data plane may be late, and rekeying takes time */
/* maximum interval between attempts, which grows */
#define BWL_KEEP_LAST_NS 60000000000ULL

struct bwl_keep_seen {
	/* Has the data plane an SA for this peer id? NULL: not checked. */
	bool (*has_sa)(uint32_t id, void *arg);
	void *arg;
	/*
	 * Reports what was done for a peer; rekeyed: charon has an SA, the data plane none. NULL:
	 * no report.
	 */
	void (*did)(const char *peer, bool rekeyed, void *arg);
};
/*
 * Initiates peers without a CHILD_SA, and rekeys those whose SA is only in charon (somebody deleted
 * it in the kernel, which charon does not notice). A peer that should initiate gets
 * BWL_IPSEC_PATIENCE_NS.
 */
int bwl_keep_nudge(struct bwl_keep *k, struct bwl_vici *v, json_t *tree, uint64_t now_ns,
		   const struct bwl_keep_seen *seen, struct bwl_err *e);

#endif
