/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps a log below its size, in such a way that it still verifies, and in such an order that no
 * host can push out what operators did:
 *
 * 1. From the oldest full file the lines of junk are removed (records that a host causes at will),
 *    and the checkpoints in between. log-N.kept has the file's first checkpoint, signed anew over
 *    what follows it, and all other records; log-N.hashes has a hash of every record.
 * 2. When the kept parts of such files take half of the size, the oldest of these files loses its
 *    hashes and everything that a host may have caused. log-N-END.least has the same as log-N.kept,
 *    and for the removed records as few hashes over many as possible. The previous .least is
 *    merged with it while that is small, so what a host caused takes next to nothing in the end.
 * 3. When there are no such files any more, the oldest file is removed: the log then begins at the
 *    next file's checkpoint.
 *
 * A file is verified before anything is removed from it. A damaged one stays as it is, and
 * log-N.damaged says so; it is removed as a whole once it is the oldest. A record reports the
 * damage, and does so again when that record is removed.
 *
 * Inside audit/ only. After a kill at any point the lines are still there, or their hashes and the
 * kept part.
 */
#ifndef BWL_AUDIT_PRUNE_H
#define BWL_AUDIT_PRUNE_H

#include "log_end.h"
#include "verify.h"

struct bwl_audit_cut {
	enum {
		BWL_CUT_NONE, /* below the size, or nothing left to cut */
		BWL_CUT_JUNK,
		BWL_CUT_HOST,
		BWL_CUT_ALL,     /* also hashes and kept records */
		BWL_CUT_REFUSED, /* the file is damaged */
	} what;
	uint64_t from, to;              /* records [from, to) */
	uint64_t gone;                  /* number of them that this cut removes */
	struct bwl_audit_damage damage; /* to 0: none, now or before */
	char text[320];
	char name[BWL_AUDIT_NAME]; /* the file that it was found in */
	/* BWL_CUT_HOST: the previous file, which is merged with it; "" */
	char with[BWL_AUDIT_NAME];
	uint64_t begin;        /* the result: log-BEGIN-TO.least */
	struct bwl_hash *hash; /* of the records in it */
	size_t hashes;
	char *kept; /* the content of log-N.kept, or least */
	size_t kept_len;
};
/*
 * What to cut next. Reads whole files, which may take seconds, so without the lock. The list of
 * files (bwl_audit_files()) was made with the lock: a folder that is read while another process
 * renames may show neither the old name nor the new one, and a missed file looks like damage. Free
 * ret after.
 */
int bwl_audit_prune_look(const char *dir, int dir_fd, const struct bwl_audit_file *file, size_t n,
			 uint64_t size, const struct bwl_note_key *k, struct bwl_audit_cut *ret,
			 struct bwl_err *e);
/* With the lock, before anything else: removes what a killed prune left behind. */
int bwl_audit_prune_sweep(const char *dir, int dir_fd, struct bwl_err *e);
/* With the lock: is the file unchanged? */
bool bwl_audit_prune_stands(int dir_fd, const struct bwl_audit_cut *c);
/* Performs the cut, after a record of it. */
int bwl_audit_prune_do(const char *dir, int dir_fd, const struct bwl_audit_cut *c,
		       struct bwl_err *e);
void bwl_audit_prune_free(struct bwl_audit_cut *c);

#endif
