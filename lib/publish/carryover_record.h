/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside lib: which accounts a writer holds full, on record in bwl_held_v1 until they are settled.
 */
#ifndef BWL_LIB_CARRYOVER_RECORD_H
#define BWL_LIB_CARRYOVER_RECORD_H

#include "carryover.h"

/* Onto the record, before the first account is held. */
void bwl_held_begin(struct bwl_carryover *c);
/* Item i is held. */
void bwl_held_full(struct bwl_carryover *c, uint32_t i);
/* Off the record, before it is settled. false: it was not held, or is settled. */
bool bwl_held_take(struct bwl_carryover *c, uint32_t i);
void bwl_held_end(struct bwl_carryover *c);
/*
 * The record as the carry that wrote it. -EPROTO: it is not of this program; then it is gone, and
 * what was held stays spent.
 */
int bwl_held_read(struct bwl_pins *p, struct bwl_carryover *c, struct bwl_err *e);
/* carryover_settle.c. With the lock: what a writer that was killed left on the record. */
int bwl_held_settle(struct bwl_pins *p, struct bwl_err *e);

#endif
