/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BWL_LOADER_SPENT_H
#define BWL_LOADER_SPENT_H

#include <bwl/pins.h>

/*
 * Reports which volumes of the policy in force start as spent, and what to type. New maps do not
 * know what was used before (promise 3).
 */
void bwl_spent_say(struct bwl_pins *p);

#endif
