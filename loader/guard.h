/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets devices that are no port, uplink or management down, now or whenever they appear. */
#ifndef BWL_LOADER_GUARD_H
#define BWL_LOADER_GUARD_H

#include "attach.h"

/*
 * Once, host ports included: for a boot, before anything configures the network. With --host
 * only those. Uplinks (--uplink or --policy) and management stay as they are.
 */
int bwl_down(struct bwl_attach *a, struct bwl_err *e);
/* Runs until told to stop. Host ports may be up while they are attached. */
int bwl_guard(struct bwl_attach *a, struct bwl_err *e);

#endif
