/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The audit log's state for the fleet: its newest checkpoint, and a proof that it extends the one
 * that the controller cosigned last. A separate thread reads the log, so callers wait for no disk;
 * a new request is answered the next time.
 */
#ifndef BWL_AGENT_CHECKPOINT_H
#define BWL_AGENT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include "audit/signed_note.h"

struct agent_checkpoint {
	char note[BWL_CHECKPOINT_NOTE];
	char key[BWL_NOTE_KEY_TEXT]; /* the log's public key */
	/* For the checkpoint of `from` records; not proven: no proof could be made. */
	bool proven;
	uint64_t from;
	unsigned nproof;
	struct bwl_hash proof[BWL_PROOF_MAX];
};
/*
 * from: the size of the checkpoint that was cosigned last, according to the store; 0: none. false:
 * there is no log, or nothing was read yet.
 */
bool agent_checkpoint_tell(uint64_t from, struct agent_checkpoint *ret);

#endif
