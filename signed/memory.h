/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A DPU's memory of documents, on disk, so that an old one is refused after a reboot, too: the
 * root, and for every type and name the highest version with its content; the revocation epoch; the
 * newest signed time. One writer (bwlimitd).
 */
#ifndef BWL_SIGNED_MEMORY_H
#define BWL_SIGNED_MEMORY_H

#include "signed/root.h"

#define BWL_MEMORY "signed.json" /* in the state directory */

struct bwl_memory;

/* -ENOENT: nothing is enrolled; -EUCLEAN: not what was written. dir: the state directory. */
int bwl_memory_open(const char *dir, struct bwl_memory **ret, struct bwl_err *e);
/* The same from bytes. */
int bwl_memory_parse(const char *bytes, size_t len, struct bwl_memory **ret, struct bwl_err *e);
void bwl_memory_free(struct bwl_memory *m);
BWL_AUTO_DEFINE(bwl_memory_free, struct bwl_memory *)
/*
 * A new memory, from a root whose digest people have compared, and an enrolment signed under it,
 * which names this tray. -EEXIST: something is enrolled already. It is not on disk before
 * bwl_memory_keep().
 */
int bwl_memory_enrol(const char *dir, const char *root, size_t root_len, const char *enrolment,
		     size_t enrolment_len, int64_t wall_s, struct bwl_memory **ret,
		     struct bwl_err *e);
/* The same, and kept, after people compared: sha256 is the root's digest, which they wrote down. */
int bwl_memory_begin(const char *dir, const char *root, const char *enrolment, const char *sha256,
		     int64_t wall_s, struct bwl_memory **ret, struct bwl_err *e);
/* On disk when 0 is returned; after a kill at any point it is the old content or this one. */
int bwl_memory_keep(struct bwl_memory *m, const char *dir, struct bwl_err *e);

const struct bwl_root *bwl_memory_root(const struct bwl_memory *m);
const struct bwl_tray *bwl_memory_tray(const struct bwl_memory *m);
/*
 * Since when it has that label: the signing time of the first enrolment of the unbroken series that
 * names it. A new enrolment cancels nothing that was owed by the label.
 */
int64_t bwl_memory_label_since(const struct bwl_memory *m, size_t i);
/*
 * The key of its audit log, NAME+ID+BASE64, named by its enrolment: others verify this tray's
 * status with it. NULL: none.
 */
const char *bwl_memory_log_key(const struct bwl_memory *m);
uint64_t bwl_memory_epoch(const struct bwl_memory *m);
/* Rises with each remembered document: a TPM's counter can be bound to it. */
uint64_t bwl_memory_seq(const struct bwl_memory *m);
/* The wall clock, or the newest signed timestamp if that is later. */
int64_t bwl_memory_now(const struct bwl_memory *m, int64_t wall_s);
/* When the newest signed timestamp was issued; 0: there was none. */
int64_t bwl_memory_newest(const struct bwl_memory *m);
/*
 * The newest of them for which no named document was missing (closing.h); 0: there was none. What
 * is above the floor needs one that is younger than `offline_for`.
 */
int64_t bwl_memory_whole(const struct bwl_memory *m);
void bwl_memory_set_whole(struct bwl_memory *m); /* the newest is such a one */

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
	bool other; /* an enrolment of another tray */
	/*
	 * For a closing document: its content (closing.h), and the previous one with the same
	 * content; 0.
	 */
	struct bwl_digest what, before;
};
/* The newest of each type and name; for closing documents, of each content, too. */
const struct bwl_memory_item *bwl_memory_items(const struct bwl_memory *m, size_t *ret_n);
bool bwl_memory_is_revoked(const struct bwl_memory *m, const uint8_t digest[32]);

/*
 * memory_expelled.c: is that peer, or the tray of that name, expelled (bwl_identity_is_peer; NULL:
 * none)? It is, from an expulsion until an enrolment of that tray that was signed later, by as many
 * people as a widening needs.
 */
bool bwl_memory_is_expelled(const struct bwl_memory *m, const char *name, const char *id);
/* The name in an expulsion by which that tray is expelled; NULL: it is not. */
const char *bwl_memory_expelled_as(const struct bwl_memory *m, const char *name);
/* Is this tray expelled by enough people for its own keys to be destroyed? */
bool bwl_memory_destroys(const struct bwl_memory *m);
/* For an expulsion: does it hold, or was its tray enrolled after it was signed? */
bool bwl_memory_expels(const struct bwl_memory *m, const struct bwl_signed *d);
/* For a document that was taken already: does it now come with signatures that it lacked? */
bool bwl_memory_seconds(const struct bwl_memory *m, const struct bwl_signed *d);
void bwl_memory_second(struct bwl_memory *m, const struct bwl_signed *d);
/* For an enrolment: does it end an expulsion? */
bool bwl_memory_readmits(const struct bwl_memory *m, const struct bwl_signed *d);
/*
 * Policies that hold: [0] the one in force, or to which a rollout goes back, [1] the one that a
 * rollout may replace it with. They are accepted documents; once signed, they remain valid under
 * the next root.
 */
#define BWL_MEMORY_HELD 2
const struct bwl_digest *bwl_memory_held(const struct bwl_memory *m, size_t *ret_n);
/* The memory's seq when it was accepted; 0: earlier versions did not write it; UINT64_MAX: not
 * held. */
uint64_t bwl_memory_held_seq(const struct bwl_memory *m, const uint8_t digest[32]);
/* Policies that were not held before were accepted just now. */
void bwl_memory_hold(struct bwl_memory *m, const struct bwl_digest *held, size_t n);
/*
 * Were the one-time actions of a held policy already made due? So a rollout that goes back and
 * forth repeats none of them. Forgotten with the policy.
 */
bool bwl_memory_is_done(const struct bwl_memory *m, const uint8_t digest[32]);
void bwl_memory_set_done(struct bwl_memory *m, const uint8_t digest[32]);
/*
 * Pending one-time actions of accepted documents: an object that only the caller interprets,
 * borrowed. If the process is killed in between, they are done later.
 */
const json_t *bwl_memory_due(const struct bwl_memory *m);
void bwl_memory_set_due(struct bwl_memory *m, json_t *due); /* takes the reference */

/*
 * Is this verified document no older than what was accepted? 0: it is newer; 1: it was accepted
 * last; -ESTALE ("signed-old"), -EEXIST ("signed-conflict"), -EKEYREVOKED ("signed-revoked").
 */
int bwl_memory_judge(const struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e);
/*
 * Judges and remembers it; bwl_memory_keep() makes that durable. -ENOSPC: there is no room for more
 * of its kind (memory_room.c).
 */
int bwl_memory_accept(struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e);
/*
 * The root that follows this one. If it lacks an earlier online key, what those keys said is
 * forgotten, including the time: so a stolen one that signed the year 2100 is overcome. What was
 * revoked by digest stays revoked, also in an epoch that the root begins.
 */
int bwl_memory_next_root(struct bwl_memory *m, const char *bytes, size_t len, struct bwl_err *e);

#endif
