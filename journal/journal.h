/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of what was closed, on disk: `log` has the records, `end` the number and digest of the last
 * one that a tool relied on. docs/journal.md says what it promises.
 */
#ifndef BWL_JOURNAL_H
#define BWL_JOURNAL_H

#include <bwl/pins.h>
#include <jansson.h>
#include "record.h"

#define BWL_JOURNAL_DIR "/var/lib/bwlimit/journal"	/* default; BWLIMIT_JOURNAL_DIR, empty: off */

/* NULL: off, as it is for maps of a drill unless BWLIMIT_JOURNAL_DIR names one. */
const char *bwl_journal_dir(bool drill);

enum bwl_journal_state {
	BWL_JOURNAL_OFF,
	BWL_JOURNAL_OK,
	BWL_JOURNAL_MISSING,	/* counts as cut */
	BWL_JOURNAL_CUT,	/* unreadable, damaged, or acknowledged records are gone */
};

const char *bwl_journal_state_name(enum bwl_journal_state s);

struct bwl_journal {
	enum bwl_journal_state state;
	char why[256];			/* of MISSING and CUT */
	struct bwl_closed closed;	/* settled */
	uint64_t seq, records;
	uint8_t digest[BWL_JOURNAL_DIGEST];
	size_t end, torn;		/* bytes: of whole records, and behind them */
	uint64_t anchor_seq;
	uint8_t anchor_digest[BWL_JOURNAL_DIGEST];
};
/* Never fails: what cannot be read is CUT. dir NULL: OFF. */
void bwl_journal_look(const char *dir, struct bwl_journal *ret);
/* The same from bytes; end_bytes: the file `end`. For look, tests and the fuzzer. */
void bwl_journal_parse(const uint8_t *log, size_t size, const uint8_t *end, size_t end_size,
		       struct bwl_journal *ret);
void bwl_journal_free(struct bwl_journal *j);
/* As `status` has it: state, why, and how many of what. */
json_t *bwl_journal_json(const struct bwl_journal *j);

/*
 * Appends: on disk when 0 is returned. Numbers and times are given here. expect: the number that must be
 * the last (-EAGAIN otherwise), or BWL_JOURNAL_ANY. Openings wait longer and leave room on the disk.
 */
#define BWL_JOURNAL_ANY (~0ULL)
int bwl_journal_append(const char *dir, const struct bwl_journal_rec *r, size_t n, uint64_t expect,
		       struct bwl_err *e);
/*
 * A new one, that holds these records from its first moment. Where there is a whole one nothing is done, and
 * *ret_was is set; a cut one is set aside.
 */
int bwl_journal_make(const char *dir, const struct bwl_journal_rec *rec, size_t n, enum bwl_journal_state *ret_was,
		     struct bwl_err *e);
void bwl_journal_set_limit(size_t bytes);	/* above which it is compacted; for tests */

/* act.c: what of the maps goes into it */
/* A new one with what the maps have closed. */
int bwl_journal_begin(struct bwl_pins *p, enum bwl_journal_state *ret_was, struct bwl_err *e);
/* Every closure in the maps that the journal does not have. 0: all of it is on disk (or the journal is off). */
int bwl_journal_note(struct bwl_pins *p, struct bwl_err *e);
/* After something was closed: notes it; -EIO and "until reboot" where that fails. */
int bwl_journal_closed(struct bwl_pins *p, struct bwl_err *e);
/* Before something is opened: START or LIFT. */
int bwl_journal_opening(const struct bwl_pins *p, enum bwl_journal_kind kind, struct bwl_err *e);
/* Before a grant, with the lock. for_ns: 0 never ends. */
int bwl_journal_grant(struct bwl_pins *p, const char *name, struct bwl_journal_limits lim, uint64_t for_ns,
		      struct bwl_err *e);
/* After limits were set; zone: of one. */
int bwl_journal_limits(const struct bwl_pins *p, bool zone, const char *name, struct bwl_journal_limits lim,
		       struct bwl_err *e);
/* After a policy applied by hand has come to hold for good: its limits are its file's again. */
int bwl_journal_raise(const struct bwl_pins *p, const struct bwl_policy *pol, struct bwl_err *e);

/* apply.c: what of it holds in maps */
/* The journal of these maps; a warning where it is cut. */
void bwl_journal_read(const struct bwl_pins *p, struct bwl_journal *ret);
/*
 * Before a policy is published: who is closed, and with `lower` the limits. Where the journal is cut, all whom
 * the maps do not have are closed.
 */
void bwl_journal_mark(struct bwl_pins *p, const struct bwl_journal *j, struct bwl_policy *pol, bool lower,
		      bool trust_clock);
/* Both of them. */
void bwl_journal_policy(struct bwl_pins *p, struct bwl_policy *pol, bool lower, bool trust_clock);
/* Before a host port opens: stop, clamp, and names, in these maps. */
void bwl_journal_boot(struct bwl_pins *p, const struct bwl_journal *j);

#endif
