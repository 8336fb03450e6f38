// SPDX-License-Identifier: GPL-2.0-or-later
/* See role.h. No I/O. */
#include <errno.h>
#include <linux/devlink.h>
#include <string.h>
#include "maps/policy.h"
#include "role.h"

static const char *flavour_text(uint16_t flavour)
{
	switch (flavour) {
	case DEVLINK_PORT_FLAVOUR_PHYSICAL:
		return "the card's physical port";
	case DEVLINK_PORT_FLAVOUR_PCI_PF:
		return "the port of a host's PF";
	case DEVLINK_PORT_FLAVOUR_PCI_VF:
		return "the port of a VF";
	case DEVLINK_PORT_FLAVOUR_PCI_SF:
		return "the port of an SF";
	default:
		return "a port of another kind";
	}
}

static bool fits(const struct bwl_devlink_port *p, unsigned kind)
{
	switch (kind) {
	case BWL_PORT_HOST:
		return p->function;
	case BWL_PORT_UPLINK:
		return p->flavour == DEVLINK_PORT_FLAVOUR_PHYSICAL;
	default:
		return !p->function;
	}
}

static int check_one(const struct bwl_devlink_port *all, size_t nall, const struct bwl_netdev *d,
		     unsigned kind, struct bwl_err *e)
{
	for (size_t i = 0; i < nall; i++) {
		if (all[i].ifindex != d->ifindex || fits(&all[i], kind))
			continue;
		bwl_fail(e, EINVAL, "%s cannot be %s: it is %s (devlink port %s)", d->name,
			 kind == BWL_PORT_HOST     ? "a host port"
			 : kind == BWL_PORT_UPLINK ? "an uplink"
						   : "a management device",
			 flavour_text(all[i].flavour), all[i].name);
		return bwl_hint(e, "names may be swapped: devlink port show");
	}
	return 0;
}

int bwl_role_check(const struct bwl_devlink_port *all, size_t nall, const struct bwl_netdev *dev,
		   size_t ndev, const struct bwl_netdev *d, unsigned kind, struct bwl_err *e)
{
	int r = check_one(all, nall, d, kind, e);

	for (size_t i = 0; !r && !strcmp(d->kind, "bond") && i < ndev; i++)
		if (dev[i].master == d->ifindex)
			r = check_one(all, nall, &dev[i], kind, e);
	return r;
}
