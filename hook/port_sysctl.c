// SPDX-License-Identifier: GPL-2.0-or-later
/* See port_sysctl.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <bwl/err.h>
#include <bwl/sysctl.h>
#include "port_programs.h"
#include "port_sysctl.h"

#define HOST BWL_PORT_HOST
#define UPLINK BWL_PORT_UPLINK
#define BOTH (BWL_PORT_HOST | BWL_PORT_UPLINK)
#define TUNNEL BWL_PORT_TUNNEL
#define ALL BWL_SYSCTL_ALL

#define KEEP_ADDRESSES "ipv6/conf/%s/keep_addr_on_down"
#define VALUE_MIN (-1000000) /* -1 is also what a missing file reads as */

/*
 * %s is the device's name, or "all". The kernel (6.x, IN_DEV_*CONF in inetdevice.h) combines the
 * two by or, and, or the larger: a key has a row of ALL where `all` alone could undo the port's.
 *
 * Not here, because no promise depends on them: rp_filter (the programs check sources),
 * send_redirects, mc_forwarding and secure_redirects (the kernel forwards nothing), disable_ipv6
 * (it only closes), ip_nonlocal_bind (what the DPU sends needs a grant of `self`), bpf_jit_* and
 * unprivileged_bpf_disabled (pins have their own rights), icmp_* (answers carry the mark).
 */
static const struct rule {
	unsigned kinds;
	const char *key;      /* below /proc/sys/net */
	int set, least, most; /* what attach writes; what verify accepts */
	int also;             /* another value that it accepts, or 0 */
	const char *why;
} rules[] = {
	/*
	 * Otherwise a device that goes down loses its IPv6 addresses, and with them its neighbours.
	 */
	{ HOST, KEEP_ADDRESSES, 1, 1, 1, 0, "the port loses its addresses when it goes down" },
	/* A host that answers duplicate address detection takes the address away from the DPU. */
	{ HOST | ALL, "ipv6/conf/%s/accept_dad", 0, VALUE_MIN, 0, 0,
	  "a host that answers takes the address away from the DPU" },
	{ HOST, "ipv6/conf/%s/dad_transmits", 0, 0, 0, 0,
	  "a host that answers takes the address away from the DPU" },
	{ BOTH, "ipv6/conf/%s/accept_ra", 0, 0, 0, 0,
	  "whoever is on this link could become the DPU's router" },
	{ BOTH, "ipv6/conf/%s/autoconf", 0, 0, 0, 0,
	  "whoever is on this link could give the DPU addresses" },
	{ HOST, "ipv6/conf/%s/router_solicitations", 0, 0, 0, 0, "the DPU asks hosts for routers" },
	{ BOTH, "ipv6/conf/%s/accept_redirects", 0, 0, 0, 0,
	  "the DPU's routes could be changed from this link" },
	{ BOTH | ALL, "ipv4/conf/%s/accept_redirects", 0, 0, 0, 0,
	  "the DPU's routes could be changed from this link" },
	{ BOTH | ALL, "ipv6/conf/%s/proxy_ndp", 0, 0, 0, 0, "the DPU answers for others" },
	{ BOTH | ALL, "ipv4/conf/%s/proxy_arp", 0, 0, 0, 0, "the DPU answers for others" },
	{ BOTH, "ipv4/conf/%s/proxy_arp_pvlan", 0, 0, 0, 0, "the DPU answers for others" },
	{ BOTH, "ipv4/conf/%s/accept_source_route", 0, 0, 0, 0, "a sender chooses the way" },
	{ BOTH, "ipv6/conf/%s/accept_source_route", 0, VALUE_MIN, 0, 0,
	  "a sender chooses the way" },
	{ BOTH, "ipv6/conf/%s/seg6_enabled", 0, 0, 0, 0, "a sender chooses the way" },
	{ BOTH, "ipv6/conf/%s/rpl_seg_enabled", 0, 0, 0, 0, "a sender chooses the way" },
	{ BOTH, "mpls/conf/%s/input", 0, 0, 0, 0, "a sender chooses the way" },
	{ BOTH | TUNNEL, "ipv4/conf/%s/forwarding", 0, 0, 0, 0, "the kernel forwards by itself" },
	{ BOTH | TUNNEL, "ipv6/conf/%s/forwarding", 0, 0, 0, 0, "the kernel forwards by itself" },
	/* Linux 6.17; it needs no forwarding of `all`. */
	{ BOTH | TUNNEL, "ipv6/conf/%s/force_forwarding", 0, 0, 0, 0,
	  "the kernel forwards by itself" },
	{ BOTH | ALL, "ipv4/conf/%s/accept_local", 0, 0, 0, 0,
	  "a sender may take the DPU's own address" },
	/* Not that of `all`, which kube-proxy sets: the rules by input device hold there. */
	{ BOTH, "ipv4/conf/%s/route_localnet", 0, 0, 0, 0,
	  "a sender reaches what listens on 127.0.0.1" },
	/* Then the look-up of a sender's way has the mark of the program, which leads nowhere. */
	{ BOTH | ALL, "ipv4/conf/%s/src_valid_mark", 0, 0, 0, 0,
	  "with rp_filter the kernel drops what the programs let up: ARP, IKE, ESP" },
	/*
	 * 1: answers only for the port's own addresses; but an uplink may have to answer for an
	 * address of lo. 3 to 7 are weaker than 1, 8 answers nothing. 2 of arp_announce: asks only
	 * in the name of its own address, not of an address that a host has written into a packet.
	 */
	{ HOST, "ipv4/conf/%s/arp_ignore", 1, 1, 2, 8, "hosts learn the DPU's other addresses" },
	{ ALL, "ipv4/conf/%s/arp_ignore", 0, 0, 2, 8, "hosts learn the DPU's other addresses" },
	{ BOTH, "ipv4/conf/%s/arp_announce", 2, 2, 2, 0, "ARP reveals the DPU's other addresses" },
	{ BOTH | ALL, "ipv4/conf/%s/arp_accept", 0, 0, 0, 0,
	  "ARP that nobody asked for makes neighbours" },
	/*
	 * A charged packet that waits for its next hop to be resolved would leave seconds later,
	 * after an expiry or a revocation: 200 kB of them by default. The kernel keeps the newest
	 * packet in any case.
	 */
	{ UPLINK, "ipv4/neigh/%s/unres_qlen_bytes", 1, 0, 1, 0,
	  "packets waiting for their next hop may leave after a revocation" },
	{ UPLINK, "ipv6/neigh/%s/unres_qlen_bytes", 1, 0, 1, 0,
	  "packets waiting for their next hop may leave after a revocation" },
	/* Off, up to 100 packets wait for an SA that is gone. */
	{ ALL, "core/xfrm_larval_drop", 1, 1, 1, 0,
	  "packets waiting for an SA may leave after a revocation" },
	{ UPLINK | TUNNEL | ALL, "ipv4/conf/%s/disable_xfrm", 0, 0, 0, 0,
	  "encrypted peers can send nothing" },
	{ UPLINK | TUNNEL | ALL, "ipv4/conf/%s/disable_policy", 0, 0, 0, 0,
	  "the kernel does not check what came decrypted" },
	{ UPLINK | TUNNEL | ALL, "ipv6/conf/%s/disable_policy", 0, 0, 0, 0,
	  "the kernel does not check what came decrypted" },
};
#define NRULES (sizeof(rules) / sizeof(rules[0]))

