/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of closures and the TPM's counter (docs/journal.md): detects an old copy, and binds
 * the present journal to the counter, so that attach detects the next one. On the ledger's thread.
 */
#ifndef BWL_AGENT_JOURNAL_CHECK_H
#define BWL_AGENT_JOURNAL_CHECK_H

#include "bwl/pins.h"
#include "anchor.h"
#include "ledger.h"

struct judge {
	struct bwl_pins *pins;
	bool judged; /* for these maps, by this process */
	bool moved;  /* the journal grew since the counter was raised */
	bool refused;
	uint32_t refused_at; /* bwl_ctl.generation then, or at the last check after it */
	uint64_t looked_ns, waits_ns, told_ns;
	uint64_t written; /* the epoch that we last wrote */
	char told[sizeof(((struct bwl_err *)0)->text)];
};

/* At the start: `bound` gets each epoch before the counter does. */
void judge_begin(struct judge *g, struct bwl_pins *p, struct anchor *a);
/*
 * After anchor_run(), whatever its result. Returns 0, or an error if the ledger could not be
 * written.
 */
int judge_run(struct judge *g, struct anchor *a, struct ledger *l, const char *era,
	      struct bwl_err *e);

#endif
