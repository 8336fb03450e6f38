/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Restricts what the kernel may do by itself on a port: set by attach, checked by verify, from one
 * list.
 */
#ifndef BWL_LOADER_PORT_SYSCTL_H
#define BWL_LOADER_PORT_SYSCTL_H

#include <bwl/netdev.h>
#include <bwl/pins.h>
#include "check.h"

/* kind: BWL_PORT_HOST or BWL_PORT_UPLINK. What cannot be set is reported; verify finds it, too. */
void bwl_port_sysctl_set(const struct bwl_netdev *d, unsigned n, unsigned kind);
/* Call before setting down a device that attach may later use as a port. */
void bwl_port_sysctl_keep(const struct bwl_netdev *d);
void bwl_port_sysctl_verify(struct bwl_report *r, const struct bwl_pins *p);

#endif
