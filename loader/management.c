// SPDX-License-Identifier: GPL-2.0-or-later
/* See management.h. */
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/text.h>
#include "management.h"
#include "find_programs.h"

static bool is_management(const struct bwl_dev *d)
{
	return d->kind == BWL_PORT_MANAGEMENT && *d->name;
}

/* Link-local addresses alone do not count: every device that is up has them. */
static bool has_address(const struct ifaddrs *all, const char *name)
{
	const struct ifaddrs *x;

	for (x = all; x; x = x->ifa_next) {
		const struct sockaddr_in6 *six = (const void *)x->ifa_addr;

		if (!x->ifa_addr || strcmp(x->ifa_name, name))
			continue;
		if (x->ifa_addr->sa_family == AF_INET ||
		    (x->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)))
			return true;
	}
	return false;
}

static bool is_attached_port(const struct bwl_pins *p, const struct bwl_netdev *d)
{
	int id = bwl_port_named(p, d->name);

	return id >= 0 && p->dev[id].kind != BWL_PORT_MANAGEMENT;
}

/* Without an entry a device would have no rule, and the lock would cut it off. */
static int has_room(const struct bwl_pins *p, const char *name, struct bwl_err *e)
{
	if (bwl_port_id_for(p, name) >= 0)
		return 0;
	return bwl_fail(e, E2BIG, "management device %s: all %d ports are taken", name,
			BWL_MAX_PORTS);
}

/* The rule is there before the device is. */
static void await_device(struct bwl_load *l, const char *name)
{
	struct bwl_dev *d = &l->pins->dev[bwl_port_id_for(l->pins, name)];
	uint32_t id = (uint32_t)(d - l->pins->dev);

	bwl_warn("management device %s does not exist; once it does: bwlimit-load attach", name);
	if (d->ifindex && d->kind != BWL_PORT_MANAGEMENT)
		return;
	if (d->ifindex && l->pins->ifport[d->ifindex].v == id + 1)
		l->pins->ifport[d->ifindex].v = 0;
	d->ifindex = 0;
	snprintf(d->name, sizeof(d->name), "%s", name);
	d->kind = BWL_PORT_MANAGEMENT;
}

static void attach_one(struct bwl_load *l, const struct bwl_attach *a, const struct bwl_netdev *d,
		       bool found)
{
	struct bwl_err e = { 0 };
	int r = bwl_attach_port(l, a, d, BWL_PORT_MANAGEMENT, &e), id;

	if (r)
		bwl_warn("%s: %s; it is left unchanged, without a gate", d->name, e.text);
	if (r && d->ifindex < BWL_MAX_IFINDEX && bwl_port_id_for(l->pins, d->name) >= 0)
		bwl_attach_register(l, d, BWL_PORT_MANAGEMENT);
	id = bwl_port_id_for(l->pins, d->name);
	if (id >= 0 && found)
		l->pins->dev[id].flags |= BWL_DEV_FOUND;
	if (found)
		bwl_warn(
			"%s is up, has an address and is not a port: it counts as management; name management devices by --management DEV",
			d->name);
}

/* Returns how many of the named devices exist, or a negative errno. */
static int attach_named(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_netdev d;
	unsigned i;
	int n = 0, r;

	for (i = 0; i < a->nmanagement; i++) {
		r = has_room(l->pins, a->management[i], e);
		if (r)
			return r;
		if (bwl_netdev_get(a->management[i], &d, NULL)) {
			await_device(l, a->management[i]);
			continue;
		}
		attach_one(l, a, &d, false);
		n++;
	}
	return n;
}

/* None is named this time: the devices named earlier are used. */
static unsigned attach_known(struct bwl_load *l, const struct bwl_attach *a)
{
	struct bwl_netdev d;
	unsigned i, n = 0;

	for (i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *dev = &l->pins->dev[i];

		if (!is_management(dev) || dev->flags & BWL_DEV_FOUND ||
		    bwl_netdev_get(dev->name, &d, NULL))
			continue;
		attach_one(l, a, &d, false);
		n++;
	}
	return n;
}

static int attach_found(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_netdev *d;
	struct ifaddrs *all;
	size_t n, i;
	int r = bwl_netdev_list(&d, &n, e);

	if (r)
		return r;
	if (getifaddrs(&all)) {
		free(d);
		return bwl_fail(e, errno, "cannot read the addresses of the devices: %s",
				strerror(errno));
	}
	for (i = 0; !r && i < n; i++) {
		if (!d[i].up || d[i].loopback || !has_address(all, d[i].name) ||
		    is_attached_port(l->pins, &d[i]) ||
		    bwl_is_listed(a->host, a->nhost, d[i].name) ||
		    bwl_is_listed(a->uplink, a->nuplink, d[i].name))
			continue;
		r = has_room(l->pins, d[i].name, e);
		if (!r)
			attach_one(l, a, &d[i], true);
	}
	freeifaddrs(all);
	free(d);
	return r;
}

int bwl_management_attach(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e)
{
	int n = attach_named(l, a, e);

	if (n < 0)
		return n;
	if (n || (!a->nmanagement && attach_known(l, a)) || a->unattended)
		return 0;
	return attach_found(l, a, e);
}

static int forget(struct bwl_load *l, struct bwl_dev *dev, struct bwl_err *e)
{
	uint32_t id = (uint32_t)(dev - l->pins->dev);
	struct bwl_found f = { .kind = BWL_PORT_MANAGEMENT };
	int r = 0;

	if (dev->ifindex && !bwl_netdev_get(dev->name, &f.dev, NULL))
		r = bwl_scan_strip(l, &f, e);
	if (r)
		return r;
	if (dev->ifindex && l->pins->ifport[dev->ifindex].v == id + 1)
		l->pins->ifport[dev->ifindex].v = 0;
	dev->ifindex = 0; /* its name keeps the id */
	dev->kind = dev->flags = 0;
	return 0;
}

int bwl_management_yield(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e)
{
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < BWL_MAX_PORTS; i++) {
		struct bwl_dev *dev = &l->pins->dev[i];

		if (is_management(dev) && (bwl_is_listed(a->host, a->nhost, dev->name) ||
					   bwl_is_listed(a->uplink, a->nuplink, dev->name)))
			r = forget(l, dev, e);
	}
	return r;
}

int bwl_management_drop(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e)
{
	bool named = false;
	unsigned i;
	int r = 0;

	for (i = 0; i < BWL_MAX_PORTS; i++)
		named |= is_management(&l->pins->dev[i]) && l->pins->dev[i].ifindex &&
			 !(l->pins->dev[i].flags & BWL_DEV_FOUND);
	for (i = 0; !r && named && i < BWL_MAX_PORTS; i++) {
		struct bwl_dev *dev = &l->pins->dev[i];

		if (!is_management(dev) || bwl_is_listed(a->management, a->nmanagement, dev->name))
			continue;
		if (a->nmanagement || dev->flags & BWL_DEV_FOUND)
			r = forget(l, dev, e);
	}
	return r;
}
