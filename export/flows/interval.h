/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes one of bwlimitd's intervals as the bytes that leave. */
#ifndef BWL_EXPORT_FLOWS_INTERVAL_H
#define BWL_EXPORT_FLOWS_INTERVAL_H

#include <stdio.h>
#include "ipfix.h"

struct interval {
	struct ipfix_out out;
	uint64_t rows, frames, bytes; /* of flows and remainders */
	uint64_t strange;             /* unknown lines */
	struct line_sum other;
};

/*
 * Encodes the file; x NULL: as JSON lines, unchanged. With n->withheld its rows are omitted.
 * losses: including what this interval adds.
 */
int interval_encode(FILE *file, struct ipfix *x, const struct ipfix_note *n,
		    const struct ipfix_losses *losses, struct interval *ret, struct bwl_err *e);
void interval_done(struct interval *v);

#endif
