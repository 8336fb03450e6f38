/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs that belong on a port, and whether they are attached. Without the skeleton: the
 * agent checks this every 100 ms.
 */
#ifndef BWL_HOOK_PORT_PROGRAMS_H
#define BWL_HOOK_PORT_PROGRAMS_H

#include <bwl/pins.h>
#include "hook.h"

/* The programs of one port, in the order in which they are attached. */
struct bwl_attach_point {
	enum bwl_hook hook;
	const char *prog;
};
/* kind: BWL_PORT_HOST, BWL_PORT_UPLINK, BWL_PORT_TUNNEL or BWL_PORT_MANAGEMENT. */
unsigned bwl_attach_points(unsigned kind, const struct bwl_attach_point **ret);

const char *bwl_port_kind(unsigned kind); /* "a host port" */

/*
 * The device of an attached port, by its interface index: a name may have moved to another device.
 * ret->name is the one it was attached by, which pins and notes have. -ENODEV: it is gone.
 */
int bwl_port_device(const struct bwl_dev *dev, struct bwl_netdev *ret, struct bwl_err *e);

/*
 * Is every existing port protected: its programs attached and first, no foreign XDP, in no bridge,
 * known to the programs, and kernel forwarding off? Reports the first fault.
 */
int bwl_programs_look(const struct bwl_pins *p, uint32_t ctl_id, struct bwl_err *e);
#define BWL_ANY_MAPS 0 /* as ctl_id: programs of any set of maps, by their names */
/* Checks one port. */
int bwl_programs_on_port(const struct bwl_pins *p, const struct bwl_netdev *d, unsigned kind,
			 uint32_t ctl_id, struct bwl_err *e);
/* XDP that is not ours: it sees every packet before TC does and may forward it. */
bool bwl_programs_foreign_xdp(const struct bwl_pins *p, const struct bwl_netdev *d, unsigned kind,
			      uint32_t ctl_id, uint32_t *ret_id);

#endif
