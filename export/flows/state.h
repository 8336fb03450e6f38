/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bwlimit-export keeps over restarts: DIR/state.json, replaced as a whole. */
#ifndef BWL_EXPORT_FLOWS_STATE_H
#define BWL_EXPORT_FLOWS_STATE_H

#include <bwl/err.h>
#include "budget.h"
#include "ipfix.h"

struct state {
	struct budget budget;
	uint64_t next;       /* the interval to send next */
	bool begun;          /* some of it may have been sent */
	uint64_t skipped;    /* unsent intervals before it */
	uint64_t file_bytes; /* size of the file after the previous interval */
	uint64_t file_inode; /* identifies that file; 0: there was none */
	uint32_t sequence;   /* IPFIX, in that file */
	struct ipfix_losses losses;
};

/* A folder without state.json is a new state. boot: bwl_boot_id() */
int state_load(const char *dir, const char *boot, struct state *ret, struct bwl_err *e);
int state_save(const char *dir, const char *boot, const struct state *s, struct bwl_err *e);
/* DIR/budget.json, for readers: how much may leave. `bwlimit-ctl exfil` counts it. */
int state_tell_budget(const char *dir, const struct budget *b, struct bwl_err *e);

#endif
