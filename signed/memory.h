/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a DPU remembers of documents, on disk, so that an old one is refused after a reboot too: the
 * root, and for every type and name the highest version with what it said; the revocation epoch;
 * the newest signed time. One writer (bwlimitd).
 */
#ifndef BWL_SIGNED_MEMORY_H
#define BWL_SIGNED_MEMORY_H

#include "signed/root.h"

#define BWL_MEMORY "signed.json" /* in the state directory */

struct bwl_memory;

/* -ENOENT: nothing is enrolled; -EUCLEAN: it is not what was written. dir: the state directory. */
int bwl_memory_open(const char *dir, struct bwl_memory **ret, struct bwl_err *e);
/* The same from bytes. */
int bwl_memory_parse(const char *bytes, size_t len, struct bwl_memory **ret, struct bwl_err *e);
void bwl_memory_free(struct bwl_memory *m);
BWL_AUTO_DEFINE(bwl_memory_free, struct bwl_memory *)
/*
 * A new one, of a root whose digest people have compared, and an enrolment that it signed: it says
 * which tray this is. -EEXIST: something is enrolled already. Not on disk before bwl_memory_keep().
 */
int bwl_memory_enrol(const char *dir, const char *root, size_t root_len, const char *enrolment,
		     size_t enrolment_len, int64_t wall_s, struct bwl_memory **ret,
		     struct bwl_err *e);
/*
 * The same, and kept, after people compared: sha256 is the root's digest, which they wrote down.
 */
int bwl_memory_begin(const char *dir, const char *root, const char *enrolment, const char *sha256,
		     int64_t wall_s, struct bwl_memory **ret, struct bwl_err *e);
/* On disk when 0 is returned; it is what it was or this, killed at any point. */
int bwl_memory_keep(struct bwl_memory *m, const char *dir, struct bwl_err *e);

const struct bwl_root *bwl_memory_root(const struct bwl_memory *m);
const struct bwl_tray *bwl_memory_tray(const struct bwl_memory *m);
/*
 * Since when it has that one of its labels: when the first of those enrolments was signed that have
 * named it without a break. An enrolment anew ends nothing that the label owed it.
 */
int64_t bwl_memory_label_since(const struct bwl_memory *m, size_t i);
/*
 * The key of its audit log, NAME+ID+BASE64, that its enrolment names: by it others know what this
 * tray says of itself. NULL: none.
 */
const char *bwl_memory_log_key(const struct bwl_memory *m);
uint64_t bwl_memory_epoch(const struct bwl_memory *m);
/* Rises with each document that is remembered: what a TPM's counter can be bound to. */
uint64_t bwl_memory_seq(const struct bwl_memory *m);
/* The wall clock, or the newest signed timestamp where that is later. */
int64_t bwl_memory_now(const struct bwl_memory *m, int64_t wall_s);
/* When the newest signed timestamp was issued; 0: there was none. */
int64_t bwl_memory_newest(const struct bwl_memory *m);
/*
 * The newest of them that lacked nothing (closing.h); 0: there was none. What is above the floor
 * needs one that is younger than `offline_for`.
 */
int64_t bwl_memory_whole(const struct bwl_memory *m);
void bwl_memory_set_whole(struct bwl_memory *m); /* the newest is that */

/* When the newest revocation or expulsion was issued; 0: there was none. */
int64_t bwl_memory_closed(const struct bwl_memory *m);

struct bwl_digest {
	uint8_t b[32]; /* SHA-256 of a payload */
};
struct bwl_memory_item {
	enum bwl_signed_type type;
	char name[BWL_NAME_LEN];
	uint64_t epoch, version, seq; /* seq: the memory's, when it was accepted */
	int64_t issued_s, not_after_s;
	struct bwl_digest digest;
	bool other; /* an enrolment, of another tray */
	/* Of one that closes: what it says (closing.h), and the one before that said the same; 0.
	 */
	struct bwl_digest what, before;
};
/* The newest of each type and name; of those that close, of each that says something else. */
const struct bwl_memory_item *bwl_memory_items(const struct bwl_memory *m, size_t *ret_n);
bool bwl_memory_is_revoked(const struct bwl_memory *m, const uint8_t digest[32]);

/*
 * memory_expelled.c: is that tray expelled (by one of two names that it may have; NULL: none)? From
 * an expulsion on until an enrolment of it that was signed after that, by as many as widen.
 */
bool bwl_memory_is_expelled(const struct bwl_memory *m, const char *name, const char *id);
/* Is this tray expelled, by as many people as its own keys are destroyed for? */
bool bwl_memory_destroys(const struct bwl_memory *m);
/* An expulsion: does it hold, or was its tray enrolled after it was signed? */
bool bwl_memory_expels(const struct bwl_memory *m, const struct bwl_signed *d);
/* One that was taken already: does it come with the signatures that it lacked then? */
bool bwl_memory_seconds(const struct bwl_memory *m, const struct bwl_signed *d);
void bwl_memory_second(struct bwl_memory *m, const struct bwl_signed *d);
/* An enrolment: does it end an expulsion? */
bool bwl_memory_readmits(const struct bwl_memory *m, const struct bwl_signed *d);
/*
 * Policies that hold: [0] the one in force, or to which a rollout goes back, [1] the one that a
 * rollout may put in its place. They are accepted documents; what was signed once, holds on under
 * the next root.
 */
#define BWL_MEMORY_HELD 2
const struct bwl_digest *bwl_memory_held(const struct bwl_memory *m, size_t *ret_n);
void bwl_memory_hold(struct bwl_memory *m, const struct bwl_digest *held, size_t n);
/*
 * Was what a policy that is held asks to be done once made due already? So a rollout that goes back
 * and comes again repeats none of it. Forgotten with the policy.
 */
bool bwl_memory_is_done(const struct bwl_memory *m, const uint8_t digest[32]);
void bwl_memory_set_done(struct bwl_memory *m, const uint8_t digest[32]);
/*
 * What a document that was accepted asks to be done once, and is not done yet: an object that is
 * the caller's to understand, borrowed. So that whoever is killed in between does it later.
 */
const json_t *bwl_memory_due(const struct bwl_memory *m);
void bwl_memory_set_due(struct bwl_memory *m, json_t *due); /* takes the reference */

/*
 * Is this document, which was verified, no older than what was accepted? 0: it is newer; 1: it is
 * the one that was accepted last; -ESTALE ("signed-old"), -EEXIST ("signed-conflict"), -EKEYREVOKED
 * ("signed-revoked").
 */
int bwl_memory_judge(const struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e);
/*
 * Judged, and remembered; bwl_memory_keep() makes it last. -ENOSPC: there is no room for more of
 * its kind (memory_room.c).
 */
int bwl_memory_accept(struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e);
/*
 * The root that comes after this one. Where it lacks an online key of before, what those said is
 * forgotten, the time too: so a stolen one that signed the year 2100 is got over. What was revoked
 * by digest stays so, in an epoch that the root begins, too.
 */
int bwl_memory_next_root(struct bwl_memory *m, const char *bytes, size_t len, struct bwl_err *e);

#endif
