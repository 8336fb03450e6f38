// SPDX-License-Identifier: GPL-2.0-or-later
/* See find_programs.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bwl/text.h>
#include "find_programs.h"

static bool has_ours(const struct bwl_load *l, const struct bwl_netdev *d, unsigned kind)
{
	const struct bwl_attach_point *s;
	unsigned n = bwl_attach_points(kind, &s), i;
	struct bwl_hook_state st;

	for (i = 0; i < n; i++) {
		struct bwl_hook_at at = { l->dir, d, s[i].hook, s[i].prog, 0 };

		if (!bwl_hook_query(&at, &st, NULL) && st.attached)
			return true;
	}
	return false;
}

static unsigned kind_of(const struct bwl_load *l, const struct bwl_attach *a,
			const struct bwl_netdev *d)
{
	int id = l->pins ? bwl_port_at(l->pins, d->ifindex) : -1;
	struct bwl_netdev other;

	if (id < 0 && l->pins) /* a port that was created again; not who else has its name */
		id = bwl_port_id(l->pins, d->name);
	if (id >= 0 && (l->pins->dev[id].ifindex == d->ifindex ||
			bwl_netdev_at(l->pins->dev[id].ifindex, &other, NULL) == -ENODEV))
		return l->pins->dev[id].kind;
	if (bwl_is_listed(a->host, a->nhost, d->name))
		return BWL_PORT_HOST;
	if (l->pins)
		return 0;
	return has_ours(l, d, BWL_PORT_HOST)         ? BWL_PORT_HOST
	       : has_ours(l, d, BWL_PORT_UPLINK)     ? BWL_PORT_UPLINK
	       : has_ours(l, d, BWL_PORT_TUNNEL)     ? BWL_PORT_TUNNEL
	       : has_ours(l, d, BWL_PORT_MANAGEMENT) ? BWL_PORT_MANAGEMENT
						     : 0;
}

/* A port that was renamed has its pins by the name that it was attached by. */
static struct bwl_netdev as_attached(const struct bwl_load *l, const struct bwl_netdev *d)
{
	int id = l->pins ? bwl_port_at(l->pins, d->ifindex) : -1;
	struct bwl_netdev ret = *d;

	if (id >= 0)
		snprintf(ret.name, sizeof(ret.name), "%.15s", l->pins->dev[id].name);
	return ret;
}

int bwl_scan_ports(const struct bwl_load *l, const struct bwl_attach *a, struct bwl_found *ret,
		   unsigned *ret_n, struct bwl_err *e)
{
	struct bwl_netdev *d;
	unsigned kind;
	size_t n, i;
	int r;

	*ret_n = 0;
	r = bwl_netdev_list(&d, &n, e);
	if (r)
		return r;
	for (i = 0; i < n && *ret_n < BWL_MAX_PORTS; i++) {
		kind = kind_of(l, a, &d[i]);
		if (kind)
			ret[(*ret_n)++] = (struct bwl_found){ as_attached(l, &d[i]), kind };
	}
	free(d);
	return 0;
}

int bwl_scan_strip(const struct bwl_load *l, const struct bwl_found *f, struct bwl_err *e)
{
	const struct bwl_attach_point *s;
	unsigned n = bwl_attach_points(f->kind, &s);
	int r = 0;

	for (; !r && n > 0; n--) {
		struct bwl_hook_at at = { l->dir, &f->dev, s[n - 1].hook, s[n - 1].prog,
					  l->ctl_id };

		r = bwl_hook_detach(&at, e);
	}
	return r;
}

/* Is it pinned in this folder, and not by another instance? */
static bool is_pinned_here(const struct bwl_load *l, const struct bwl_found *f)
{
	const struct bwl_attach_point *s;
	unsigned n = bwl_attach_points(f->kind, &s), i;
	char path[300];

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/links/%s_%s", l->dir, s[i].prog, f->dev.name);
		if (!access(path, F_OK))
			return true;
	}
	return false;
}

int bwl_scan_strays(const struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_load blind = *l;
	struct bwl_found f[BWL_MAX_PORTS];
	unsigned n, i, k;
	bool named;
	int r;

	blind.pins = NULL;
	blind.ctl_id = 0;
	r = bwl_scan_ports(&blind, a, f, &n, e);
	for (i = 0; !r && i < n; i++) {
		named = bwl_is_listed(a->host, a->nhost, f[i].dev.name);
		for (k = 0; k < a->nuplink; k++)
			named |= !strcmp(a->uplink[k], f[i].dev.name);
		for (k = 0; k < a->nmanagement; k++)
			named |= !strcmp(a->management[k], f[i].dev.name);
		if (named || !is_pinned_here(l, &f[i]))
			continue;
		bwl_warn(
			"%s has programs of an earlier attach and is not among the ports given: %s",
			f[i].dev.name,
			f[i].kind == BWL_PORT_HOST ? "set down, programs removed" : "removed");
		if (f[i].kind == BWL_PORT_HOST)
			r = bwl_netdev_set_up(f[i].dev.ifindex, false, e);
		if (!r)
			r = bwl_scan_strip(&blind, &f[i], e);
	}
	return r;
}
