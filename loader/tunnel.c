// SPDX-License-Identifier: GPL-2.0-or-later
/* See tunnel.h. */
#include <stdio.h>
#include <string.h>
#include "find_programs.h"
#include "tunnel.h"

static const char *name_of(const struct bwl_attach *a)
{
	return a->tunnel ? a->tunnel : BWL_TUNNEL_DEV;
}

static bool is_wanted(const struct bwl_attach *a, const struct bwl_policy *pol)
{
	size_t i;

	for (i = 0; !a->tunnel && pol && i < pol->npeers; i++)
		if (pol->peers[i].path != BWL_PATH_CLEAR)
			return true;
	return a->tunnel;
}

int bwl_tunnel_make(struct bwl_load *l, const struct bwl_attach *a, const struct bwl_policy *pol,
		    struct bwl_err *e)
{
	struct bwl_err why = { 0 };

	if (!is_wanted(a, pol))
		return 0;
	l->tunnel = !bwl_netdev_add_xfrm(name_of(a), &l->by_mark, a->tunnel ? e : &why);
	if (l->tunnel)
		return 0;
	if (a->tunnel)
		return e ? -e->code : -EOPNOTSUPP;
	bwl_warn("%s; encrypted peers stay closed (no-sa)", why.text);
	return 0;
}

/* Programs without kfuncs cannot use a device that collects metadata: then it is made again. */
static int fit(const struct bwl_load *l, const char *name, struct bwl_netdev *d, struct bwl_err *e)
{
	bool plain = l->by_mark;
	int r = bwl_netdev_add_xfrm(name, &plain, e);

	if (!r)
		r = bwl_netdev_get(name, d, e);
	if (!r && plain != l->by_mark) {
		r = bwl_netdev_del(d->ifindex, e);
		plain = l->by_mark;
		if (!r)
			r = bwl_netdev_add_xfrm(name, &plain, e);
		if (!r)
			r = bwl_netdev_get(name, d, e);
	}
	return r;
}

int bwl_tunnel_attach(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e)
{
	const char *name = name_of(a);
	struct bwl_netdev d;
	int r, i;

	for (i = 0; !a->tunnel && i < BWL_MAX_PORTS; i++)
		if (l->pins->dev[i].ifindex && l->pins->dev[i].kind == BWL_PORT_TUNNEL)
			name = l->pins->dev[i].name;
	r = fit(l, name, &d, e);
	if (!r)
		r = bwl_attach_port(l, a, &d, BWL_PORT_TUNNEL, e);
	if (!r)
		r = bwl_netdev_set_up(d.ifindex, true, e);
	if (!r)
		r = bwl_netdev_route_all(&d, BWL_TUNNEL_TABLE, e);
	if (!r)
		l->pins->ctl->tunnel = d.ifindex;
	return r;
}

int bwl_tunnel_remove(struct bwl_load *l, const struct bwl_netdev *d, struct bwl_err *e)
{
	struct bwl_found f = { *d, BWL_PORT_TUNNEL };
	int r = bwl_scan_strip(l, &f, e);

	if (r)
		return r;
	return bwl_netdev_del(d->ifindex, e);
}
