/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `evidence verify` has found: evidence_verify.c finds it, evidence_say.c prints it. */
#ifndef CTL_EVIDENCE_VERIFY_H
#define CTL_EVIDENCE_VERIFY_H

#include "evidence.h"

struct shown { /* bytes of a peer that a record shows */
	struct bwl_hash root;
	uint32_t slot;
	uint64_t from, to;
};

struct verify {
	struct ctl *c;
	struct ev_trust trust;
	json_t *problems;
	size_t nproblems, nnotes, nnewer; /* nnewer: what is of a later version than this program */
	struct ev_chain chain;
	bool whole; /* --whole */
	size_t folders;
	uint64_t first_n, last_n; /* records of the folders' entries */
	uint64_t repeated;        /* entries that an earlier folder has, too */
	/*
	 * Checkpoints that the proofs are for: one per folder, or without folders those of the
	 * files.
	 */
	struct bwl_checkpoint *checkpoint;
	size_t ncheckpoints;
	struct evidence_bytes bytes;
	struct ev_sum after, before; /* of the last and first interval */
	struct ev_sum passed;        /* according to records */
	struct shown *shown;
	size_t nshown, room;
	uint64_t opened_intervals, opened_peers, opened_records, draws, missed;
	uint64_t whole_intervals, whole_peers;
};

/* The verdict, and what it is about. */
void evidence_say(struct verify *v);

#endif
