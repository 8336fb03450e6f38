/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Enters roots over the history's finished hours into the audit log (docs/evidence.md). */
#ifndef BWL_AGENT_HISTORY_ROOTS_H
#define BWL_AGENT_HISTORY_ROOTS_H

#include "history/db.h"

struct agent_history_roots {
	int64_t hour; /* the last one that was entered; 0: none */
	bool looked;  /* whether the log has one of an agent before */
	bool told;
};
/* When an hour has ended: over its seconds, and the minutes of the previous hour. */
void agent_history_enter(struct agent_history_roots *x, struct hist_db *db, const char *state_dir,
			 int64_t wall_s);

#endif
