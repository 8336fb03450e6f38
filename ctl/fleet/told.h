/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports to people and programs while trays take a document, and the final report. */
#ifndef BWL_CTL_FLEET_TOLD_H
#define BWL_CTL_FLEET_TOLD_H

#include "put.h"
#include "says.h"

struct fleet_told {
	size_t count[FLEET_ACKNOWLEDGED + 1];
	bool any, line; /* something was reported; on a terminal, without a newline */
};
/* One line that is overwritten on a terminal; one document per change for programs. */
void fleet_tell_progress(struct fleet *f, const struct fleet_put *p, struct fleet_told *t);
void fleet_tell_no_more(struct fleet_told *t);
/* The final report; 0 or CTL_SILENT. waited: report which trays have it. */
int fleet_tell(struct fleet *f, const struct fleet_put *p, bool waited, uint64_t took_ns);

#endif
