/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes what is no longer needed of ids and accounts. */
#ifndef BWL_FORGET_H
#define BWL_FORGET_H

#include <bwl/generation.h>
#include <bwl/ids.h>

/*
 * Removes names, limits and windows that neither the generation in force nor the one before a trial
 * uses (NULL: there is none) and whose accounts are empty: of peers that left, and of attempts that
 * failed half way. *ret_swept: something was removed, and ids is out of date.
 */
int bwl_sweep(struct bwl_ids *ids, const struct bwl_gen *in_force, const struct bwl_gen *before,
	      bool *ret_swept, struct bwl_err *e);
/*
 * Peers that leave although `grant` has lifted their revocation: it must not come back with them,
 * nor by a trial's way back. from: the policy in force, which is not on trial, so that what only a
 * trial has opened is not in it; NULL: there is none. stays: 0 for who leaves, by id.
 */
void bwl_forget_lifted(struct bwl_pins *p, const struct bwl_gen *from, const uint8_t *stays);

#endif
