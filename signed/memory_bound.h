/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a memory something else can be bound to, a TPM's counter say, so that an old copy shows.
 */
#ifndef BWL_SIGNED_MEMORY_BOUND_H
#define BWL_SIGNED_MEMORY_BOUND_H

#include "signed/memory.h"

struct bwl_memory_bound {
	uint64_t epoch, version; /* of the newest enrolment: a newer one begins anew */
	uint64_t seq;            /* bwl_memory_seq() */
};
struct bwl_memory_bound bwl_memory_bound(const struct bwl_memory *m);
/* Is b an older memory than a, of the same enrolment or of one before? */
bool bwl_memory_is_older(const struct bwl_memory_bound *a, const struct bwl_memory_bound *b);
/* Does b begin anew: is its enrolment newer? */
bool bwl_memory_is_begun(const struct bwl_memory_bound *a, const struct bwl_memory_bound *b);

#endif
