/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify: the ways past the programs that something else on the DPU could open. */
#include <linux/devlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verify.h"

static void check_forwarding(struct bwl_report *r, const struct bwl_netdev *d, size_t n)
{
	static const char *const family[] = { "ipv4", "ipv6" };
	char path[128], next[96];
	size_t i;
	int v, k;

	v = bwl_sysctl_value("/proc/sys/net/ipv4/ip_forward");
	bwl_check(r, v ? BWL_FAIL : BWL_OK, "sysctl -w net.ipv4.ip_forward=0",
		  "IPv4 forwarding by the kernel is %s", v ? "on" : "off");
	v = bwl_sysctl_value("/proc/sys/net/ipv6/conf/all/forwarding");
	bwl_check(r, v > 0 ? BWL_FAIL : BWL_OK, "sysctl -w net.ipv6.conf.all.forwarding=0",
		  "IPv6 forwarding by the kernel is %s", v > 0 ? "on" : "off");
	for (i = 0; i < n; i++) {
		for (k = 0; k < 2; k++) {
			snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/forwarding", family[k],
				 d[i].name);
			if (bwl_sysctl_value(path) <= 0)
				continue;
			snprintf(next, sizeof(next), "sysctl -w net/%s/conf/%s/forwarding=0", family[k],
				 d[i].name);
			bwl_check(r, BWL_FAIL, next, "%s forwards %s by itself", d[i].name, family[k]);
		}
	}
}

static const struct bwl_netdev *dev_of(const struct bwl_netdev *d, size_t n, uint32_t ifindex)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (d[i].ifindex == ifindex)
			return &d[i];
	return NULL;
}

static bool is_port(const struct bwl_pins *p, uint32_t ifindex)
{
	unsigned k;

	for (k = 0; k < BWL_MAX_PORTS; k++)
		if (p->dev[k].ifindex == ifindex)
			return true;
	return false;
}

/* A bond hands everything over; a bridge carries frames on by itself, without showing them. */
static bool is_bonded_port(const struct bwl_pins *p, const struct bwl_netdev *d,
			   const struct bwl_netdev *all, size_t n)
{
	const struct bwl_netdev *master = d->master ? dev_of(all, n, d->master) : NULL;

	return master && !strcmp(master->kind, "bond") && is_port(p, master->ifindex);
}

static bool is_covered(const struct bwl_pins *p, const struct bwl_attach *a,
		       const struct bwl_netdev *d, const struct bwl_netdev *all, size_t n)
{
	unsigned k;

	if (d->loopback || !d->up || is_port(p, d->ifindex) || is_bonded_port(p, d, all, n))
		return true;
	for (k = 0; k < a->nmanagement; k++)
		if (!strcmp(a->management[k], d->name))
			return true;
	return false;
}

/* Every other device that is up could carry a host's traffic past the programs. */
static void check_uncovered(struct bwl_report *r, const struct bwl_pins *p,
			    const struct bwl_attach *a, const struct bwl_netdev *d, size_t n)
{
	unsigned bad = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (is_covered(p, a, &d[i], d, n))
			continue;
		bad++;
		bwl_check(r, BWL_FAIL, "set it down, attach it, or say --management DEV",
			  "device %s is up and neither a port nor named as management", d[i].name);
	}
	if (!bad)
		bwl_check(r, BWL_OK, "", "every other device is down, loopback or management");
}

static bool is_function(uint16_t flavour)
{
	return flavour == DEVLINK_PORT_FLAVOUR_PCI_PF || flavour == DEVLINK_PORT_FLAVOUR_PCI_VF ||
	       flavour == DEVLINK_PORT_FLAVOUR_PCI_SF;
}

/*
 * A function of the host whose switch port has no device here could reach the network by the
 * NIC's own switch, past every program.
 */
static void check_devlink(struct bwl_report *r, const struct bwl_netdev *d, size_t n)
{
	struct bwl_devlink_port *port;
	struct bwl_err e = { 0 };
	unsigned bad = 0;
	size_t np, i;

	if (bwl_devlink_ports(&port, &np, &e)) {
		bwl_check(r, BWL_FAIL, "run verify as root", "%s", e.text);
		return;
	}
	for (i = 0; i < np; i++) {
		/* With a device it is one of those that check_uncovered() has looked at. */
		if (!is_function(port[i].flavour) || port[i].inactive ||
		    dev_of(d, n, port[i].ifindex))
			continue;
		bad++;
		bwl_check(r, BWL_FAIL, "move its representor here, or remove the function: devlink port show",
			  "devlink port %s is on and has no device in this namespace", port[i].name);
	}
	free(port);
	if (np && !bad)
		bwl_check(r, BWL_OK, "", "every function's devlink port has a device here");
}

/* attach sets it; a device that was made anew, or somebody, may have set it back. */
static void check_unresolved(struct bwl_report *r, const struct bwl_pins *p)
{
	static const char *const family[] = { "ipv4", "ipv6" };
	char path[128], next[128];
	int i, k, v, bad = 0, seen = 0;

	for (i = 0; i < BWL_MAX_PORTS; i++) {
		for (k = 0; k < 2 && p->dev[i].kind == BWL_PORT_UPLINK && p->dev[i].ifindex; k++) {
			snprintf(path, sizeof(path), "/proc/sys/net/%s/neigh/%.15s/unres_qlen_bytes",
				 family[k], p->dev[i].name);
			v = bwl_sysctl_value(path);
			seen += v >= 0;
			if (v <= 1)
				continue;
			bad++;
			snprintf(next, sizeof(next), "sysctl -w net/%s/neigh/%.15s/unres_qlen_bytes=1",
				 family[k], p->dev[i].name);
			bwl_check(r, BWL_FAIL, next,
				  "%.15s keeps %d bytes of %s that wait for their next hop: they may leave after a revocation",
				  p->dev[i].name, v, family[k]);
		}
	}
	if (seen && !bad)
		bwl_check(r, BWL_OK, "", "uplinks keep one packet at most that waits for its next hop");
}

void bwl_verify_around(struct bwl_report *r, struct bwl_pins *p, const struct bwl_attach *a,
		       const struct bwl_netdev *d, size_t n)
{
	check_uncovered(r, p, a, d, n);
	check_devlink(r, d, n);
	check_forwarding(r, d, n);
	check_unresolved(r, p);
}
