/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of signed documents (signed.json, broken-glass.json) and the ledger, which may be
 * bound to a TPM's counter: detects an old copy, and a missing one. Then nothing is above the floor
 * until this tray is enrolled anew, by a newer enrolment. On the ledger's thread.
 *
 * Without a TPM the ledger's row still detects a memory older than the ledger. It does not detect a
 * whole old state directory, put in place while the machine was off.
 */
#ifndef BWL_AGENT_MEMORY_CHECK_H
#define BWL_AGENT_MEMORY_CHECK_H

#include <sys/stat.h>
#include "anchor.h"
#include "bwl/pins.h"
#include "ledger.h"
#include "signed/memory_bound.h"

/* The state on disk. */
enum memory_state { MEMORY_NONE, MEMORY_OK, MEMORY_DAMAGED };
struct memory_seen {
	enum memory_state state;
	struct bwl_memory_bound bound;
	uint64_t glass; /* number of broken glasses */
};
/* Other knowledge. row NULL: the ledger knows of no memory. */
struct memory_known {
	const struct ledger_row *row;
	bool enrolled;  /* the maps say that there was a memory */
	bool took_over; /* the ledger was just created, and the TPM had a counter for another one */
	bool began;     /* there was none at this process' first check */
};
/* Why it cannot be trusted; NULL: it can. */
const char *memory_judge(const struct memory_seen *s, const struct memory_known *k);

struct memory_check {
	struct bwl_pins *pins;
	const char *dir;
	bool began, looked, lost;
	bool moved; /* something was accepted since the counter was raised */
	uint64_t looked_ns, told_ns;
	struct memory_seen seen;
	struct timespec at[2]; /* of both files */
	ino_t ino[2];
};
/*
 * After anchor_run(), if its result was 0. Returns 0, or an error if the ledger could not be
 * written.
 */
int memory_check_run(struct memory_check *c, struct anchor *a, struct ledger *l, const char *era,
		     struct bwl_err *e);

#endif
