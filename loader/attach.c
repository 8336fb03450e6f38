/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach: host ports down, maps and programs, uplinks (last gate first), host ports' programs,
 * policy, verify, host ports up. Killed anywhere before the last step the host ports are down;
 * after it everything is in place. Running it again repairs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bwl/tables.h>
#include "attach.h"
#include "verify.h"

unsigned bwl_port_slots(unsigned kind, const struct bwl_slot **ret)
{
	static const struct bwl_slot host[] = {
		{ BWL_HOOK_INGRESS, "bwl_tc_host" },
		{ BWL_HOOK_XDP, "bwl_xdp_host" },
	};
	static const struct bwl_slot uplink[] = {
		{ BWL_HOOK_EGRESS, "bwl_tc_gate" },
		{ BWL_HOOK_INGRESS, "bwl_tc_upin" },
	};

	*ret = kind == BWL_PORT_HOST ? host : uplink;
	return 2;
}

/* Port ids stay with the device's name: `from` masks and counters refer to them. */
static int port_id_for(struct bwl_pins *p, const char *name)
{
	int i, found = -1;

	for (i = BWL_MAX_PORTS - 1; i >= 0; i--) {
		if (!strcmp(p->dev[i].name, name))
			return i;
		if (!p->dev[i].name[0])
			found = i;
	}
	return found;
}

static int register_port(struct bwl_pins *p, const struct bwl_netdev *d, unsigned kind,
			 struct bwl_err *e)
{
	int id = port_id_for(p, d->name);
	struct bwl_dev *dev;

	if (id < 0)
		return bwl_fail(e, E2BIG, "%s: all %d ports are taken", d->name, BWL_MAX_PORTS);
	if (d->ifindex >= BWL_MAX_IFINDEX)
		return bwl_fail(e, ERANGE, "%s: interface index %u is above %d", d->name, d->ifindex,
				BWL_MAX_IFINDEX - 1);
	dev = &p->dev[id];
	if (dev->ifindex && dev->ifindex != d->ifindex)
		p->ifport[dev->ifindex].v = 0;	/* the device was made anew */
	snprintf(dev->name, sizeof(dev->name), "%s", d->name);
	dev->mtu = d->mtu;
	dev->kind = (uint8_t)kind;
	memcpy(dev->mac, d->mac, 6);
	dev->ifindex = d->ifindex;
	p->ifport[d->ifindex].v = (uint32_t)id + 1;
	return 0;
}

static int attach_port(struct bwl_load *l, const struct bwl_attach *a, const struct bwl_netdev *d,
		       unsigned kind, struct bwl_err *e)
{
	const struct bwl_slot *s;
	unsigned n = bwl_port_slots(kind, &s), i;
	int r;

	r = register_port(l->pins, d, kind, e);
	for (i = 0; !r && i < n; i++)
		r = bwl_hook_attach(l->dir, d, s[i].hook, bwl_load_prog(l, s[i].prog), s[i].prog,
				    a->tc, a->xdp, e);
	return r;
}

/* The new programs under the folder that other tools look into. */
static int pin_progs(struct bwl_load *l, struct bwl_err *e)
{
	static const char *const names[] = { "bwl_xdp_host", "bwl_tc_host", "bwl_tc_upin", "bwl_tc_gate" };
	char path[300];
	unsigned i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/progs/%s", l->dir, names[i]);
		unlink(path);
		if (bpf_obj_pin(bwl_load_prog(l, names[i]), path))
			return bwl_fail(e, errno, "cannot pin %s: %s", path, strerror(errno));
	}
	return 0;
}

/* Ports of the policy file, where the command line names none. */
static int ports_from_policy(struct bwl_attach *a, const struct bwl_policy *pol)
{
	size_t i;

	for (i = 0; !a->nhost && i < pol->nports; i++)
		a->host[i] = pol->ports[i].name;
	if (!a->nhost)
		a->nhost = (unsigned)pol->nports;
	for (i = 0; !a->nuplink && i < pol->nuplinks; i++)
		a->uplink[i] = pol->uplinks[i];
	if (!a->nuplink)
		a->nuplink = (unsigned)pol->nuplinks;
	return 0;
}

static int load_policy(struct bwl_attach *a, struct bwl_policy **ret, struct bwl_err *e)
{
	int r;

	*ret = NULL;
	if (!a->policy)
		return 0;
	r = bwl_policy_load(a->policy, bwl_now_ns(), time(NULL), ret, e);
	return r ? r : ports_from_policy(a, *ret);
}

static int find_devs(const struct bwl_attach *a, struct bwl_netdev *host, struct bwl_netdev *up,
		     struct bwl_err *e)
{
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < a->nhost; i++)
		r = bwl_netdev_get(a->host[i], &host[i], e);
	for (i = 0; !r && i < a->nuplink; i++)
		r = bwl_netdev_get(a->uplink[i], &up[i], e);
	return r;
}

static int set_all(const struct bwl_netdev *d, unsigned n, bool up, struct bwl_err *e)
{
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < n; i++)
		r = bwl_netdev_set_up(d[i].ifindex, up, e);
	return r;
}

