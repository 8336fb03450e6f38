/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bwlimit-export knows over its restarts: DIR/state.json, whole or not at all. */
#ifndef BWL_EXPORT_FLOWS_STATE_H
#define BWL_EXPORT_FLOWS_STATE_H

#include <bwl/err.h>
#include "budget.h"
#include "ipfix.h"

struct state {
	struct budget budget;
	uint64_t next;       /* interval that is to be sent */
	bool begun;          /* some of it may have been */
	uint64_t skipped;    /* intervals of which nothing was sent, before it */
	uint64_t file_bytes; /* of the file, when the interval before was in it */
	uint64_t file_inode; /* which file that was; 0: not known, a state of an earlier version */
	uint32_t sequence;   /* IPFIX, in that file */
	struct ipfix_losses losses;
};

/* A folder without one is a new state. boot: bwl_boot_id() */
int state_load(const char *dir, const char *boot, struct state *ret, struct bwl_err *e);
int state_save(const char *dir, const char *boot, const struct state *s, struct bwl_err *e);
/* DIR/budget.json, for readers: how much may leave. `bwlimit-ctl exfil` counts it. */
int state_tell_budget(const char *dir, const struct budget *b, struct bwl_err *e);

#endif
