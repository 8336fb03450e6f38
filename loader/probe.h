/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe: what this kernel, these devices and their card offer, found by using it or by asking. */
#ifndef BWL_LOADER_PROBE_H
#define BWL_LOADER_PROBE_H

#include "attach.h"

/* Devices: those of --host and --uplink, else a veth pair in a namespace of its own. */
int bwl_probe(struct bwl_attach *a, struct bwl_err *e);
/* Does a departure time outlive a redirect (mode shape)? */
bool bwl_kernel_keeps_times(void);

#endif