static int attach_all(struct bwl_load *l, struct bwl_attach *a, const struct bwl_policy *pol,
		      struct bwl_netdev *host, struct bwl_netdev *up, struct bwl_err *e)
{
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < a->nuplink; i++)
		r = attach_port(l, a, &up[i], BWL_PORT_UPLINK, e);
	for (i = 0; !r && i < a->nhost; i++)
		r = attach_port(l, a, &host[i], BWL_PORT_HOST, e);
	if (!r)
		r = pin_progs(l, e);
	if (!r && pol)
		r = bwl_publish(l->pins, pol, NULL, NULL, e);
	return r;
}

/* A device that goes down loses its IPv6 addresses otherwise, and with them its neighbours. */
static void keep_addresses(const struct bwl_netdev *d, unsigned n)
{
	char path[128];
	unsigned i;
	FILE *f;

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/keep_addr_on_down", d[i].name);
		f = fopen(path, "we");
		if (!f)
			continue;	/* no IPv6 here */
		fputs("1", f);
		fclose(f);
	}
}

int bwl_attach(struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_netdev host[BWL_MAX_PORTS], up[BWL_MAX_PORTS];
	struct bwl_load l = { .dir_fd = -1 };
	struct bwl_policy *pol = NULL;
	int r;

	r = load_policy(a, &pol, e);
	if (!r && (!a->nhost || !a->nuplink)) {
		r = bwl_fail(e, EINVAL, "at least one host port and one uplink are needed");
		bwl_hint(e, "bwlimit-load attach --host pf0hpf --uplink p0");
	}
	if (!r)
		r = find_devs(a, host, up, e);
	if (!r)
		r = bwl_load_begin(a->dir, &l, e);
	if (!r)
		keep_addresses(host, a->nhost);
	if (!r)
		r = set_all(host, a->nhost, false, e);
	if (!r)
		r = bwl_load_object(&l, &a->dims, a->fresh_volume, a->drill, e);
	if (!r)
		r = attach_all(&l, a, pol, host, up, e);
	if (!r)
		r = bwl_verify_ports(&l, e);
	if (!r && !a->keep_down)
		r = set_all(host, a->nhost, true, e);
	bwl_policy_free(pol);
	bwl_load_end(&l);
	return r;
}

/*
 * Same layout: new programs on the same maps, links replaced one by one in place, under
 * traffic. Old and new programs charge the same state, so nothing is lost in between.
 */
int bwl_upgrade(struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_load l = { .dir_fd = -1 };
	struct bwl_netdev d;
	int r, i;

	r = bwl_load_begin(a->dir, &l, e);
	if (!r)
		r = bwl_load_object(&l, &a->dims, false, false, e);
	if (!r && !l.reused) {
		bwl_fail(e, ENOENT, "nothing is attached in %s: there is nothing to upgrade", l.dir);
		r = bwl_hint(e, "bwlimit-load attach");
		bwl_load_wipe(l.dir, NULL);
	}
	for (i = 0; !r && i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *dev = &l.pins->dev[i];

		if (!dev->ifindex)
			continue;
		if (bwl_netdev_get(dev->name, &d, NULL)) {
			bwl_warn("%s is gone; its entry stays closed", dev->name);
			continue;
		}
		r = attach_port(&l, a, &d, dev->kind, e);
	}
	if (!r)
		r = pin_progs(&l, e);
	if (!r)
		r = bwl_verify_ports(&l, e);
	bwl_load_end(&l);
	return r;
}

/* Host ports go down before the first program goes away; with --open they come up again. */
int bwl_detach(struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_netdev all[BWL_MAX_PORTS], host[BWL_MAX_PORTS];
	struct bwl_load l = { .dir_fd = -1 };
	const struct bwl_slot *s;
	unsigned n = 0, nhost = 0, i, k, kinds[BWL_MAX_PORTS];
	char links[240];
	int r;

	r = bwl_load_begin(a->dir, &l, e);
	if (!r)
		r = bwl_pins_open(a->dir, false, &l.pins, e);
	for (i = 0; !r && i < BWL_MAX_PORTS; i++) {
		if (!l.pins->dev[i].ifindex || bwl_netdev_get(l.pins->dev[i].name, &all[n], NULL))
			continue;
		kinds[n] = l.pins->dev[i].kind;
		if (kinds[n] == BWL_PORT_HOST)
			host[nhost++] = all[n];
		n++;
	}
	if (!r)
		r = set_all(host, nhost, false, e);
	for (i = 0; !r && i < n; i++) {
		unsigned m = bwl_port_slots(kinds[i], &s);

		for (k = m; !r && k > 0; k--)
			r = bwl_hook_detach(l.dir, &all[i], s[k - 1].hook, s[k - 1].prog, e);
	}
	snprintf(links, sizeof(links), "%s", l.dir);
	if (!r)
		r = bwl_load_wipe(links, e);
	if (!r && a->open) {
		bwl_audit("detach --open: %u host ports come up without any limit", nhost);
		r = set_all(host, nhost, true, e);
	}
	bwl_load_end(&l);
	return r;
}
