/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was accepted of signed documents (signed.json, broken-glass.json) and the ledger, which a
 * TPM's counter is bound to where there is one: an old copy is found out, and one that was taken
 * away. Then nothing is above the floor until this tray is enrolled anew, by a newer enrolment. On
 * the ledger's thread.
 *
 * Without a TPM the ledger's row still finds what is older than the ledger: not found is a whole
 * state directory of before, put in place while the machine was off.
 */
#ifndef BWL_AGENT_MEMORY_CHECK_H
#define BWL_AGENT_MEMORY_CHECK_H

#include <sys/stat.h>
#include "anchor.h"
#include "bwl/pins.h"
#include "ledger.h"
#include "signed/memory_bound.h"

/* What the disk has. */
enum memory_state { MEMORY_NONE, MEMORY_OK, MEMORY_DAMAGED };
struct memory_seen {
	enum memory_state state;
	struct bwl_memory_bound bound;
	uint64_t glass; /* how often the glass was broken */
};
/* What else is known. row NULL: the ledger knows nothing of a memory. */
struct memory_known {
	const struct ledger_row *row;
	bool enrolled;  /* the maps say that there was one */
	bool took_over; /* the ledger was begun now, and the TPM had a counter for another one */
	bool began;     /* there was none when this process looked first */
};
/* Why it cannot be trusted; NULL: it is. */
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
/* After anchor_run(), where that said 0. The ledger could not be written, or 0. */
int memory_check_run(struct memory_check *c, struct anchor *a, struct ledger *l, const char *era,
		     struct bwl_err *e);

#endif
