/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of closures on disk: `log` has the records, `end` the number and digest of the last
 * one that a tool relied on. docs/journal.md describes its promises.
 */
#ifndef BWL_JOURNAL_H
#define BWL_JOURNAL_H

#include <bwl/publish.h>
#include <jansson.h>
#include "record.h"

#define BWL_JOURNAL_DIR "/var/lib/bwlimit/journal" /* default; BWLIMIT_JOURNAL_DIR, empty: off */

/* NULL: off, also for maps of a drill unless BWLIMIT_JOURNAL_DIR names a folder. */
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
	char why[BWL_JOURNAL_WHY]; /* for MISSING and CUT */
	struct bwl_closed closed;  /* settled */
	uint64_t seq, records;
	uint8_t digest[BWL_JOURNAL_DIGEST];
	size_t end, torn; /* bytes: of whole records, and after them */
	uint64_t anchor_seq;
	uint8_t anchor_digest[BWL_JOURNAL_DIGEST];
};
/* Never fails: an unreadable journal is CUT. dir NULL: OFF. */
void bwl_journal_look(const char *dir, struct bwl_journal *ret);
/* The same from bytes; end_bytes: the file `end`. For look, tests and the fuzzer. */
void bwl_journal_parse(const uint8_t *log, size_t size, const uint8_t *end, size_t end_size,
		       struct bwl_journal *ret);
void bwl_journal_free(struct bwl_journal *j);
/* The object for `status`: state, why, and counts. */
json_t *bwl_journal_json(const struct bwl_journal *j);

/*
 * Appends records, which are on disk when 0 is returned. Numbers and times are set here. expect:
 * the number that must be the last (-EAGAIN otherwise), or BWL_JOURNAL_ANY. Openings wait longer
 * and leave room on the disk.
 */
#define BWL_JOURNAL_ANY (~0ULL)
int bwl_journal_append(const char *dir, const struct bwl_journal_rec *r, size_t n, uint64_t expect,
		       struct bwl_err *e);
/*
 * Creates a journal that holds these records from its first moment. If there is a whole one nothing
 * is done, and *ret_was is set; a cut one is set aside.
 */
int bwl_journal_make(const char *dir, const struct bwl_journal_rec *rec, size_t n,
		     enum bwl_journal_state *ret_was, struct bwl_err *e);
/* Marks a readable journal that cannot be trusted as cut, for all readers. */
int bwl_journal_set_aside(const char *dir, struct bwl_err *e);
/* Does it continue from this record? One that begins after a later one does. */
bool bwl_journal_has(const char *dir, uint64_t seq, const uint8_t digest[BWL_JOURNAL_DIGEST]);
void bwl_journal_set_limit(size_t bytes); /* above which it is compacted; for tests */

/*
 * tpm_bound.c: the file `bound`, with which attach detects an old copy of the whole folder. It is
 * written before the TPM's counter is raised, so its epoch is the counter's or one ahead, never
 * behind.
 */
#define BWL_JOURNAL_TAG 32
struct bwl_journal_bound {
	uint8_t tag[BWL_JOURNAL_TAG]; /* the counter's */
	uint64_t epoch;               /* what it counts */
	uint64_t seq;                 /* the last record at that time */
	uint8_t digest[BWL_JOURNAL_DIGEST];
};
/* -ENOENT: not bound, according to the disk. */
int bwl_journal_bound_read(const char *dir, struct bwl_journal_bound *ret);
int bwl_journal_bind(const char *dir, const struct bwl_journal_bound *b);
int bwl_journal_unbind(const char *dir);
/* Is the journal in dir the one that this counter vouches for? Otherwise why says what is wrong. */
bool bwl_journal_fits(const char *dir, const struct bwl_journal_bound *b,
		      const uint8_t tag[BWL_JOURNAL_TAG], uint64_t count,
		      char why[BWL_JOURNAL_WHY]);

