/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SAs in the kernel that no charon knows: a killed charon leaves its own, and the next one does not
 * adopt them (strongSwan 5.9 and 6.0). Nobody rekeys or ends them before `hard`, and a revocation
 * through charon does not find them.
 */
#ifndef BWL_IPSEC_ORPHANS_H
#define BWL_IPSEC_ORPHANS_H

#include "ipsec/vici.h"
#include "ipsec/xfrm.h"

#define BWL_ORPHANS_NS 10000000000ULL /* between two checks */

struct bwl_orphans; /* what the last check found unknown to charon */
int bwl_orphans_new(struct bwl_orphans **ret, struct bwl_err *e);
void bwl_orphans_free(struct bwl_orphans *o); /* NULL-safe */

/*
 * charon's SAs, from its list-sas, one event after the other; the caller makes and drops *known, an
 * object. Without I/O.
 */
struct bwl_orphans_known {
	json_t *spis;  /* of all its CHILD_SAs, in both directions, as hexadecimal text */
	json_t *peers; /* ids, as text, with a CHILD_SA of ours that is installed */
};
void bwl_orphans_know(struct bwl_orphans_known *known, json_t *list_sa);

/*
 * Is this kernel SA an orphan that may be removed? It was unknown in this check and in the previous
 * one (charon may be creating it), and charon has another SA with that peer, so nothing is
 * interrupted. Call it for every SA of a check, between begin and end. Without I/O.
 */
void bwl_orphans_begin(struct bwl_orphans *o);
bool bwl_orphans_is(struct bwl_orphans *o, const struct bwl_orphans_known *known,
		    const struct bwl_xfrm_sa *sa);
void bwl_orphans_end(struct bwl_orphans *o);

/*
 * Does all of that every BWL_ORPHANS_NS, including the removal. removed: called once for each
 * removed SA; may be NULL. 0 also if the kernel has no IPsec.
 */
int bwl_orphans_remove(struct bwl_orphans *o, struct bwl_vici *v, uint64_t now_ns,
		       void (*removed)(const struct bwl_xfrm_sa *sa, void *arg), void *arg,
		       struct bwl_err *e);

#endif
