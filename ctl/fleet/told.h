/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What people and programs are told while trays take a document, and when the waiting ends. */
#ifndef BWL_CTL_FLEET_TOLD_H
#define BWL_CTL_FLEET_TOLD_H

#include "put.h"
#include "says.h"

struct fleet_told {
	size_t count[FLEET_ACKNOWLEDGED + 1];
	bool any, line; /* something was told; on a terminal, without its end */
};
/* One line that is written over at a terminal; a document a change for programs. */
void fleet_tell_progress(struct fleet *f, const struct fleet_put *p, struct fleet_told *t);
void fleet_tell_no_more(struct fleet_told *t);
/* The end; 0 or CTL_SILENT. waited: it is told who has it. */
int fleet_tell(struct fleet *f, const struct fleet_put *p, bool waited, uint64_t took_ns);

#endif
