/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of closures and the TPM's counter (docs/journal.md): an old copy is found out, and
 * what is there now is bound to the counter, so that attach finds the next one. On the ledger's
 * thread.
 */
#ifndef BWL_AGENT_JOURNAL_CHECK_H
#define BWL_AGENT_JOURNAL_CHECK_H

#include "bwl/pins.h"
#include "anchor.h"
#include "ledger.h"

struct judge {
	struct bwl_pins *pins;
	bool judged; /* in these maps, by this process */
	bool moved;  /* the journal did, since the counter was raised */
	bool refused;
	uint32_t refused_at; /* bwl_ctl.generation then, or at the last look after it */
	uint64_t looked_ns, waits_ns, told_ns;
	uint64_t written; /* the epoch that we wrote last */
	char told[sizeof(((struct bwl_err *)0)->text)];
};

/* From the start: `bound` follows the epoch before the counter does. */
void judge_begin(struct judge *g, struct bwl_pins *p, struct anchor *a);
/* After anchor_run(), whatever it said. The ledger could not be written, or 0. */
int judge_run(struct judge *g, struct anchor *a, struct ledger *l, const char *era,
	      struct bwl_err *e);

#endif