/*
 * again.c: STOP, CLAMP or CLOSE was repeated at said_s (wall clock) for something that is already
 * closed in the journal: from now on that is its time. So documents that people signed between the
 * first time and this one do not open it. name: for CLOSE, NULL: every closed one. Nothing is
 * written if the last record is as recent.
 */
int bwl_journal_again(const char *dir, enum bwl_journal_kind kind, const char *name,
		      uint64_t said_s, struct bwl_err *e);

/* journal_maps.c: from the maps into the journal */
/* A new journal with the maps' closures. */
int bwl_journal_begin(struct bwl_pins *p, enum bwl_journal_state *ret_was, struct bwl_err *e);
/*
 * Records every closure in the maps that the journal lacks. 0: all are on disk (or the journal is
 * off).
 */
int bwl_journal_note(struct bwl_pins *p, struct bwl_err *e);
/* Call after a closure: records it; -EIO and "until reboot" on failure. */
int bwl_journal_closed(struct bwl_pins *p, struct bwl_err *e);
/*
 * The same for what a document closed that people signed at wall_s: that is its time, because a
 * later opening document is compared by the times of signing. n 0: all that is closed.
 */
struct bwl_journal_by {
	const char *const *name;
	size_t n;
	uint64_t wall_s;
};
int bwl_journal_closed_by(struct bwl_pins *p, const struct bwl_journal_by *by, struct bwl_err *e);
/* Before an opening: START or LIFT. */
int bwl_journal_opening(const struct bwl_pins *p, enum bwl_journal_kind kind, struct bwl_err *e);
/* Before a grant, with the lock. for_ns: 0: it never ends; BWL_JOURNAL_SAME_END: as before. */
#define BWL_JOURNAL_SAME_END (~0ULL)
int bwl_journal_grant(struct bwl_pins *p, const char *name, struct bwl_journal_limits lim,
		      uint64_t for_ns, struct bwl_err *e);
/* After limits were set; zone: of a zone. */
int bwl_journal_limits(const struct bwl_pins *p, bool zone, const char *name,
		       struct bwl_journal_limits lim, struct bwl_err *e);
/*
 * After a policy applied by hand is final: its limits are those of its file again; those that were
 * lowered until until_s by the wall clock.
 */
int bwl_journal_raise(const struct bwl_pins *p, const struct bwl_policy *pol, uint64_t until_s,
		      struct bwl_err *e);

/* hand.c: revoked peers may have other prefixes now, which must be closed over a reboot, too */
void bwl_journal_follow(struct bwl_pins *p);
/* Applies a policy by hand: in force with what was closed; then its limits hold over a reboot. */
int bwl_journal_apply(struct bwl_pins *p, struct bwl_policy *pol, const struct bwl_publish_opts *o,
		      struct bwl_publish_report *ret, struct bwl_err *e);

/* apply.c: from the journal into the maps */
/* Warns if it is cut. */
void bwl_journal_warn(const struct bwl_journal *j);
/*
 * Before a policy is published: marks closed peers, and with `lower` lowers the limits. If the
 * journal is cut, all peers that the maps do not have are closed.
 */
void bwl_journal_into_policy(struct bwl_pins *p, const struct bwl_journal *j,
			     struct bwl_policy *pol, bool lower, bool trust_clock);
/* The same, reading the journal and warning. */
void bwl_journal_policy(struct bwl_pins *p, struct bwl_policy *pol, bool lower, bool trust_clock);
/* Before a host port opens: applies stop, clamp, and names to these maps. */
void bwl_journal_boot(struct bwl_pins *p, const struct bwl_journal *j);
/* Sets the stop switch, like `stop` by hand. */
void bwl_journal_stop(struct bwl_pins *p);
/*
 * Ends what attach keeps closed until bwlimitd has compared the journal with the TPM. An operator
 * who runs `stop` and then `stop --off` has decided, too.
 */
void bwl_journal_unjudged(struct bwl_pins *p);
void bwl_journal_judged(struct bwl_pins *p);
bool bwl_journal_is_unjudged(const struct bwl_pins *p);

#endif
