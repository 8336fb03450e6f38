/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Management devices: those by which the DPU itself is reached, named by --management. They have a
 * gate of their own and keep their way to the DPU. Where nobody names one, each device that is up,
 * has an address and is no port counts as one: what is not said never cuts ssh, and verify says
 * that nobody has named it.
 */
#ifndef BWL_LOADER_MANAGEMENT_H
#define BWL_LOADER_MANAGEMENT_H

#include "attach.h"

/* What is registered as management and named as a port now is a port. Before ports are attached. */
int bwl_management_yield(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e);
/* Gates; what fails here is said, and verify finds it: nothing of it cuts the device. */
int bwl_management_attach(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e);
/* Those that are management no longer, after the rules have been set with those that are. */
int bwl_management_drop(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e);

#endif
