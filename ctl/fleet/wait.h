/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which trays have a published document, by their statuses in the store. */
#ifndef BWL_CTL_FLEET_WAIT_H
#define BWL_CTL_FLEET_WAIT_H

#include "put.h"

struct fleet_wait {
	uint64_t timeout_ns;
	bool no_wait; /* only report what was published */
};
/*
 * Waits for all selected trays, with a progress line, and reports the result. 0: all have it;
 * CTL_SILENT: some do not.
 */
int fleet_wait(struct fleet *f, const struct fleet_put *p, const struct fleet_wait *w);

#endif
