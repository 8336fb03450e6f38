/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Broken glass: a policy or a grant that says `break_glass` and that as many people signed as a
 * widening needs, in force from a file: no store, no controller, no bwlimitd and no fresh signed
 * time are needed. It is a trial that nobody can confirm, so the data plane itself ends it, and
 * goes back to the policy before.
 *
 * Each is good for once: what was used is in a file of the state directory before it is in force.
 * That is a file of its own, because the memory of documents is bwlimitd's, and the glass may be
 * broken while bwlimitd runs, or cannot. Under the lock of the pins.
 */
#ifndef BWL_ENROLLED_GLASS_H
#define BWL_ENROLLED_GLASS_H

#include <bwl/publish.h>
#include "signed/memory.h"

#define BWL_GLASS "broken-glass.json"                /* in the state directory */
#define BWL_GLASS_MOST_NS (4 * 3600 * 1000000000ULL) /* for so long at most */

struct bwl_glass {
	struct bwl_signed doc;
	uint64_t for_ns; /* from when it is in force */
};
/* May these bytes break the glass? Errors are those of signed documents. */
int bwl_glass_open(const struct bwl_memory *m, const char *dir, const char *bytes, size_t len,
		   int64_t wall_s, struct bwl_glass *ret, struct bwl_err *e);
void bwl_glass_free(struct bwl_glass *g);
/* Used up, then in force. The audit log comes before. */
int bwl_glass_break(struct bwl_pins *p, const struct bwl_memory *m, const char *dir,
		    const struct bwl_glass *g, struct bwl_publish_report *ret, struct bwl_err *e);
/*
 * Is what broke the glass last over: of an epoch that is, revoked by its digest, or with somebody
 * who is expelled (a peer by its identity, or this tray)? Then it is to be ended (bwl_rollback()).
 * Where nobody can say what it was, it is over.
 */
bool bwl_glass_is_over(const struct bwl_memory *m, const char *dir);
/* How many were ever used here, as the disk has it; -EUCLEAN: that does not read. */
int bwl_glass_used(const char *dir, uint64_t *ret, struct bwl_err *e);

#endif
