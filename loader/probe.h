/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe: what this kernel, these devices and their card offer, found by using it or by querying. */
#ifndef BWL_LOADER_PROBE_H
#define BWL_LOADER_PROBE_H

#include "attach.h"

/* Devices: those of --host and --uplink; otherwise a veth pair in a separate namespace. */
int bwl_probe(struct bwl_attach *a, struct bwl_err *e);
/* Does a departure time survive a redirect (mode shape)? */
bool bwl_kernel_keeps_times(void);

#endif
