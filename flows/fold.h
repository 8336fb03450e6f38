/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds the number of a peer's flows on disk, whatever it sends. */
#ifndef BWL_FLOWS_FOLD_H
#define BWL_FLOWS_FOLD_H

#include <bwl/record.h>

#define FLOWS_PEER_LINES 1024 /* of an interval */

/*
 * If a peer has more than `most` flows, those with the fewest bytes become remainders of their
 * class, reason and port. Returns the number of folded flows.
 */
size_t flows_fold(struct bwl_book *b, size_t most);

#endif
