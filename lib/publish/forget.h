/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside lib: forgetting what nobody needs to remember. */
#ifndef BWL_LIB_SWEEP_H
#define BWL_LIB_SWEEP_H

#include <bwl/generation.h>
#include "ids.h"

/*
 * Forget names, limits and windows that the generation in force does not use (NULL: none is) and
 * that have nothing on their account: peers that left, and what an attempt that ended half way
 * made. *ret_swept: there was something, and ids is out of date.
 */
int bwl_sweep(struct bwl_ids *ids, const struct bwl_gen *in_force, bool *ret_swept,
	      struct bwl_err *e);

#endif
