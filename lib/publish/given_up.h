/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside lib: what is owed for prefixes, and is on no account that counts there (bwl_given_v1). A
 * peer that leaves keeps its account, and bwl_retired_v1 leads to it. A peer that stays, and gives
 * up a prefix, goes on with its account, so the amount of then is noted, once the policy without
 * the prefix is in force: a policy that is refused leaves no note, and what the peer spends
 * elsewhere later is not in it.
 *
 * Who takes a prefix from somebody takes over his account (takeover.h). What he does not count (a
 * limit without a volume, no zone) is noted, until a policy in which he counts it is in force.
 *
 * A full table refuses nothing: what finds no room is added to one note for the whole family. Where
 * bwl_retired_v1 is full, a way back notes what peers that leave have spent, and so does whoever
 * makes room there.
 */
#ifndef BWL_LIB_GIVEN_UP_H
#define BWL_LIB_GIVEN_UP_H

#include <bwl/generation.h>
#include <bwl/policy.h>
#include <bwl/ids.h>

/* Before the switch: the next policy to be in force has yet to be noted. */
void bwl_given_begin(struct bwl_pins *p);
/* After it, when no packet uses was any more. was NULL: no policy was in force;
 * now NULL: none is. */
int bwl_given_note(struct bwl_pins *p, const struct bwl_ids *ids, const struct bwl_gen *was,
		   const struct bwl_gen *now, struct bwl_err *e);
/*
 * Room for n in bwl_retired_v1, as far as there is any to make: of peers that left, and need no
 * place because they are in `now`, then of others, what they owe is noted. Revocations stay: such a
 * prefix is marked closed. No account may be held full meanwhile.
 */
int bwl_given_make_room(struct bwl_pins *p, const struct bwl_gen *was, const struct bwl_gen *now,
			size_t n, struct bwl_err *e);
/* Has a killed writer put the policy in force, or none, that he had yet to note? */
bool bwl_given_is_due(const struct bwl_pins *p);
/* No note is made for what a writer began. false: he began none. */
bool bwl_given_leave(struct bwl_pins *p);
/* Removes notes that no longer count. held: also what those who have the prefixes count there. */
int bwl_given_prune(struct bwl_pins *p, const struct bwl_gen *held, struct bwl_err *e);

/*
 * By peer of pol, what it owes: of new names all, of others what they did not count so far where
 * they were, and else only `zone`, because a prefix that they take uses an account that has long
 * been there. Before ids are assigned.
 */
int bwl_given_owed(struct bwl_pins *p, const struct bwl_policy *pol, const struct bwl_gen *old,
		   struct bwl_given ***ret, struct bwl_err *e);
void bwl_given_free(struct bwl_given **owed, size_t npeers);
uint64_t bwl_owed_bytes(const struct bwl_owed *o);
/* Of a limit of this kind; BWL_X_FREE: the grant. */
uint64_t bwl_given_bytes(const struct bwl_given *g, enum bwl_extra_kind kind, uint8_t class_);

#endif
