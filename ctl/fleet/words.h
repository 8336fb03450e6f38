/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a document requests from people who should sign it, in words. */
#ifndef BWL_CTL_FLEET_WORDS_H
#define BWL_CTL_FLEET_WORDS_H

#include "fleet.h"

/*
 * The document that a policy is compared with: the published one of its name, if as many people
 * signed it as a widening needs. The store vouches for nothing: otherwise its writers, or one
 * person, could choose the comparison.
 */
int fleet_published(struct fleet *f, const struct fleet_doc *doc, struct fleet_doc *ret);
/*
 * Fills its row of docs/schema/fleet-pending.json: what it requests, and with compare what it
 * widens, and the least time in which size bytes leave.
 */
void fleet_words(struct fleet *f, const struct fleet_doc *doc, uint64_t size, bool compare,
		 json_t *into);

#endif
