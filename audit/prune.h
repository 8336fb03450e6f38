/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeping a log below its size, in such a way that it still verifies. Of a full file the lines of junk go (records
 * that a host causes at will, and the checkpoints between): log-N.kept has its first checkpoint and all other
 * records, log-N.hashes, made when it was full, a hash of every record. Where what was kept of such files takes half
 * of the size, the oldest of them goes as a whole; the log begins then at the next one's checkpoint.
 *
 * Inside audit/ only; the lock is held. A `pruned` record is written between next and do: killed anywhere, the
 * lines are still there, or their hashes and what was kept.
 */
#ifndef BWL_AUDIT_PRUNE_H
#define BWL_AUDIT_PRUNE_H

#include "end.h"

struct bwl_audit_cut {
	bool any;		/* false: below the size, or nothing left to take */
	bool remove;		/* hashes and what was kept too */
	uint64_t from, to;	/* records [from, to) */
	uint64_t kept;		/* of them */
	char text[200];
};
/* What goes next; what is kept of it is on disk when this returns. */
int bwl_audit_prune_next(const char *dir, int dir_fd, uint64_t size, struct bwl_audit_cut *ret, struct bwl_err *e);
int bwl_audit_prune_do(const char *dir, int dir_fd, const struct bwl_audit_cut *c, struct bwl_err *e);

#endif
