/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of a memory that something else can be bound to, such as a TPM's counter, so that an old
 * copy is detected.
 */
#ifndef BWL_SIGNED_MEMORY_BOUND_H
#define BWL_SIGNED_MEMORY_BOUND_H

#include "signed/memory.h"

struct bwl_memory_bound {
	uint64_t epoch, version; /* of the newest enrolment: a newer one starts anew */
	uint64_t seq;            /* bwl_memory_seq() */
};
struct bwl_memory_bound bwl_memory_bound(const struct bwl_memory *m);
/* Is b an older memory than a, of the same enrolment or an earlier one? */
bool bwl_memory_is_older(const struct bwl_memory_bound *a, const struct bwl_memory_bound *b);
/* Does b start anew: is its enrolment newer? */
bool bwl_memory_is_begun(const struct bwl_memory_bound *a, const struct bwl_memory_bound *b);

#endif
