/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What volumes have spent, on disk: rows by the name of the limit. Does not use the maps.
 *
 * ledger.db (SQLite, WAL, synchronous) holds the rows, each with a checksum; one more row holds a
 * number that every commit raises, and the sum of all checksums. ledger.seq holds that number
 * again, written after the commit: a database that is behind it was cut, or is an old copy (SQLite
 * itself cannot distinguish a log that was cut from one that was never longer). A commit is
 * complete when both are on disk.
 *
 * An unreadable ledger is set aside (*.bad) and a new one started: see `how`.
 */
#ifndef BWL_AGENT_LEDGER_H
#define BWL_AGENT_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include "bwl/err.h"

#define LEDGER_KEY 112
#define LEDGER_ERA 96
#define LEDGER_SLICES 12

struct ledger_row {
	char key[LEDGER_KEY]; /* "peer tray-3", see bwl_limit_key() */
	char era[LEDGER_ERA]; /* the maps for which `spent` counts; agent_era() */
	uint64_t spent;       /* bytes: at least what has passed, windowed: within the window */
	uint64_t slice_ns;    /* windowed: a slice's length; 0: total */
	uint64_t at_ns;       /* windowed: boot time of the slices */
	/* windowed: the newest first; what they lack of `spent` is new */
	uint64_t slice[LEDGER_SLICES];
	uint64_t pending; /* 1: not in the maps yet; nothing may be released */
};

enum ledger_how { LEDGER_FOUND, LEDGER_BEGUN, LEDGER_SET_ASIDE };

struct ledger;
/* e: also filled for LEDGER_SET_ASIDE, with the fault. -EIO, -EROFS, …: retry. */
int ledger_open(const char *dir, struct ledger **ret, enum ledger_how *how, struct bwl_err *e);
void ledger_close(struct ledger *l); /* NULL-safe */
/* -1: none. Indexes are stable until a commit that drops rows. */
int ledger_find(const struct ledger *l, const char *key);
const struct ledger_row *ledger_at(const struct ledger *l, int index);
/* A note beside the row, in memory only: when its name was last in a policy; 0: nobody said. */
void ledger_see(struct ledger *l, int index, uint64_t now_ns);
uint64_t ledger_seen(const struct ledger *l, int index);
int ledger_count(const struct ledger *l);
/* Staged until the next commit; the last one for a key counts. */
int ledger_put(struct ledger *l, const struct ledger_row *row);
/* The row goes with the next commit, unless that also puts one of this key. */
int ledger_drop(struct ledger *l, const char *key);
/*
 * 0: everything staged is on disk. Otherwise none of it may be relied on, although ledger_at()
 * shows it; the next commit writes it again. -EUCLEAN: the database is damaged; close it, and open
 * it again.
 */
int ledger_commit(struct ledger *l, struct bwl_err *e);
uint64_t ledger_seq(const struct ledger *l);
/* Renames the files; also for a ledger that contradicts the maps. */
int ledger_set_aside(const char *dir, struct bwl_err *e);

#endif
