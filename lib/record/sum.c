// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums of packets. */
#include <bwl/record.h>

void bwl_rec_sum_add(struct bwl_rec_sum *to, const struct bwl_rec_sum *n)
{
	to->frames += n->frames;
	to->bytes += n->bytes;
	to->drop_frames += n->drop_frames;
	to->drop_bytes += n->drop_bytes;
}

bool bwl_rec_sum_same(const struct bwl_rec_sum *a, const struct bwl_rec_sum *b)
{
	return a->frames == b->frames && a->bytes == b->bytes && a->drop_frames == b->drop_frames &&
	       a->drop_bytes == b->drop_bytes;
}
