/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel may do by itself on a port, and on all devices together where it uses the larger
 * or the sum of both: set by attach, checked by verify, kept by bwlimitd, from one list.
 */
#ifndef BWL_HOOK_PORT_SYSCTL_H
#define BWL_HOOK_PORT_SYSCTL_H

#include <bwl/netdev.h>
#include <bwl/pins.h>

/* The keys that are no port's own. */
#define BWL_SYSCTL_ALL 0x100U

/*
 * kind: BWL_PORT_HOST, BWL_PORT_UPLINK or BWL_PORT_TUNNEL. What cannot be set is reported; verify
 * finds it, too.
 */
void bwl_port_sysctl_set(const struct bwl_netdev *d, unsigned n, unsigned kind);
void bwl_port_sysctl_set_all(void);
/* Call before setting down a device that attach may later use as a port. */
void bwl_port_sysctl_keep(const struct bwl_netdev *d);
/*
 * Calls say(), which may be NULL, for each difference: what, and the command that corrects it.
 * Returns how many there are.
 */
unsigned bwl_port_sysctl_look(const struct bwl_pins *p,
			      void (*say)(void *arg, const char *what, const char *todo),
			      void *arg);
/* Corrects all differences: 0 or the last -errno. */
int bwl_port_sysctl_repair(const struct bwl_pins *p);

#endif
