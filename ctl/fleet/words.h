/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a document asks of people who are to sign it, in words. */
#ifndef BWL_CTL_FLEET_WORDS_H
#define BWL_CTL_FLEET_WORDS_H

#include "fleet.h"

/*
 * What a policy is compared with: the published one of its name, if as many signed that as may
 * widen. The store is nobody's word: who may write it, or one person, would choose what is
 * compared.
 */
int fleet_published(struct fleet *f, const struct fleet_doc *doc, struct fleet_doc *ret);
/*
 * Into its row of docs/schema/fleet-pending.json: what it asks, and where compare is said what it
 * widens, and the least time in which size bytes leave.
 */
void fleet_words(struct fleet *f, const struct fleet_doc *doc, uint64_t size, bool compare,
		 json_t *into);

#endif