static void path_of(const struct rule *x, const char *name, char *buf, size_t size)
{
	char key[96];

	snprintf(key, sizeof(key), x->key, name);
	snprintf(buf, size, "/proc/sys/net/%s", key);
}

static void set_of(unsigned kind, const char *name)
{
	char path[128];
	int r;

	for (unsigned k = 0; k < NRULES; k++) {
		if (!(rules[k].kinds & kind))
			continue;
		path_of(&rules[k], name, path, sizeof(path));
		r = bwl_sysctl_set(path, rules[k].set);
		if (r && r != -ENOENT) /* there is no IPv6, or no such key, here */
			bwl_warn("cannot set %s: %s; %s", path, strerror(-r), rules[k].why);
	}
}

void bwl_port_sysctl_set(const struct bwl_netdev *d, unsigned n, unsigned kind)
{
	for (unsigned i = 0; i < n; i++)
		set_of(kind, d[i].name);
}

static bool is_right(const struct rule *x, int v)
{
	return (v >= x->least && v <= x->most) || (x->also && v == x->also) || v == -1;
}

/* `all` belongs to every device: what is right is left as it is. */
void bwl_port_sysctl_set_all(void)
{
	char path[128];
	int r;

	for (unsigned k = 0; k < NRULES; k++) {
		if (!(rules[k].kinds & ALL))
			continue;
		path_of(&rules[k], "all", path, sizeof(path));
		if (is_right(&rules[k], bwl_sysctl_value(path)))
			continue;
		r = bwl_sysctl_set(path, rules[k].set);
		if (r)
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

struct look {
	void (*say)(void *arg, const char *what, const char *todo);
	void *arg;
	bool repair;
	unsigned wrong;
	int r;
};

static void look_at(struct look *l, unsigned kind, const char *name)
{
	char path[128], what[256], todo[160];
	int v, r;

	for (unsigned k = 0; k < NRULES; k++) {
		if (!(rules[k].kinds & kind))
			continue;
		path_of(&rules[k], name, path, sizeof(path));
		v = bwl_sysctl_value(path);
		if (is_right(&rules[k], v))
			continue;
		l->wrong++;
		if (l->repair) {
			r = bwl_sysctl_set(path, rules[k].set);
			l->r = r ? r : l->r;
		}
		if (!l->say)
			continue;
		snprintf(what, sizeof(what), "%.15s: %s is %d: %s", name,
			 path + strlen("/proc/sys/"), v, rules[k].why);
		snprintf(todo, sizeof(todo), "sysctl -w %s=%d, or bwlimit-load attach",
			 path + strlen("/proc/sys/"), rules[k].set);
		l->say(l->arg, what, todo);
	}
}

static void look_at_each(struct look *l, const struct bwl_pins *p)
{
	struct bwl_netdev d;

	look_at(l, ALL, "all");
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++)
		if (p->dev[i].ifindex && !bwl_netdev_at(p->dev[i].ifindex, &d, NULL))
			look_at(l, p->dev[i].kind, d.name);
}

unsigned bwl_port_sysctl_look(const struct bwl_pins *p,
			      void (*say)(void *arg, const char *what, const char *todo), void *arg)
{
	struct look l = { .say = say, .arg = arg };

	look_at_each(&l, p);
	return l.wrong;
}

int bwl_port_sysctl_repair(const struct bwl_pins *p)
{
	struct look l = { .repair = true };

	look_at_each(&l, p);
	return l.r;
}
