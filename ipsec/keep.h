/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * charon kept at what the policy says, whatever became of it: by looking at what there is and doing
 * what is missing, each time anew. Nothing here remembers a charon; one that was restarted has no
 * connections, and that is what is seen.
 */
#ifndef BWL_IPSEC_KEEP_H
#define BWL_IPSEC_KEEP_H

#include "ipsec/conn.h"

/* Has charon other connections bwl-* than the tree? Then bwl_ipsec_load() is due. */
int bwl_keep_differs(struct bwl_vici *v, json_t *tree, bool *ret, struct bwl_err *e);

struct bwl_keep; /* since when a peer is without an SA, and when it is asked again */
int bwl_keep_new(struct bwl_keep **ret, struct bwl_err *e);
void bwl_keep_free(struct bwl_keep *k); /* NULL-safe */

#define BWL_KEEP_FIRST_NS 1000000000ULL /* charon starts by itself what is loaded */
#define BWL_KEEP_STALE_NS 5000000000ULL /* the data plane may be late, rekeying takes time */
/* between attempts, which come at ever longer intervals */
#define BWL_KEEP_LAST_NS 60000000000ULL

struct bwl_keep_seen {
	/* Has the data plane an SA for this peer id? NULL: not asked. */
	bool (*has_sa)(uint32_t id, void *arg);
	void *arg;
	/*
	 * What was done for a peer; rekeyed: charon has an SA, the data plane none. NULL: not told.
	 */
	void (*did)(const char *peer, bool rekeyed, void *arg);
};
/*
 * Asks peers without a CHILD_SA, and rekeys those whose SA is in charon only (somebody deleted it
 * in the kernel: charon does not notice). A peer that is to ask us gets BWL_IPSEC_PATIENCE_NS.
 */
int bwl_keep_nudge(struct bwl_keep *k, struct bwl_vici *v, json_t *tree, uint64_t now_ns,
		   const struct bwl_keep_seen *seen, struct bwl_err *e);

#endif
