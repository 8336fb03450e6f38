/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SAs of the kernel that no charon knows: a charon that was killed leaves its own, and the one that
 * is started next does not adopt them (strongSwan 5.9 and 6.0). Nobody rekeys or ends them before
 * `hard`, and no revocation that charon carries out finds them.
 */
#ifndef BWL_IPSEC_ORPHANS_H
#define BWL_IPSEC_ORPHANS_H

#include "ipsec/vici.h"
#include "ipsec/xfrm.h"

#define BWL_ORPHANS_NS 10000000000ULL /* between two looks */

struct bwl_orphans; /* what the last look found unknown to charon */
int bwl_orphans_new(struct bwl_orphans **ret, struct bwl_err *e);
void bwl_orphans_free(struct bwl_orphans *o); /* NULL-safe */

/*
 * What charon has, from its list-sas, one event after the other; *known is an object that the
 * caller makes and drops. Without I/O.
 */
struct bwl_orphans_known {
	json_t *spis;  /* of all its CHILD_SAs, in both directions, as hexadecimal text */
	json_t *peers; /* ids, as text, with a CHILD_SA of ours that is installed */
};
void bwl_orphans_know(struct bwl_orphans_known *known, json_t *list_sa);

/*
 * Is this SA of the kernel an orphan that may go? It was unknown in this look and in the one before
 * (charon may be making it), and charon has another SA with that peer: nothing is interrupted.
 * To be asked of every SA of a look, between begin and end. Without I/O.
 */
void bwl_orphans_begin(struct bwl_orphans *o);
bool bwl_orphans_is(struct bwl_orphans *o, const struct bwl_orphans_known *known,
		    const struct bwl_xfrm_sa *sa);
void bwl_orphans_end(struct bwl_orphans *o);

/*
 * All of that every BWL_ORPHANS_NS, and the removal. removed: once for each SA, after it has gone;
 * may be NULL. 0 also where the kernel has no IPsec.
 */
int bwl_orphans_remove(struct bwl_orphans *o, struct bwl_vici *v, uint64_t now_ns,
		       void (*removed)(const struct bwl_xfrm_sa *sa, void *arg), void *arg,
		       struct bwl_err *e);

#endif
