/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The audit log as the fleet is told of it: its newest checkpoint, and that it begins with the one
 * that the controller cosigned last. A thread of its own reads the log, so who asks waits for no
 * disk; what is asked for anew is there the next time.
 */
#ifndef BWL_AGENT_CHECKPOINT_H
#define BWL_AGENT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>
#include "audit/signed_note.h"

struct agent_checkpoint {
	char note[BWL_CHECKPOINT_NOTE];
	char key[BWL_NOTE_KEY_TEXT]; /* the log's public one */
	/* Of the checkpoint of `from` records; not proven: none could be made. */
	bool proven;
	uint64_t from;
	unsigned nproof;
	struct bwl_hash proof[BWL_PROOF_MAX];
};
/*
 * from: the size of the checkpoint that was cosigned last, as the store says it; 0: none. false:
 * there is no log, or nothing was read yet.
 */
bool agent_checkpoint_tell(uint64_t from, struct agent_checkpoint *ret);

#endif
