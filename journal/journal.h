/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of closures, on disk: `log` has the records, `end` the number and digest of
 * the last one that a tool relied on. docs/journal.md says what it promises.
 */
#ifndef BWL_JOURNAL_H
#define BWL_JOURNAL_H

#include <bwl/publish.h>
#include <jansson.h>
#include "record.h"

#define BWL_JOURNAL_DIR "/var/lib/bwlimit/journal" /* default; BWLIMIT_JOURNAL_DIR, empty: off */

/* NULL: off, as it is for maps of a drill unless BWLIMIT_JOURNAL_DIR names one. */
const char *bwl_journal_dir(bool drill);

#define BWL_JOURNAL_WHY 256

enum bwl_journal_state {
	BWL_JOURNAL_OFF,
	BWL_JOURNAL_OK,
	BWL_JOURNAL_MISSING, /* counts as cut */
	BWL_JOURNAL_CUT,     /* unreadable, damaged, or acknowledged records are gone */
};

const char *bwl_journal_state_name(enum bwl_journal_state s);

struct bwl_journal {
	enum bwl_journal_state state;
	char why[BWL_JOURNAL_WHY]; /* of MISSING and CUT */
	struct bwl_closed closed;  /* settled */
	uint64_t seq, records;
	uint8_t digest[BWL_JOURNAL_DIGEST];
	size_t end, torn; /* bytes: of whole records, and behind them */
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
 * Appends: on disk when 0 is returned. Numbers and times are given here. expect: the number that
 * must be the last (-EAGAIN otherwise), or BWL_JOURNAL_ANY. Openings wait longer and leave room on
 * the disk.
 */
#define BWL_JOURNAL_ANY (~0ULL)
int bwl_journal_append(const char *dir, const struct bwl_journal_rec *r, size_t n, uint64_t expect,
		       struct bwl_err *e);
/*
 * A new one, that holds these records from its first moment. Where there is a whole one nothing is
 * done, and *ret_was is set; a cut one is set aside.
 */
int bwl_journal_make(const char *dir, const struct bwl_journal_rec *rec, size_t n,
		     enum bwl_journal_state *ret_was, struct bwl_err *e);
/*
 * One that reads and cannot be trusted all the same: from now on it is cut, for all who look.
 */
int bwl_journal_set_aside(const char *dir, struct bwl_err *e);
/* Does it go on from this record? One that begins after a later one does. */
bool bwl_journal_has(const char *dir, uint64_t seq, const uint8_t digest[BWL_JOURNAL_DIGEST]);
void bwl_journal_set_limit(size_t bytes); /* above which it is compacted; for tests */

/*
 * tpm_bound.c: the file `bound`, by which attach finds an old copy of the whole folder. It is
 * written before the TPM's counter is raised, so it is of the counter's epoch or one ahead, never
 * behind.
 */
#define BWL_JOURNAL_TAG 32
struct bwl_journal_bound {
	uint8_t tag[BWL_JOURNAL_TAG]; /* the counter's */
	uint64_t epoch;               /* what it counts */
	uint64_t seq;                 /* the last record by then */
	uint8_t digest[BWL_JOURNAL_DIGEST];
};
/* -ENOENT: it is bound to none, as far as the disk says. */
int bwl_journal_bound_read(const char *dir, struct bwl_journal_bound *ret);
int bwl_journal_bind(const char *dir, const struct bwl_journal_bound *b);
int bwl_journal_unbind(const char *dir);
/* Is the journal in dir the one that this counter vouches for? Else why says what is wrong. */
bool bwl_journal_fits(const char *dir, const struct bwl_journal_bound *b,
		      const uint8_t tag[BWL_JOURNAL_TAG], uint64_t count,
		      char why[BWL_JOURNAL_WHY]);

/*
 * again.c: STOP, CLAMP or CLOSE was said at said_s (of the wall clock) of what is closed in the
 * journal already: from now on that is when it was. So what people signed between the first time
 * and this one opens it not. name: of CLOSE, NULL: every one that is closed. Nothing is written
 * where the last record is as new.
 */
int bwl_journal_again(const char *dir, enum bwl_journal_kind kind, const char *name,
		      uint64_t said_s, struct bwl_err *e);

/* journal_maps.c: what of the maps goes into it */
/* A new one with what the maps have closed. */
int bwl_journal_begin(struct bwl_pins *p, enum bwl_journal_state *ret_was, struct bwl_err *e);
/*
 * Every closure in the maps that the journal does not have. 0: all of it is on disk (or the journal
 * is off).
 */
int bwl_journal_note(struct bwl_pins *p, struct bwl_err *e);
/* After something was closed: notes it; -EIO and "until reboot" where that fails. */
int bwl_journal_closed(struct bwl_pins *p, struct bwl_err *e);
/*
 * The same of what a document has closed that people signed at wall_s: its moment is that one, for
 * a document that opens it is compared by when both were signed. n 0: of all that is closed.
 */
struct bwl_journal_by {
	const char *const *name;
	size_t n;
	uint64_t wall_s;
};
int bwl_journal_closed_by(struct bwl_pins *p, const struct bwl_journal_by *by, struct bwl_err *e);
/* Before something is opened: START or LIFT. */
int bwl_journal_opening(const struct bwl_pins *p, enum bwl_journal_kind kind, struct bwl_err *e);
/* Before a grant, with the lock. for_ns: 0 never ends. */
int bwl_journal_grant(struct bwl_pins *p, const char *name, struct bwl_journal_limits lim,
		      uint64_t for_ns, struct bwl_err *e);
/* After limits were set; zone: of one. */
int bwl_journal_limits(const struct bwl_pins *p, bool zone, const char *name,
		       struct bwl_journal_limits lim, struct bwl_err *e);
/* After a policy applied by hand has come to hold for good: its limits are its file's again. */
int bwl_journal_raise(const struct bwl_pins *p, const struct bwl_policy *pol, struct bwl_err *e);

/* hand.c: who is revoked may have other prefixes now: those are closed over a reboot, too */
void bwl_journal_follow(struct bwl_pins *p);
/* A policy applied by hand: in force with what was closed, then its limits hold over a reboot. */
int bwl_journal_apply(struct bwl_pins *p, struct bwl_policy *pol, const struct bwl_publish_opts *o,
		      struct bwl_publish_report *ret, struct bwl_err *e);

/* apply.c: what of it holds in maps */
/* A warning where it is cut. */
void bwl_journal_warn(const struct bwl_journal *j);
/*
 * Before a policy is published: who is closed, and with `lower` the limits. Where the journal is
 * cut, all whom the maps do not have are closed.
 */
void bwl_journal_into_policy(struct bwl_pins *p, const struct bwl_journal *j,
			     struct bwl_policy *pol, bool lower, bool trust_clock);
/* With a look at it, and the warning. */
void bwl_journal_policy(struct bwl_pins *p, struct bwl_policy *pol, bool lower, bool trust_clock);
/* Before a host port opens: stop, clamp, and names, in these maps. */
void bwl_journal_boot(struct bwl_pins *p, const struct bwl_journal *j);
/* The stop switch, as a hand's `stop`. */
void bwl_journal_stop(struct bwl_pins *p);
/*
 * What attach keeps closed until bwlimitd has compared the journal with the TPM, and no longer.
 * Whoever says `stop` and then `stop --off` has judged, too.
 */
void bwl_journal_unjudged(struct bwl_pins *p);
void bwl_journal_judged(struct bwl_pins *p);
bool bwl_journal_is_unjudged(const struct bwl_pins *p);

#endif
