/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Management devices: the DPU itself is reached through them. They are named by --management, have
 * a gate of their own, and keep their way to the DPU. If none is named, each device that is up, has
 * an address and is not a port counts as one: so a missing option never cuts off ssh, and verify
 * reports that none was named.
 */
#ifndef BWL_LOADER_MANAGEMENT_H
#define BWL_LOADER_MANAGEMENT_H

#include "attach.h"

/*
 * A device that is registered as management but now named as a port becomes a port. Call before
 * ports are attached.
 */
int bwl_management_yield(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e);
/*
 * Attaches the gates. Failures are reported, and verify finds them: none of them cuts off the
 * device.
 */
int bwl_management_attach(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e);
/* Drops devices that are no longer management, after the rules have been set for those that are. */
int bwl_management_drop(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e);

#endif
