/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which intervals the audit log has, read from its end alone, for the writer that continues it. */
#ifndef EV_ENTERED_H
#define EV_ENTERED_H

#include "entry.h"

struct ev_entered {
	struct ev_entry last; /* valid if n > 0: its identity and root */
	struct ev_id *id;     /* the oldest first */
	size_t n, room;
	/* the log has entries after `last` that cannot be read, as of a later version */
	bool unread;
};
/* Reads the last two files that have entries. */
int ev_entered_read(const char *audit_dir, struct ev_entered *ret, struct bwl_err *e);
void ev_entered_add(struct ev_entered *v, const struct ev_entry *x);
bool ev_entered_has(const struct ev_entered *v, const struct ev_id *id);
void ev_entered_free(struct ev_entered *v);

#endif
