/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is a device what it is used as? A name says nothing: whoever makes the names (udev, a person) may
 * have swapped them. Where devlink knows the port its flavour decides: an uplink is a physical
 * port, a host port represents a PF, VF or SF, and a management device no function of a host.
 */
#ifndef BWL_LOADER_ROLE_H
#define BWL_LOADER_ROLE_H

#include <bwl/card.h>
#include <bwl/netdev.h>

/*
 * all: of bwl_devlink_ports(). dev: all devices, for the members of a bond. What devlink does not
 * know is not refused. kind: enum bwl_port_flags.
 */
int bwl_role_check(const struct bwl_devlink_port *all, size_t nall, const struct bwl_netdev *dev,
		   size_t ndev, const struct bwl_netdev *d, unsigned kind, struct bwl_err *e);

#endif
