/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has a document that was published: trays say so in their status in the store. */
#ifndef BWL_CTL_FLEET_WAIT_H
#define BWL_CTL_FLEET_WAIT_H

#include "put.h"

struct fleet_wait {
	uint64_t timeout_ns;
	bool no_wait; /* only tell what was published */
};
/*
 * Waits for all chosen trays, with a line that goes on, and tells how it ends. 0: all have it;
 * CTL_SILENT: some have not.
 */
int fleet_wait(struct fleet *f, const struct fleet_put *p, const struct fleet_wait *w);

#endif
