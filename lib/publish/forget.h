/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside lib: removes what is no longer needed. */
#ifndef BWL_LIB_SWEEP_H
#define BWL_LIB_SWEEP_H

#include <bwl/generation.h>
#include "ids.h"

/*
 * Removes names, limits and windows that neither the generation in force nor the one before a trial
 * uses (NULL: there is none) and whose accounts are empty: of peers that left, and of attempts that
 * failed half way. *ret_swept: something was removed, and ids is out of date.
 */
int bwl_sweep(struct bwl_ids *ids, const struct bwl_gen *in_force, const struct bwl_gen *before,
	      bool *ret_swept, struct bwl_err *e);

#endif
