/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interval of bwlimitd's in the bytes that leave. */
#ifndef BWL_EXPORT_FLOWS_INTERVAL_H
#define BWL_EXPORT_FLOWS_INTERVAL_H

#include <stdio.h>
#include "ipfix.h"

struct interval {
	struct ipfix_out out;
	uint64_t rows, frames, bytes; /* of flows and remainders */
	uint64_t strange;             /* lines that are none of ours */
	struct line_sum other;
};

/*
 * Of the file; x NULL: as JSON lines, as they are. With n->withheld its rows are left out. losses:
 * with what this interval adds to them.
 */
int interval_encode(FILE *file, struct ipfix *x, const struct ipfix_note *n,
		    const struct ipfix_losses *losses, struct interval *ret, struct bwl_err *e);
void interval_done(struct interval *v);

#endif
