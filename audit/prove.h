/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes proofs from a log's folder that a record is in it (proof.h). Nothing is locked: appending,
 * rotating and pruning may happen meanwhile.
 */
#ifndef BWL_AUDIT_PROVE_H
#define BWL_AUDIT_PROVE_H

#include "item.h"
#include "proof.h"

struct bwl_audit_proven {
	char *text;              /* the proof, as in proof.h */
	struct bwl_hash leaf;    /* of the record */
	char *line;              /* its bytes, as they were hashed; NULL: pruned */
	struct bwl_checkpoint c; /* the checkpoint that covers it */
};
/*
 * The proof for record n. note: a checkpoint of this log, with whatever signatures it has; NULL:
 * the newest one. One pass, beginning at the record's file, using the hashes of full files: a few
 * kilobytes of memory. 0: the proof is valid. -ENOENT: the record's own hash, or one that the proof
 * needs, was pruned; -ERANGE: the checkpoint does not cover it; -EBADMSG: the note is of another
 * log, or the log is damaged. Free ret after.
 */
int bwl_audit_prove_record(const char *dir, const struct bwl_note_key *k, uint64_t n,
			   const char *note, size_t note_len, struct bwl_audit_proven *ret,
			   struct bwl_err *e);
void bwl_audit_proven_free(struct bwl_audit_proven *p); /* NULL-safe */

/* From file[i] on, uses the hashes of full files instead of their lines, if they are complete. */
void bwl_audit_prefer_hashes(const char *dir, struct bwl_audit_file *file, size_t i, size_t n);

#endif
