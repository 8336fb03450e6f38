/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds our programs when the maps no longer tell where they are. */
#ifndef BWL_LOADER_FIND_PROGRAMS_H
#define BWL_LOADER_FIND_PROGRAMS_H

#include "attach.h"

struct bwl_found {
	struct bwl_netdev dev;
	unsigned kind; /* enum bwl_port_flags */
};

/*
 * The ports of l->pins; without pins every device that has one of our programs by name, and the
 * host ports of the command line. ret has room for BWL_MAX_PORTS.
 */
int bwl_scan_ports(const struct bwl_load *l, const struct bwl_attach *a, struct bwl_found *ret,
		   unsigned *ret_n, struct bwl_err *e);
/*
 * Removes one port's programs, in the reverse order of attaching: those that use the map of
 * l->ctl_id, or, if that is 0, those with our names.
 */
int bwl_scan_strip(const struct bwl_load *l, const struct bwl_found *f, struct bwl_err *e);
/* Strips ports that this attach does not name: their programs use maps that are gone. */
int bwl_scan_strays(const struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e);

#endif
