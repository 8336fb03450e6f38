// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a block of the history: refused, or points in order that are written again as the
 * same bytes.
 */
#include <errno.h>
#include "history/points.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hist_cursor c = hist_cursor(data, size);
	struct hist_block b = { 0 };
	struct hist_values x;
	uint32_t unit, last = 0;
	int more;

	while ((more = hist_next(&c, &unit, &x)) == 1) {
		must(!hist_is_zero(&x) && unit <= HIST_MAX_UNITS, "a point says something");
		must(!b.len || unit > last, "in order");
		must(!hist_block_add(&b, unit, &x), "it can be written");
		last = unit;
	}
	must(more == 0 || more == -EUCLEAN, "read, or refused");
	must(b.len <= size && (!b.len || !memcmp(b.data, data, b.len)), "the same bytes");
	must(more < 0 || b.len == size, "all of them");
	hist_block_free(&b);
	return 0;
}
