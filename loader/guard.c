/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices come down by default; this keeps them so when something else sets them up. It is a
 * second line: nothing a host sends reaches another device anyway while the kernel does not
 * forward and the last gate stands on every uplink.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "guard.h"

static bool allowed(const struct bwl_attach *a, const struct bwl_netdev *d)
{
	struct bwl_pins *p;
	bool ok = false;
	unsigned i;

	if (d->loopback || !d->up)
		return true;
	for (i = 0; i < a->nmanagement; i++)
		ok |= !strcmp(a->management[i], d->name);
	/* Opened anew each time: attach may have made other maps. */
	if (!ok && !bwl_pins_open(a->dir, false, &p, NULL)) {
		for (i = 0; i < BWL_MAX_PORTS; i++)
			ok |= p->dev[i].ifindex == d->ifindex;
		bwl_pins_close(p);
	}
	return ok;
}

static int look(const struct bwl_netdev *d, void *arg)
{
	const struct bwl_attach *a = arg;
	struct bwl_err e = { 0 };

	if (allowed(a, d))
		return 0;
	if (bwl_netdev_set_up(d->ifindex, false, &e))
		bwl_warn("%s is up and not a port: %s", d->name, e.text);
	else
		bwl_audit("%s was up and is not a port: set down", d->name);
	return 0;
}

int bwl_guard(struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_netdev *d;
	size_t n, i;
	int r;

	r = bwl_netdev_list(&d, &n, e);
	if (r)
		return r;
	for (i = 0; i < n; i++)
		look(&d[i], a);
	free(d);
	return bwl_netdev_watch(look, a, e);
}
