/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard: a device that appears later is set down until it is attached or named. */
#ifndef BWL_LOADER_GUARD_H
#define BWL_LOADER_GUARD_H

#include "attach.h"

/* Runs until it is told to stop; what is there when it starts is looked at too. */
int bwl_guard(struct bwl_attach *a, struct bwl_err *e);

#endif
