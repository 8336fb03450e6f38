/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Required witnesses: of n that the reader knows, at least k must have cosigned a checkpoint
 * (c2sp.org/tlog-cosignature, type 0x04). Nothing here does I/O.
 */
#ifndef BWL_AUDIT_WITNESS_H
#define BWL_AUDIT_WITNESS_H

#include "signed_note.h"

#define BWL_WITNESSES_MAX 64
struct bwl_witnesses {
	struct bwl_note_key key[BWL_WITNESSES_MAX];
	size_t n;
	unsigned k; /* 0: none is required */
};
/* Adds one. -EEXIST: its name or its key exists already; -E2BIG. */
int bwl_witnesses_add(struct bwl_witnesses *w, const struct bwl_note_key *key, struct bwl_err *e);
/*
 * Has the note at least k of them? Each counts once, however many lines it has; an invalid line of
 * one of them makes the note invalid, as the signed-note specification advises. log: its own key is
 * no witness of it (NULL: not checked). ret_n (may be NULL): how many have.
 */
int bwl_witnesses_hold(const struct bwl_witnesses *w, const struct bwl_note_key *log,
		       const char *note, size_t len, unsigned *ret_n, struct bwl_err *e);

#endif
