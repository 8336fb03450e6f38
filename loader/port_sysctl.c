/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See port_sysctl.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <bwl/sysctl.h>
#include "port_sysctl.h"

#define HOST BWL_PORT_HOST
#define UPLINK BWL_PORT_UPLINK
#define BOTH (BWL_PORT_HOST | BWL_PORT_UPLINK)

#define KEEP_ADDRESSES "ipv6/conf/%s/keep_addr_on_down"

static const struct rule {
	unsigned kinds;
	const char *key;      /* below /proc/sys/net; %s is the device's name */
	int set, least, most; /* what attach writes; what verify accepts */
	const char *why;
} rules[] = {
	/*
	 * Otherwise a device that goes down loses its IPv6 addresses, and with them its neighbours.
	 */
	{ HOST, KEEP_ADDRESSES, 1, 1, 1, "the port loses its addresses when it goes down" },
	/* A host that answers duplicate address detection takes the address away from the DPU. */
	{ HOST, "ipv6/conf/%s/accept_dad", 0, -1, 0,
	  "a host that answers takes the address away from the DPU" },
	{ HOST, "ipv6/conf/%s/dad_transmits", 0, 0, 0,
	  "a host that answers takes the address away from the DPU" },
	{ BOTH, "ipv6/conf/%s/accept_ra", 0, 0, 0,
	  "whoever is on this link could become the DPU's router" },
	{ BOTH, "ipv6/conf/%s/autoconf", 0, 0, 0,
	  "whoever is on this link could give the DPU "
	  "addresses" },
	{ HOST, "ipv6/conf/%s/router_solicitations", 0, 0, 0, "the DPU asks hosts for routers" },
	{ BOTH, "ipv6/conf/%s/accept_redirects", 0, 0, 0,
	  "the DPU's routes could be changed from this link" },
	{ BOTH, "ipv4/conf/%s/accept_redirects", 0, 0, 0,
	  "the DPU's routes could be changed from this link" },
	{ BOTH, "ipv6/conf/%s/proxy_ndp", 0, 0, 0, "the DPU answers for others" },
	{ BOTH, "ipv4/conf/%s/proxy_arp", 0, 0, 0, "the DPU answers for others" },
	{ BOTH, "ipv4/conf/%s/accept_source_route", 0, 0, 0, "a sender chooses the way" },
	/*
	 * 1: answers only for the port's own addresses; but an uplink may have to answer for an
	 * address of lo. 2: asks only in the name of its own address, not of an address that a host
	 * has written into a packet.
	 */
	{ HOST, "ipv4/conf/%s/arp_ignore", 1, 1, 8, "hosts learn the DPU's other addresses" },
	{ BOTH, "ipv4/conf/%s/arp_announce", 2, 2, 2, "ARP reveals the DPU's other addresses" },
	/*
	 * A charged packet that waits for its next hop to be resolved would leave seconds later,
	 * after an expiry or a revocation: 200 kB of them by default. The kernel keeps the newest
	 * packet in any case.
	 */
	{ UPLINK, "ipv4/neigh/%s/unres_qlen_bytes", 1, 0, 1,
	  "packets waiting for their next hop may leave after a revocation" },
	{ UPLINK, "ipv6/neigh/%s/unres_qlen_bytes", 1, 0, 1,
	  "packets waiting for their next hop may leave after a revocation" },
};
#define NRULES (sizeof(rules) / sizeof(rules[0]))

static void path_of(const struct rule *x, const char *name, char *buf, size_t size)
{
	char key[96];

	snprintf(key, sizeof(key), x->key, name);
	snprintf(buf, size, "/proc/sys/net/%s", key);
}

void bwl_port_sysctl_set(const struct bwl_netdev *d, unsigned n, unsigned kind)
{
	char path[128];
	unsigned i, k;
	int r;

	for (i = 0; i < n; i++)
		for (k = 0; k < NRULES; k++) {
			if (!(rules[k].kinds & kind))
				continue;
			path_of(&rules[k], d[i].name, path, sizeof(path));
			r = bwl_sysctl_set(path, rules[k].set);
			if (r && r != -ENOENT) /* there is no IPv6 here */
				bwl_warn("cannot set %s: %s; %s", path, strerror(-r), rules[k].why);
		}
}

/* If this cannot be written (in the guard's unit), attach has done it, or it is not a port yet. */
void bwl_port_sysctl_keep(const struct bwl_netdev *d)
{
	struct rule keep = { .key = KEEP_ADDRESSES };
	char path[128];

	path_of(&keep, d->name, path, sizeof(path));
	bwl_sysctl_set(path, 1);
}

/*
 * The kernel uses the larger of the device's accept_dad and that of `all` (addrconf_dad_begin(),
 * 6.x).
 */
static unsigned check_all_dad(struct bwl_report *r)
{
	if (bwl_sysctl_value("/proc/sys/net/ipv6/conf/all/accept_dad") <= 0)
		return 0;
	bwl_check(r, "port-sysctl", BWL_FAIL, "sysctl -w net.ipv6.conf.all.accept_dad=0",
		  "net.ipv6.conf.all.accept_dad is on: a host that answers takes the address away "
		  "from the DPU");
	return 1;
}

static unsigned check_one(struct bwl_report *r, const struct rule *x, const char *name)
{
	char path[128], next[160];
	int v;

	path_of(x, name, path, sizeof(path));
	v = bwl_sysctl_value(path);
	if ((v >= x->least && v <= x->most) || v == -1) /* -1: no such file, so no IPv6 */
		return 0;
	snprintf(next, sizeof(next), "sysctl -w %s=%d, or bwlimit-load attach",
		 path + strlen("/proc/sys/"), x->set);
	bwl_check(r, "port-sysctl", BWL_FAIL, next, "%.15s: %s is %d: %s", name,
		  path + strlen("/proc/sys/"), v, x->why);
	return 1;
}

void bwl_port_sysctl_verify(struct bwl_report *r, const struct bwl_pins *p)
{
	unsigned i, k, bad = check_all_dad(r);

	for (i = 0; i < BWL_MAX_PORTS; i++)
		for (k = 0; p->dev[i].ifindex && k < NRULES; k++)
			if (rules[k].kinds & p->dev[i].kind)
				bad += check_one(r, &rules[k], p->dev[i].name);
	if (!bad)
		bwl_check(
			r, "port-sysctl", BWL_OK, "",
			"on ports the kernel reveals no addresses, accepts none, and answers only "
			"for itself");
}
