/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BWL_LIB_HELD_H
#define BWL_LIB_HELD_H

#include "carry.h"

/* Onto the record, before the first account is held. */
void bwl_held_begin(struct bwl_carry *c);
/* Item i is held. */
void bwl_held_full(struct bwl_carry *c, uint32_t i);
/* Off the record, before it is settled. false: it was not held, or is settled. */
bool bwl_held_take(struct bwl_carry *c, uint32_t i);
void bwl_held_end(struct bwl_carry *c);
/* With the lock: what a writer that was killed left on the record. */
int bwl_held_settle(struct bwl_pins *p, struct bwl_err *e);

#endif
