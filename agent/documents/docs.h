/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What signed documents come to: which of them hold, what is in force by them, until when, and
 * whether one more is taken. Pure but for the memory's file: documents, clocks and what is closed
 * come as arguments (tests/unit/agent/docs_test.c).
 *
 * What holds is a function of the memory (signed/memory.h) and of the bytes of the documents that
 *it names. So there is one moment at which a document is taken: the rename of the memory's file.
 * Before it nothing has happened; after it, whoever is killed does at the next start what is
 *missing.
 *
 *	opens	bytes to disk, memory, effect: what is in force is never more than what is
 *remembered, so no older document is taken after it
 *	closes	effect, journal, memory: closed before it is called taken, and killed in between it
 *		is closed, by the journal also over a reboot, and comes again
 */
#ifndef BWL_AGENT_DOCS_H
#define BWL_AGENT_DOCS_H

#include "signed/memory.h"
#include "signed/widen.h"

struct docs_clock {
	uint64_t boot_ns; /* CLOCK_BOOTTIME */
	int64_t wall_s;
};

/* At boot_ns it was at_s, or later, by the signed time newest_s. */
struct docs_heard {
	int64_t newest_s, at_s;
	uint64_t boot_ns;
};

/* A document that was taken: its bytes, and what they say. */
struct docs_one {
	char *bytes;
	size_t len;
	struct bwl_signed d;
};

/* The lease that the policy that holds had last. */
struct docs_leased {
	uint8_t policy[32]; /* its digest */
	uint64_t end_ns;    /* CLOCK_BOOTTIME; 0: none was held */
};

struct docs {
	struct bwl_memory *m;
	struct docs_heard heard; /* newest_s that is not the memory's: no signed time is known */
	struct docs_leased leased;
	uint8_t fresh[32]; /* the policy that was taken now, if its volumes begin unspent; else 0 */
	struct docs_one *one;
	size_t n;
};
void docs_free(struct docs *s); /* what it holds, also the memory */

/* Never below the newest signed time, nor slower than this machine's own clock since. */
int64_t docs_now(const struct docs *s, const struct docs_clock *c);
/* Is anything known of when the newest signed time was? */
bool docs_is_heard(const struct docs *s);
/* The newest signed time is the memory's, and was heard at this moment: not before the one before.
 */
void docs_heard_now(struct docs *s, const struct docs_clock *c);
/* What was heard of a time that the memory forgot (a new root) counts no more. */
void docs_unheard(struct docs *s);

/*
 * withheld.c: a signed time says what was published to close (signed/closing.h). One that names
 * what is not here is as none: everything falls to its floor as if no time came (`offline_for`),
 * until it comes. So who holds back one revocation gains no more than who holds back all.
 */
#define DOCS_KEY 64 /* "KIND/NAME" */
/* How many the newest signed time names; the first of them into ret. */
size_t docs_missing(const struct docs *s, char (*ret)[DOCS_KEY], size_t most);
/* After something was taken: is the newest signed time one that lacks nothing? */
void docs_mind_whole(struct docs *s);

/* Does what holds, or may, need the bytes of this document? Others may go. */
bool docs_needs(const struct docs *s, const uint8_t digest[32]);
/* Bytes that the memory vouches for; not ours any more. false: it knows nothing of them. */
bool docs_add(struct docs *s, char *bytes, size_t len);
void docs_drop_unneeded(struct docs *s);
const struct docs_one *docs_find(const struct docs *s, const uint8_t digest[32]);

/* holds.c: what is in force by them. Was a policy ever taken? Before that what was there goes on.
 */
bool docs_has_policy(const struct docs *s);
/* Is this tray expelled? Then none holds. */
bool docs_is_expelled(const struct docs *s);
/* The policy that holds, of those that may; NULL: none does. */
const struct docs_one *docs_policy(const struct docs *s);
/*
 * A policy with its grants. Its times are of CLOCK_REALTIME, in ns: so it is the same at any
 * moment.
 */
struct docs_holding {
	struct bwl_policy *pol;
	struct bwl_holding h; /* h.pol is pol; none is closed */
};
void docs_holding_free(struct docs_holding *h);
/* Where a tray stands in a rollout: it takes what is rolled out to more per cent than this. */
unsigned docs_place(const char *salt, const char *tray);
/* more: a grant that is to come, or NULL. */
int docs_hold(const struct docs *s, const struct docs_one *policy, const struct bwl_signed *more,
	      struct docs_holding *ret, struct bwl_err *e);
/*
 * As reconcile.c is to put it in force: with a heartbeat and a lease, by which the data plane ends
 * it without us. -ENOENT: none holds.
 */
int docs_text(const struct docs *s, const struct docs_clock *c, char **ret, size_t *ret_len,
	      struct bwl_err *e);
/* What of it ends all that is above the floor. */
struct docs_terms {
	bool any; /* a policy holds */
	struct docs_holding holding;
	const struct docs_one *policy; /* one of s->one: until that changes */
};
/* -ENOENT: no policy holds; any is false then, and nothing is wrong. */
int docs_terms(const struct docs *s, struct docs_terms *ret, struct bwl_err *e);
void docs_terms_free(struct docs_terms *t);
/*
 * When that is, CLOCK_BOOTTIME ns, 0: now; and why. lease: a lease of this policy was held, and its
 * time ran out by CLOCK_BOOTTIME: on that the policy's `tamper` acts. A policy that has no lease
 * yet, a signed time that jumps and a policy that ends are the floor, and no sign.
 */
struct docs_end {
	uint64_t at_ns;
	const char *why;
	bool lease;
};
struct docs_end docs_end(struct docs *s, const struct docs_terms *t, const struct docs_clock *c);
/* Is the newest signed time younger than what holds asks for? */
bool docs_is_fresh(const struct docs *s, const struct docs_terms *t, const struct docs_clock *c);

/* judge.c */
struct docs_verdict {
	bool known;   /* it was taken before: nothing is to be done */
	bool waits;   /* a policy that waits for a rollout */
	bool root;    /* the next root; d is what it says of itself */
	bool seconds; /* an expulsion that was taken, with the signatures that it lacked */
	bool widens;  /* by the signatures of enough people */
	struct bwl_signed d;
};
/* May it be taken? It changes nothing. Errors as signed/document.h has them, and "signed-widens".
 */
int docs_judge(const struct docs *s, const char *bytes, size_t len, const struct docs_clock *c,
	       struct docs_verdict *ret, struct bwl_err *e);
/* Its second half: v->d is verified, and newer than what was taken (bwl_memory_judge()). */
int docs_judge_more(const struct docs *s, struct docs_verdict *v, const struct docs_clock *c,
		    struct bwl_err *e);
void docs_verdict_free(struct docs_verdict *v);
/* Are the bytes of such a document kept on disk, once it is taken? */
bool docs_keeps_bytes(enum bwl_signed_type t);
/* Taken, in the memory; bwl_memory_keep() makes it last. v is of these bytes and this state. */
int docs_take(struct docs *s, const struct docs_verdict *v, const char *bytes, size_t len,
	      const struct docs_clock *c, struct bwl_err *e);

#endif
