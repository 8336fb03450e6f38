// SPDX-License-Identifier: GPL-2.0-or-later
/* See memory_bound.h. */
#include "signed/memory_bound.h"
#include "signed/memory_parts.h"

struct bwl_memory_bound bwl_memory_bound(const struct bwl_memory *m)
{
	const struct bwl_memory_item *enrolment = memory_enrolment(m);
	struct bwl_memory_bound b = { .seq = m->seq };

	if (enrolment) {
		b.epoch = enrolment->epoch;
		b.version = enrolment->version;
	}
	return b;
}

bool bwl_memory_is_begun(const struct bwl_memory_bound *a, const struct bwl_memory_bound *b)
{
	return b->epoch > a->epoch || (b->epoch == a->epoch && b->version > a->version);
}

bool bwl_memory_is_older(const struct bwl_memory_bound *a, const struct bwl_memory_bound *b)
{
	return bwl_memory_is_begun(b, a) || (!bwl_memory_is_begun(a, b) && b->seq < a->seq);
}
