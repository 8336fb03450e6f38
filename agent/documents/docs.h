/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The effect of signed documents: which of them hold, what they put in force, until when, and
 * whether another one is taken. Pure, except for the memory's file: documents, clocks and what is
 * closed are arguments (tests/unit/agent/docs_*_test.c).
 *
 * What holds is a function of the memory (signed/memory.h) and of the bytes of the documents that
 * it names. So a document is taken at one moment: the rename of the memory's file. Before that
 * nothing has happened; if bwlimitd is killed after it, the next start does what is missing.
 *
 *	opens	bytes to disk, memory, effect: what is in force is never more than what is
 *		remembered, so no older document is taken afterwards
 *	closes	effect, journal, memory: it has closed before it counts as taken. After a kill in
 *		between it stays closed (over a reboot by the journal), and the document comes
 *		again
 */
#ifndef BWL_AGENT_DOCS_H
#define BWL_AGENT_DOCS_H

#include "signed/memory.h"
#include "signed/widen.h"

struct docs_clock {
	uint64_t boot_ns; /* CLOCK_BOOTTIME */
	int64_t wall_s;
};

/* At boot_ns the time was at_s or later, by the signed time newest_s. */
struct docs_heard {
	int64_t newest_s, at_s;
	uint64_t boot_ns;
};

/* An accepted document: its bytes, and their content. */
struct docs_one {
	char *bytes;
	size_t len;
	struct bwl_signed d;
};

/* The last lease of the policy in force. */
struct docs_leased {
	uint8_t policy[32]; /* its digest */
	uint64_t end_ns;    /* CLOCK_BOOTTIME; 0: none was held */
};

struct docs {
	struct bwl_memory *m;
	struct docs_heard heard; /* newest_s is not the memory's: no signed time is known */
	struct docs_leased leased;
	/* the policy that was just accepted, if its volumes start unspent; otherwise 0 */
	uint8_t fresh[32];
	struct docs_one *one;
	size_t n;
};
void docs_free(struct docs *s); /* frees its content, including the memory */

/* Never below the newest signed time, nor slower than this machine's own clock since then. */
int64_t docs_now(const struct docs *s, const struct docs_clock *c);
/* Is it known when the newest signed time was received? */
bool docs_is_heard(const struct docs *s);
/* The newest signed time is the memory's, and was received now: not before the previous one. */
void docs_heard_now(struct docs *s, const struct docs_clock *c);
/* A time that the memory forgot (a new root) no longer counts. */
void docs_unheard(struct docs *s);

/*
 * withheld.c: a signed time names published closing documents (signed/closing.h). If one of them is
 * missing here, the time does not count: everything falls to its floor as without a time
 * (`offline_for`), until the document comes. So withholding one revocation gains no more than
 * withholding all.
 */
#define DOCS_KEY 64 /* "KIND/NAME" */
/* The number of missing documents that the newest signed time names; the first of them in ret. */
size_t docs_missing(const struct docs *s, char (*ret)[DOCS_KEY], size_t most);
/* After a document was accepted: does the newest signed time now lack nothing? */
void docs_mind_whole(struct docs *s);

/* Are the bytes of this document needed by what holds, or may hold? Others may be removed. */
bool docs_needs(const struct docs *s, const uint8_t digest[32]);
/* Adds bytes that the memory vouches for, and takes them. false: the memory does not know them. */
bool docs_add(struct docs *s, char *bytes, size_t len);
void docs_drop_unneeded(struct docs *s);
const struct docs_one *docs_find(const struct docs *s, const uint8_t digest[32]);

/*
 * holds.c: what the documents put in force. Was a policy ever accepted? Before that the local
 * policy continues.
 */
bool docs_has_policy(const struct docs *s);
/* Is this tray expelled? Then no policy holds. */
bool docs_is_expelled(const struct docs *s);
/* The policy that holds, of those that may; NULL: none. */
const struct docs_one *docs_policy(const struct docs *s);
/*
 * A policy with its grants. Its times are CLOCK_REALTIME, in ns, so they do not depend on when they
 * are computed.
 */
struct docs_holding {
	struct bwl_policy *pol;
	struct bwl_holding h; /* h.pol is pol; none is closed */
};
void docs_holding_free(struct docs_holding *h);
/* A tray's place in a rollout: the rollout reaches it if its percentage is higher. */
unsigned docs_place(const char *salt, const char *tray);
/* more: a grant that is being judged, or NULL. */
int docs_hold(const struct docs *s, const struct docs_one *policy, const struct bwl_signed *more,
	      struct docs_holding *ret, struct bwl_err *e);
/* "grant/NAME" of the grants that are part of the policy in force and have not ended; the number.
 * *ret is the caller's, to free.
 */
size_t docs_grants(const struct docs *s, const struct docs_clock *c, char (**ret)[DOCS_KEY]);
/*
 * The text for reconcile.c: with a heartbeat and a lease, by which the data plane ends it without
 * us. -ENOENT: none holds.
 */
int docs_text(const struct docs *s, const struct docs_clock *c, char **ret, size_t *ret_len,
	      struct bwl_err *e);
/* What ends everything above the floor. */
struct docs_terms {
	bool any; /* a policy holds */
	struct docs_holding holding;
	const struct docs_one *policy; /* one of s->one, valid until that changes */
};
/* -ENOENT: no policy holds; any is then false, and this is no fault. */
int docs_terms(const struct docs *s, struct docs_terms *ret, struct bwl_err *e);
void docs_terms_free(struct docs_terms *t);
/*
 * The end, in CLOCK_BOOTTIME ns, 0: now; and why. lease: a lease of this policy was held, and
 * expired by CLOCK_BOOTTIME: then the policy's `tamper` acts. A policy without a lease yet, a jump
 * of the signed time and the end of a policy lead to the floor, but are no sign.
 */
struct docs_end {
	uint64_t at_ns;
	const char *why;
	bool lease;
};
struct docs_end docs_end(struct docs *s, const struct docs_terms *t, const struct docs_clock *c);
/* Is the newest signed time as recent as required? */
bool docs_is_fresh(const struct docs *s, const struct docs_terms *t, const struct docs_clock *c);

/* judge.c */
struct docs_verdict {
	bool known;   /* accepted before: nothing to do */
	bool waits;   /* a policy that waits for a rollout */
	bool root;    /* the next root; d is its own claim */
	bool seconds; /* an accepted expulsion, with signatures that it lacked */
	bool widens;  /* by the signatures of enough people */
	struct bwl_signed d;
};
/* May it be accepted? Changes nothing. Errors as in signed/document.h, and "signed-widens". */
int docs_judge(const struct docs *s, const char *bytes, size_t len, const struct docs_clock *c,
	       struct docs_verdict *ret, struct bwl_err *e);
/* The second half: v->d is verified, and newer than what was accepted (bwl_memory_judge()). */
int docs_judge_more(const struct docs *s, struct docs_verdict *v, const struct docs_clock *c,
		    struct bwl_err *e);
void docs_verdict_free(struct docs_verdict *v);
/* Are the bytes of such a document kept on disk once it is accepted? */
bool docs_keeps_bytes(enum bwl_signed_type t);
/*
 * Accepts it in the memory; bwl_memory_keep() makes that durable. v belongs to these bytes and this
 * state.
 */
int docs_take(struct docs *s, const struct docs_verdict *v, const char *bytes, size_t len,
	      const struct docs_clock *c, struct bwl_err *e);

#endif
