/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing log, for a program that reports it repeatedly (bwlimitd, to its fleet): the newest
 * checkpoint, from the end of the last file alone, and a proof that the log extends an earlier one,
 * from the records since. Nothing is locked: appending, rotating and pruning may happen meanwhile;
 * missing data is -ENOENT.
 */
#ifndef BWL_AUDIT_GROWN_H
#define BWL_AUDIT_GROWN_H

#include "item.h"

/* A checkpoint of the log, and where the lines after it begin. */
struct bwl_audit_mark {
	char note[BWL_CHECKPOINT_NOTE];
	struct bwl_checkpoint c;
	struct bwl_frontier frontier;
	char file[BWL_AUDIT_NAME];
	uint64_t offset; /* bytes */
};
/* The key that the log's own folder names. */
int bwl_audit_public_key(const char *dir, struct bwl_note_key *ret, struct bwl_err *e);
int bwl_audit_newest(const char *dir, const struct bwl_note_key *k, struct bwl_audit_mark *ret,
		     struct bwl_err *e);

/* The proof from a mark of this log to the tree of n records. */
int bwl_audit_prove_from(const char *dir, const struct bwl_audit_mark *from, uint64_t n,
			 struct bwl_prover *ret, struct bwl_err *e);
/*
 * The same without a mark: from the last file that begins at or before record m. k: the key of the
 * checkpoints with which files begin.
 */
int bwl_audit_prove(const char *dir, const struct bwl_note_key *k, uint64_t m, uint64_t n,
		    struct bwl_prover *ret, struct bwl_err *e);

#endif
