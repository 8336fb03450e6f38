// SPDX-License-Identifier: GPL-2.0-or-later
/* What must be attached at a port, and a check of it: see port_programs.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/sysctl.h>
#include "port_programs.h"

unsigned bwl_attach_points(unsigned kind, const struct bwl_attach_point **ret)
{
	static const struct bwl_attach_point host[] = {
		{ BWL_HOOK_INGRESS, "bwl_tc_host" },
		{ BWL_HOOK_XDP, "bwl_xdp_host" },
	};
	static const struct bwl_attach_point uplink[] = {
		{ BWL_HOOK_EGRESS, "bwl_tc_gate" },
		{ BWL_HOOK_INGRESS, "bwl_tc_upin" },
		{ BWL_HOOK_XDP, "bwl_xdp_upin" },
	};
	static const struct bwl_attach_point tunnel[] = {
		{ BWL_HOOK_EGRESS, "bwl_tc_tunout" },
		{ BWL_HOOK_INGRESS, "bwl_tc_tunin" },
	};

	static const struct bwl_attach_point management[] = {
		{ BWL_HOOK_EGRESS, "bwl_tc_mgmt" },
	};

	switch (kind) {
	case BWL_PORT_HOST:
		*ret = host;
		return 2;
	case BWL_PORT_UPLINK:
		*ret = uplink;
		return 3;
	case BWL_PORT_MANAGEMENT:
		*ret = management;
		return 1;
	default:
		*ret = tunnel;
		return 2;
	}
}

const char *bwl_port_kind(unsigned kind)
{
	return kind == BWL_PORT_HOST         ? "a host port"
	       : kind == BWL_PORT_UPLINK     ? "an uplink"
	       : kind == BWL_PORT_MANAGEMENT ? "a management device"
					     : "a tunnel device";
}

bool bwl_programs_foreign_xdp(const struct bwl_pins *p, const struct bwl_netdev *d, unsigned kind,
			      uint32_t ctl_id, uint32_t *ret_id)
{
	const char *prog = kind == BWL_PORT_UPLINK ? "bwl_xdp_upin" : "bwl_xdp_host";
	struct bwl_hook_at at = { p->dir, d, BWL_HOOK_XDP, prog, ctl_id };
	struct bwl_hook_state st;

	if (bwl_hook_query(&at, &st, NULL) || !st.foreign_id)
		return false;
	*ret_id = st.foreign_id;
	return true;
}

int bwl_programs_on_port(const struct bwl_pins *p, const struct bwl_netdev *d, unsigned kind,
			 uint32_t ctl_id, struct bwl_err *e)
{
	const struct bwl_attach_point *s;
	unsigned n = bwl_attach_points(kind, &s), k;
	struct bwl_hook_state st;
	uint32_t id;
	int r;

	/* ARP and ND go to the stack: a bridge would forward them. */
	if (d->master && kind != BWL_PORT_MANAGEMENT) {
		bwl_fail(e, EBUSY, "%s belongs to a bridge or bond", d->name);
		return bwl_hint(e, "ip link set %s nomaster", d->name);
	}
	for (k = 0; k < n; k++) {
		struct bwl_hook_at at = { p->dir, d, s[k].hook, s[k].prog, ctl_id };

		if (s[k].hook == BWL_HOOK_XDP)
			continue; /* XDP only drops early; TC enforces */
		r = bwl_hook_query(&at, &st, e);
		if (r)
			return r;
		if (st.attached && st.first)
			continue;
		bwl_fail(e, EEXIST, "%s: %s is %s", d->name, s[k].prog,
			 st.attached ? "behind a foreign program" : "not attached");
		return bwl_hint(e, "remove the foreign program: bpftool net show dev %s", d->name);
	}
	if (kind == BWL_PORT_MANAGEMENT || !bwl_programs_foreign_xdp(p, d, kind, ctl_id, &id))
		return 0;
	bwl_fail(e, EEXIST, "%s: foreign XDP program %u runs before everything", d->name, id);
	return bwl_hint(
		e,
		"remove it: ip link set %s xdp off; beneath libxdp's dispatcher xdp-loader unload %s --id %u",
		d->name, d->name, id);
}

static int look_at_forwarding(struct bwl_err *e)
{
	static const char *const files[] = { "/proc/sys/net/ipv4/ip_forward",
					     "/proc/sys/net/ipv6/conf/all/forwarding" };
	unsigned i;

	for (i = 0; i < 2; i++) {
		if (bwl_sysctl_value(files[i]) <= 0)
			continue;
		bwl_fail(e, EPERM, "the kernel forwards by itself: %s is on", files[i]);
		return bwl_hint(e, "switch it off");
	}
	return 0;
}

static void by_port_name(struct bwl_netdev *d, const struct bwl_dev *dev)
{
	snprintf(d->name, sizeof(d->name), "%.15s", dev->name);
}

int bwl_port_device(const struct bwl_dev *dev, struct bwl_netdev *ret, struct bwl_err *e)
{
	int r = bwl_netdev_at(dev->ifindex, ret, e);

	if (r == -ENODEV)
		return bwl_fail(e, ENODEV, "%.15s is gone", dev->name);
	if (!r)
		by_port_name(ret, dev);
	return r;
}

int bwl_programs_look(const struct bwl_pins *p, uint32_t ctl_id, struct bwl_err *e)
{
	struct bwl_netdev *d;
	size_t n, k;
	uint32_t i;
	int r = bwl_netdev_list(&d, &n, e);

	if (r)
		return r;
	for (i = 0; !r && i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *dev = &p->dev[i];

		for (k = 0; dev->ifindex && !r && k < n; k++) {
			if (d[k].ifindex != dev->ifindex)
				continue; /* a device that is gone lets nothing pass */
			by_port_name(&d[k], dev);
			r = bwl_programs_on_port(p, &d[k], dev->kind, ctl_id, e);
			if (!r && p->ifport[dev->ifindex].v != i + 1)
				r = bwl_fail(e, ENOENT, "the programs do not know port %s",
					     d[k].name);
		}
	}
	free(d);
	return r ? r : look_at_forwarding(e);
}
