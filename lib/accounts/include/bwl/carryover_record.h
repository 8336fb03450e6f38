/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside lib: the accounts that a writer holds full, recorded in bwl_held_v1 until they are
 * settled.
 */
#ifndef BWL_LIB_CARRYOVER_RECORD_H
#define BWL_LIB_CARRYOVER_RECORD_H

#include <bwl/carryover.h>

/* Notes an item of c by its state. */
int bwl_carryover_note(struct bwl_carryover *c, uint32_t i, struct bwl_err *e);
/* Records all items, before the first account is held. */
void bwl_held_begin(struct bwl_carryover *c);
/* Item i is held. */
void bwl_held_full(struct bwl_carryover *c, uint32_t i);
/* Is it still? */
bool bwl_held_is_full(const struct bwl_carryover *c, uint32_t i);
/*
 * Takes item i off the record, before it is settled. false: it was not held, or is already settled.
 */
bool bwl_held_take(struct bwl_carryover *c, uint32_t i);
void bwl_held_end(struct bwl_carryover *c);
/*
 * Reads the record into c. -EPROTO: not written by this program; the record is dropped, and what
 * was held stays spent.
 */
int bwl_held_read(struct bwl_pins *p, struct bwl_carryover *c, struct bwl_err *e);

#endif
