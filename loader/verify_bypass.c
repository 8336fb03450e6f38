// SPDX-License-Identifier: GPL-2.0-or-later
/* verify: ways around the programs that something else on the DPU could open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/card.h>
#include <bwl/sysctl.h>
#include "hook/iif_rules.h"
#include "hook/port_sysctl.h"
#include "role.h"
#include "verify.h"

/* Each alone makes the kernel forward what comes in by the device (force_forwarding: Linux 6.17).
 */
static void check_device(struct bwl_report *r, const char *name)
{
	static const struct {
		const char *family, *key;
	} keys[] = { { "ipv4", "forwarding" },
		     { "ipv6", "forwarding" },
		     { "ipv6", "force_forwarding" } };
	char path[128], next[96];

	for (unsigned k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", keys[k].family, name,
			 keys[k].key);
		if (bwl_sysctl_value(path) <= 0)
			continue;
		snprintf(next, sizeof(next), "sysctl -w net/%s/conf/%s/%s=0", keys[k].family, name,
			 keys[k].key);
		bwl_check(r, "forwarding-device", BWL_FAIL, next,
			  "%s: the kernel forwards %s by itself", name, keys[k].family);
	}
}

static void check_forwarding(struct bwl_report *r, const struct bwl_netdev *d, size_t n)
{
	size_t i;
	int v;

	v = bwl_sysctl_value("/proc/sys/net/ipv4/ip_forward");
	bwl_check(r, "forwarding-ipv4", v ? BWL_FAIL : BWL_OK, "sysctl -w net.ipv4.ip_forward=0",
		  "IPv4 forwarding by the kernel is %s", v ? "on" : "off");
	v = bwl_sysctl_value("/proc/sys/net/ipv6/conf/all/forwarding");
	bwl_check(r, "forwarding-ipv6", v > 0 ? BWL_FAIL : BWL_OK,
		  "sysctl -w net.ipv6.conf.all.forwarding=0", "IPv6 forwarding by the kernel is %s",
		  v > 0 ? "on" : "off");
	check_device(r, "default"); /* devices that appear later */
	for (i = 0; i < n; i++)
		check_device(r, d[i].name);
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
			return p->dev[k].kind != BWL_PORT_MANAGEMENT;
	return false;
}

/* A bond passes all frames to us. A bridge forwards frames by itself, and we would not see them. */
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
	for (k = 0; k < BWL_MAX_PORTS; k++)
		if (p->dev[k].kind == BWL_PORT_MANAGEMENT && !strcmp(p->dev[k].name, d->name) &&
		    !(p->dev[k].flags & BWL_DEV_FOUND))
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
		bwl_check(r, "uncovered-device", BWL_FAIL,
			  "set it down, attach it, or name it with --management DEV",
			  "device %s is up but neither a port nor named as management", d[i].name);
	}
	if (!bad)
		bwl_check(r, "uncovered-device", BWL_OK, "",
			  "every other device is down, or is loopback or management");
}

/*
 * A host function whose switch port has no device here could reach the network through the NIC's
 * own switch, bypassing all programs.
 */
static void check_devlink(struct bwl_report *r, const struct bwl_netdev *d, size_t n)
{
	struct bwl_devlink_port *port;
	struct bwl_err e = { 0 };
	unsigned bad = 0;
	size_t np, i;

	if (bwl_devlink_ports(&port, &np, &e)) {
		bwl_check(r, "devlink-port", BWL_FAIL, "run bwlimit-load verify as root", "%s",
			  e.text);
		return;
	}
	for (i = 0; i < np; i++) {
		/* If it has a device, check_uncovered() has checked it. */
		if (!port[i].function || port[i].inactive || dev_of(d, n, port[i].ifindex))
			continue;
		bad++;
		bwl_check(r, "devlink-port", BWL_FAIL,
			  "move its representor here, or remove the function: devlink port show",
			  "devlink port %s is active but has no device in this namespace",
			  port[i].name);
	}
	free(port);
	if (np && !bad)
		bwl_check(r, "devlink-port", BWL_OK, "",
			  "every function's devlink port has a device here");
}

/* Names may have been swapped before the first attach; this is what the card itself says. */
static void check_roles(struct bwl_report *r, const struct bwl_pins *p, const struct bwl_netdev *d,
			size_t n)
{
	struct bwl_devlink_port *port;
	struct bwl_err e;
	size_t np, i;
	int id;

	if (bwl_devlink_ports(&port, &np, NULL))
		return; /* check_devlink() says so */
	for (i = 0; i < n; i++) {
		id = bwl_port_at(p, d[i].ifindex);
		e = (struct bwl_err){ 0 };
		if (id >= 0 && p->dev[id].kind != BWL_PORT_TUNNEL &&
		    bwl_role_check(port, np, d, n, &d[i], p->dev[id].kind, &e))
			bwl_check(r, "port-role", BWL_FAIL, e.hint, "%s", e.text);
	}
	free(port);
}

static void say_failed(void *arg, const char *what)
{
	bwl_check(arg, "route-lock", BWL_FAIL,
		  "bwlimit-load attach repairs the rules; to see them: ip rule; ip -6 rule", "%s",
		  what);
}

/* The second lock, which needs no program, no process and no mark. */
static void check_lock(struct bwl_report *r, const struct bwl_pins *p)
{
	struct bwl_err e = { 0 };
	struct bwl_lock w;
	int n;

	bwl_lock_want(p, &w);
	n = bwl_lock_look(&w, say_failed, r, &e);
	if (n < 0)
		bwl_check(r, "route-lock", BWL_FAIL, "run bwlimit-load verify as root", "%s",
			  e.text);
	if (!bwl_lock_was_set(p))
		bwl_check(r, "route-lock", BWL_FAIL, "bwlimit-load attach",
			  "no rule closes devices that appear later");
	else if (!n)
		bwl_check(
			r, "route-lock", BWL_OK, "",
			"only ports and management lead to the DPU; replies to what ports sent are dropped (ip rule, fwmark_reflect)");
}

static void check_awaited(struct bwl_report *r, const struct bwl_pins *p,
			  const struct bwl_netdev *d, size_t n)
{
	unsigned i;
	size_t k;

	for (i = 0; i < BWL_MAX_PORTS; i++) {
		if (p->dev[i].ifindex || p->dev[i].kind != BWL_PORT_MANAGEMENT)
			continue;
		for (k = 0; k < n && strcmp(d[k].name, p->dev[i].name); k++)
			;
		bwl_check(r, "management-gate", k < n ? BWL_FAIL : BWL_WARN, "bwlimit-load attach",
			  "management device %s %s", p->dev[i].name,
			  k < n ? "appeared after attach: it has no gate" : "does not exist");
	}
}

static void say_sysctl(void *arg, const char *what, const char *todo)
{
	bwl_check(arg, "port-sysctl", BWL_FAIL, todo, "%s", what);
}

void bwl_verify_around(struct bwl_report *r, struct bwl_pins *p, const struct bwl_attach *a,
		       const struct bwl_netdev *d, size_t n)
{
	check_uncovered(r, p, a, d, n);
	check_devlink(r, d, n);
	check_roles(r, p, d, n);
	check_forwarding(r, d, n);
	check_lock(r, p);
	check_awaited(r, p, d, n);
	if (!bwl_port_sysctl_look(p, say_sysctl, r))
		bwl_check(
			r, "port-sysctl", BWL_OK, "",
			"on ports the kernel reveals no addresses, accepts none, and answers only for itself");
}
