/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries of an audit log, and a proof of each, after one pass over its files. */
#ifndef EV_PROOFS_H
#define EV_PROOFS_H

#include "audit/signed_note.h"
#include "entry.h"

struct ev_found {
	uint64_t n; /* the record's number */
	char *line;
	struct ev_entry x;
};
struct ev_log {
	char dir[500];
	struct bwl_note_key key;
	struct ev_found *entry; /* the oldest first */
	size_t nentries, room;
	struct bwl_hash *leaf[64]; /* by level: leaf[0] records, leaf[1] pairs… */
	uint64_t n, leaf_room;
	bool holes; /* something was pruned: proofs are computed one by one */
	char note[BWL_NOTE_MAX];
	size_t note_len;
	struct bwl_checkpoint c; /* the checkpoint that proofs lead to */
};
/* note NULL: the newest checkpoint of the log. */
int ev_log_read(const char *dir, const struct bwl_note_key *k, const char *note, size_t note_len,
		struct ev_log *ret, struct bwl_err *e);
void ev_log_free(struct ev_log *l);
/* The text of a .tlog-proof; the caller frees. -ERANGE: the checkpoint does not cover it. */
int ev_log_prove(const struct ev_log *l, uint64_t n, char **ret, struct bwl_err *e);

#endif
