/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which generation is in force, and which one is kept for the end of a trial (struct bwl_sched). */
#ifndef BWL_PUBLISH_IN_FORCE_H
#define BWL_PUBLISH_IN_FORCE_H

#include <bwl/generation.h>
#include <bwl/pfxset.h>

/* Written in full before it is made active; packets read the index once. */
void bwl_put_in_force(struct bwl_pins *p, struct bwl_sched s);
struct bwl_sched *bwl_in_force(struct bwl_pins *p);
/* A slot that is neither of the two; what was ended for all in it stays ended. */
int bwl_drop_unused(struct bwl_pins *p, uint32_t slot, struct bwl_err *e);
/*
 * carryover_settle.c. With the lock: settles what a killed writer left on the record, what is owed
 * where prefixes were given up (given_up.h), and the names that it did not store (renamed.h).
 */
int bwl_held_settle(struct bwl_pins *p, struct bwl_err *e);
/* That, and clears the policy that it left. */
int bwl_settle_unused(struct bwl_pins *p, struct bwl_err *e);

struct bwl_gens {
	struct bwl_gen old, before; /* in force; kept for the end of a trial */
	bool overwritten;           /* the slot of `before` now has the new policy's bodies */
};
int bwl_gens_open(struct bwl_gens *x, struct bwl_pins *p, struct bwl_err *e);
void bwl_gens_close(struct bwl_gens *x);
/*
 * The slot of the policy before is about to be written. Killed from here on: no way back, but what
 * was revoked of it stays closed.
 */
int bwl_forget_before(struct bwl_gens *x, struct bwl_pins *p, struct bwl_err *e);
/* NULL: there is none. */
const struct bwl_gen *bwl_gen_old(const struct bwl_gens *x);
const struct bwl_gen *bwl_gen_before(const struct bwl_gens *x);
/* Closed prefixes; also what was revoked on trial, and only the policy before has. */
int bwl_gens_closed(const struct bwl_gens *x, struct bwl_pins *p, struct bwl_pfxset *ret,
		    struct bwl_err *e);

#endif
