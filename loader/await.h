/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ports of the policy that were absent when the others were attached. The maps have them by name
 * and kind, without a device: the programs send nothing there, so an uplink that is up before it is
 * attached carries nothing of a host's, and what a host port sends before is the kernel's, which
 * forwards nothing. They end as awaited when they are attached, when the policy in force no longer
 * names them, and with the maps.
 */
#ifndef BWL_LOADER_AWAIT_H
#define BWL_LOADER_AWAIT_H

#include "attach.h"

/* Is a port of that name and kind awaited, whatever the policy in force says by now? */
bool bwl_is_awaited(const struct bwl_pins *p, const char *name, unsigned kind);
/* The same of uplinks, without open pins: for the guard, which may be of another version. */
bool bwl_is_awaited_in(const char *dir, const char *name);

/* For attach: a->absent are awaited from here on. Fails if one appeared meanwhile. */
int bwl_await_absent(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e);

/* For upgrade: those that were awaited and are there. */
struct bwl_awaited {
	struct bwl_netdev host[BWL_MAX_PORTS];
	unsigned nhost;
};
/* Attaches them; one that cannot be is reported, and stays as it is: down if it is a host port. */
void bwl_await_attach(struct bwl_load *l, const struct bwl_attach *a, struct bwl_awaited *ret);
/*
 * Opens the host ports among them, unless the DPU or any other host port is closed: then `up` opens
 * all.
 */
int bwl_await_open(struct bwl_load *l, const struct bwl_awaited *w, struct bwl_err *e);
/*
 * An uplink that was awaited: packets fit it, before the programs know it (who is killed in between
 * leaves no policy too wide); then it is up.
 */
void bwl_await_narrow(struct bwl_load *l, const struct bwl_netdev *d);
int bwl_await_ready(const struct bwl_netdev *d, struct bwl_err *e);

/* The command: until it is stopped. It looks at news of devices, and at all awaited every 10 s. */
int bwl_await(struct bwl_attach *a, struct bwl_err *e);

#endif
