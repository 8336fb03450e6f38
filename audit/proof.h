/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The proof that one record is in the log, as text for somebody without the log
 * (c2sp.org/tlog-proof@v1; file NAME.tlog-proof): its number, hashes from the leaf's sibling to the
 * root's child, and a checkpoint with the signatures of the log and its witnesses. It reveals no
 * other record. Nothing here does I/O; prove.h makes one from a log's folder.
 */
#ifndef BWL_AUDIT_PROOF_H
#define BWL_AUDIT_PROOF_H

#include "witness.h"

#define BWL_TLOG_PROOF_TYPE "c2sp.org/tlog-proof@v1"
#define BWL_TLOG_PROOF_MAX (2 * BWL_NOTE_MAX) /* maximum size of a text, in bytes */

struct bwl_tlog_proof {
	uint64_t index;    /* below 2^63 */
	const char *extra; /* base64, not signed by anybody; NULL: none */
	size_t extra_len;
	struct bwl_hash hash[BWL_PROOF_MAX];
	unsigned count;
	const char *note; /* the checkpoint with all its signatures */
	size_t note_len;
};
/* Accepts only its canonical spelling. extra and note point into text. -EBADMSG names the line. */
int bwl_tlog_proof_parse(const char *text, size_t len, struct bwl_tlog_proof *ret,
			 struct bwl_err *e);
/* The text; the caller frees. */
char *bwl_tlog_proof_format(const struct bwl_tlog_proof *p);

/*
 * Is the record with this hash (bwl_hash_leaf() of its bytes, without a newline) number p->index of
 * the log, by a checkpoint that the log has signed and k witnesses have cosigned? w NULL: no
 * witness is required. ret (may be NULL): the checkpoint. -ENOKEY: a signature is missing;
 * -EBADMSG: anything else is wrong.
 */
int bwl_tlog_proof_check(const struct bwl_tlog_proof *p, const struct bwl_hash *leaf,
			 const struct bwl_note_key *log, const struct bwl_witnesses *w,
			 struct bwl_checkpoint *ret, struct bwl_err *e);

#endif
