/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a desk trusts in the store: what verifies under the pinned root, even if that has ended
 * since. Anything else is reported, once, and counts for nothing: no tray is skipped because of it,
 * and no number is used up. Without a root nothing is trusted, and nothing reported.
 */
#ifndef BWL_CTL_FLEET_BELIEVE_H
#define BWL_CTL_FLEET_BELIEVE_H

#include "fleet.h"

/*
 * A verified document in d. -ENOENT: there is none, or no root; -EKEYREJECTED: there is one that
 * does not verify: it was reported, and f->c->err says why.
 */
int fleet_doc_believe(struct fleet *f, const char *tray, enum bwl_doc_kind kind, const char *name,
		      struct fleet_doc *ret);
/* The enrolment of a tray, its own or the one for all; errors as above. */
int fleet_enrolment(struct fleet *f, const char *tray, struct fleet_doc *ret);
/* By an expulsion of exactly that name. */
int fleet_is_expelled(struct fleet *f, const char *tray, bool *ret);
/* Reports it: on standard error, once, and in fleet_tampering(). tray NULL: for all. */
void fleet_tampered(struct fleet *f, const char *tray, enum bwl_doc_kind kind, const char *name,
		    const struct bwl_err *why);
json_t *fleet_tampering(const struct fleet *f); /* a list; the caller's */

#endif
