/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of the store a desk believes: what verifies under the root that is pinned here, also where
 * it has ended since. What does not is named, once, and counts for nothing: nobody is left out for
 * it, and no number is used up. Without a root nothing is believed, and nothing named.
 */
#ifndef BWL_CTL_FLEET_BELIEVE_H
#define BWL_CTL_FLEET_BELIEVE_H

#include "fleet.h"

/*
 * A document, d as it was verified. -ENOENT: there is none, or no root; -EKEYREJECTED: there is
 * one, and it does not verify: it was named, and f->c->err says why.
 */
int fleet_doc_believe(struct fleet *f, const char *tray, enum bwl_doc_kind kind, const char *name,
		      struct fleet_doc *ret);
/* That of a tray, its own or that for all; errors as above. */
int fleet_enrolment(struct fleet *f, const char *tray, struct fleet_doc *ret);
int fleet_is_expelled(struct fleet *f, const char *tray, bool *ret);
/* Names it: on standard error, once, and in fleet_tampering(). tray NULL: for all. */
void fleet_tampered(struct fleet *f, const char *tray, enum bwl_doc_kind kind, const char *name,
		    const struct bwl_err *why);
json_t *fleet_tampering(const struct fleet *f); /* a list; the caller's */

#endif
