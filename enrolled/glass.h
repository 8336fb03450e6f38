/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Broken glass: a policy or a grant that says `break_glass`, signed by as many people as a widening
 * needs, put in force from a file: it needs no store, no controller, no bwlimitd and no fresh
 * signed time. It is a trial that nobody can confirm: the data plane itself ends its grants, and
 * bwlimitd applies the policy before.
 *
 * Each works once: it is recorded in a file of the state directory before it is in force. That is a
 * separate file, because the memory of documents belongs to bwlimitd, and the glass may be broken
 * while bwlimitd runs, or cannot run. Under the lock of the pins.
 */
#ifndef BWL_ENROLLED_GLASS_H
#define BWL_ENROLLED_GLASS_H

#include <bwl/publish.h>
#include <bwl/trial.h>
#include "signed/memory.h"

#define BWL_GLASS "broken-glass.json"     /* in the state directory */
#define BWL_GLASS_MAX_NS BWL_TRIAL_MAX_NS /* the maximum duration */

struct bwl_glass {
	struct bwl_signed doc;
	uint64_t for_ns; /* duration, from when it is in force */
};
/* May these bytes break the glass? Errors are those of signed documents. */
int bwl_glass_open(const struct bwl_memory *m, const char *dir, const char *bytes, size_t len,
		   int64_t wall_s, struct bwl_glass *ret, struct bwl_err *e);
void bwl_glass_free(struct bwl_glass *g);
/* Records it as used, then puts it in force. The audit log comes before. */
int bwl_glass_break(struct bwl_pins *p, const struct bwl_memory *m, const char *dir,
		    const struct bwl_glass *g, struct bwl_publish_report *ret, struct bwl_err *e);
/*
 * Is the last broken glass over: of a past epoch, revoked by its digest, or with an expelled peer
 * (by its identity, or this tray)? Then end it (bwl_rollback()). If that cannot be determined, it
 * is over.
 */
bool bwl_glass_is_over(const struct bwl_memory *m, const char *dir);
/* How many were ever used here, according to the disk; -EUCLEAN: unreadable. */
int bwl_glass_used(const char *dir, uint64_t *ret, struct bwl_err *e);

#endif
