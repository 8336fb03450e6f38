/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See memory_bound.h. */
#include "signed/memory_bound.h"
#include "signed/memory_parts.h"

struct bwl_memory_bound bwl_memory_bound(const struct bwl_memory *m)
{
	struct bwl_memory_bound b = { .seq = m->seq };

	for (size_t i = 0; i < m->nitems; i++)
		if (m->item[i].type == BWL_SIGNED_ENROLMENT) {
			b.epoch = m->item[i].epoch;
			b.version = m->item[i].version;
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
