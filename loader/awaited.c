// SPDX-License-Identifier: GPL-2.0-or-later
/* See await.h: which ports are awaited, from when, and until when. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <bwl/tables.h>
#include "await.h"

bool bwl_is_awaited(const struct bwl_pins *p, const char *name, unsigned kind)
{
	int id = bwl_port_named(p, name);

	return id >= 0 && !p->dev[id].ifindex && p->dev[id].kind == kind;
}

bool bwl_is_awaited_in(const char *dir, const char *name)
{
	struct bwl_relayout x;
	struct bwl_dev dev = { 0 };
	bool yes = false;
	uint32_t i;

	if (!bwl_relayout_look(bwl_pin_dir(dir), &x, NULL) && x.was.magic && x.whole)
		for (i = 0; !yes && i < BWL_MAX_PORTS; i++)
			yes = bwl_relayout_entry(&x, BWL_PIN_dev, i, &dev, sizeof(dev)) &&
			      !dev.ifindex && dev.kind == BWL_PORT_UPLINK &&
			      !strncmp(dev.name, name, sizeof(dev.name));
	bwl_relayout_end(&x);
	return yes;
}

/* Ids are given in the policy's order, as if all were there: what is read back has it, too. */
static int keep_order(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e)
{
	for (unsigned i = 0; i < a->norder; i++) {
		int id = bwl_port_id_for(l->pins, a->order[i]);
		struct bwl_dev *dev;

		if (id < 0)
			return bwl_fail(e, E2BIG, "%s: all %d ports are taken", a->order[i],
					BWL_MAX_PORTS);
		dev = &l->pins->dev[id];
		if (!dev->name[0])
			snprintf(dev->name, sizeof(dev->name), "%s", a->order[i]);
	}
	return 0;
}

int bwl_await_absent(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_netdev d;
	int r = a->nabsent ? keep_order(l, a, e) : 0;

	for (unsigned i = 0; !r && i < a->nabsent; i++) {
		const struct bwl_absent *x = &a->absent[i];

		bwl_port_await(l->pins, (unsigned)bwl_port_id_for(l->pins, x->name), x->name,
			       x->kind);
		bwl_warn(
			"%s %s is absent: it is awaited, and attached when it appears (bwlimit-load await)",
			x->kind == BWL_PORT_HOST ? "host port" : "uplink", x->name);
		/* Who watches for it may have seen it before this. */
		if (bwl_netdev_get(x->name, &d, NULL))
			continue;
		r = bwl_fail(e, EAGAIN, "%s appeared while the other ports were attached", x->name);
		bwl_hint(e, "bwlimit-load attach");
	}
	return r;
}

/* In each policy that is or may come in force: a later one is made with it. */
void bwl_await_narrow(struct bwl_load *l, const struct bwl_netdev *d)
{
	struct bwl_gen g;

	for (uint32_t slot = 0; slot < BWL_GENERATIONS; slot++) {
		if (bwl_gen_open(l->pins, slot, &g, NULL))
			continue;
		if (!g.base->mtu || g.base->mtu > d->mtu) /* 0: all its uplinks were awaited */
			*(volatile __u32 *)&g.base->mtu = d->mtu;
		bwl_gen_close(&g);
	}
}

int bwl_await_ready(const struct bwl_netdev *d, struct bwl_err *e)
{
	bwl_audit("uplink %s, which was awaited, is attached", d->name);
	return bwl_netdev_set_up(d->ifindex, true, e);
}
