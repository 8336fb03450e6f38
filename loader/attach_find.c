// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * attach: the devices behind the names. Refused before anything is touched: names that do not fit
 * the card's own report of its ports, or that have moved to other devices since the last attach.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "attach.h"
#include "role.h"

struct find {
	struct bwl_attach *a;
	struct bwl_pins *p; /* NULL: nothing is attached */
	struct bwl_netdev *dev;
	struct bwl_devlink_port *port;
	size_t ndev, nport;
};

static const struct bwl_netdev *called(const struct find *f, const char *name)
{
	for (size_t i = 0; i < f->ndev; i++)
		if (!strcmp(f->dev[i].name, name))
			return &f->dev[i];
	return NULL;
}

static const struct bwl_netdev *at(const struct find *f, uint32_t ifindex)
{
	for (size_t i = 0; i < f->ndev; i++)
		if (f->dev[i].ifindex == ifindex)
			return &f->dev[i];
	return NULL;
}

static int moved(const char *now, const char *was, struct bwl_err *e)
{
	bwl_fail(e, EEXIST, "%s is the device that is attached as port %s", now, was);
	return bwl_hint(e, "ip link set %s name %s; or bwlimit-load detach, if it has to change",
			now, was);
}

/* A port is followed by its device: a name that another device has now would bring its limits
 * along. */
static int check_same(const struct find *f, const char *name, const struct bwl_netdev *d,
		      struct bwl_err *e)
{
	const struct bwl_netdev *was;
	int id;

	id = f->p && d ? bwl_port_at(f->p, d->ifindex) : -1;
	if (id >= 0 && strcmp(f->p->dev[id].name, name))
		return moved(name, f->p->dev[id].name, e);
	id = f->p ? bwl_port_id(f->p, name) : -1;
	was = id >= 0 ? at(f, f->p->dev[id].ifindex) : NULL;
	return was && strcmp(was->name, name) ? moved(was->name, name, e) : 0;
}

static int find_one(const struct find *f, const char *name, unsigned kind, struct bwl_netdev *ret,
		    struct bwl_err *e)
{
	const struct bwl_netdev *d = called(f, name);
	int r = check_same(f, name, d, e);

	if (r)
		return r;
	if (!d)
		return bwl_netdev_get(name, ret, e);
	*ret = *d;
	return bwl_role_check(f->port, f->nport, f->dev, f->ndev, d, kind, e);
}

/* What the command line names has to be there; what only the policy names may come later. */
static int find_kind(const struct find *f, unsigned kind, struct bwl_netdev *ret, struct bwl_err *e)
{
	struct bwl_attach *a = f->a;
	const char **name = kind == BWL_PORT_HOST ? a->host : a->uplink;
	unsigned *n = kind == BWL_PORT_HOST ? &a->nhost : &a->nuplink, i, there = 0;
	bool named = kind == BWL_PORT_HOST ? a->named_host : a->named_uplink;
	int r = 0;

	for (i = 0; !r && i < *n; i++) {
		a->order[a->norder++] = name[i];
		r = find_one(f, name[i], kind, &ret[there], e);
		if (!r) {
			name[there++] = name[i];
		} else if (r == -ENODEV && !named && !called(f, name[i])) {
			a->absent[a->nabsent++] = (struct bwl_absent){ name[i], kind };
			*e = (struct bwl_err){ 0 };
			r = 0;
		}
	}
	*n = there;
	return r;
}

static int find_all(const struct find *f, struct bwl_netdev *host, struct bwl_netdev *up,
		    struct bwl_err *e)
{
	const struct bwl_attach *a = f->a;
	const struct bwl_netdev *d;
	unsigned i;
	int r = find_kind(f, BWL_PORT_UPLINK, up, e);

	if (!r && !a->nuplink && !a->named_uplink) {
		bwl_fail(e, ENODEV, "no uplink of the policy is there: %s is absent",
			 a->absent[0].name);
		return bwl_hint(
			e,
			"ip link show lists the devices; with one of its uplinks: bwlimit-load attach");
	}
	if (!r)
		r = find_kind(f, BWL_PORT_HOST, host, e);
	for (i = 0; !r && i < a->nmanagement; i++) {
		d = called(f, a->management[i]);
		if (d)
			r = bwl_role_check(f->port, f->nport, f->dev, f->ndev, d,
					   BWL_PORT_MANAGEMENT, e);
	}
	return r;
}

int bwl_attach_find(struct bwl_attach *a, struct bwl_netdev *host, struct bwl_netdev *up,
		    struct bwl_err *e)
{
	struct find f = { .a = a };
	int r = bwl_netdev_list(&f.dev, &f.ndev, e);

	if (!r)
		r = bwl_devlink_ports(&f.port, &f.nport, e);
	if (!r) {
		bwl_pins_open(a->dir, false, &f.p, NULL);
		r = find_all(&f, host, up, e);
	}
	bwl_pins_close(f.p);
	free(f.port);
	free(f.dev);
	return r;
}
