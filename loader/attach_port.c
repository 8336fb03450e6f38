// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One port: attaches its programs, then makes the port known to them; and checks whether all are
 * attached.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <bwl/tables.h>
#include "bwlimit.skel.h"
#include "attach.h"
#include "await.h"
#include "hook/libxdp.h"
#include "hook/iif_rules.h"
#include "fallback.h"
#include "probe.h"

static int may_register(const struct bwl_pins *p, const struct bwl_netdev *d, unsigned kind,
			struct bwl_err *e)
{
	int id = bwl_port_id_for(p, d->name);

	if (id < 0)
		return bwl_fail(e, E2BIG, "%s: all %d ports are taken", d->name, BWL_MAX_PORTS);
	if (d->ifindex >= BWL_MAX_IFINDEX)
		return bwl_fail(e, ERANGE, "%s: interface index %u is above %d", d->name,
				d->ifindex, BWL_MAX_IFINDEX - 1);
	if (p->dev[id].ifindex && p->dev[id].kind != kind) {
		bwl_fail(e, EEXIST, "%s is already attached, as %s", d->name,
			 bwl_port_kind(p->dev[id].kind));
		return bwl_hint(e, "bwlimit-load detach, then attach");
	}
	return 0;
}

static __u8 pacing(const struct bwl_netdev *d)
{
	bool yes = false;

	if (!bwl_kernel_keeps_times())
		return BWL_DEV_UNTIMED;
	bwl_netdev_is_paced(d->ifindex, &yes, NULL);
	return yes ? BWL_DEV_FQ : 0;
}

/* From here on the programs know the port. Before, they drop everything on it. */
void bwl_attach_register(const struct bwl_load *l, const struct bwl_netdev *d, unsigned kind)
{
	struct bwl_pins *p = l->pins;
	uint32_t id = (uint32_t)bwl_port_id_for(p, d->name);
	struct bwl_dev *dev = &p->dev[id];

	if (dev->ifindex && dev->ifindex != d->ifindex && p->ifport[dev->ifindex].v == id + 1)
		p->ifport[dev->ifindex].v = 0; /* the device was recreated */
	snprintf(dev->name, sizeof(dev->name), "%s", d->name);
	dev->mtu = d->mtu;
	dev->kind = (uint8_t)kind;
	memcpy(dev->mac, d->mac, 6);
	dev->flags = (__u8)((dev->ifindex ? dev->flags & (BWL_DEV_LOCKED | BWL_DEV_DOINGS) : 0) |
			    (kind == BWL_PORT_UPLINK                 ? pacing(d)
			     : kind == BWL_PORT_TUNNEL && l->by_mark ? BWL_DEV_PLAIN
								     : 0));
	dev->ifindex = d->ifindex;
	p->ifport[d->ifindex].v = id + 1;
}

static int generic_prog(void *arg, const char *prog, struct bwl_err *e)
{
	return bwl_load_generic(arg, prog, e);
}

void bwl_attach_say_shut(const char *dir, const struct bwl_netdev *d, unsigned n)
{
	struct bwl_pins *p;
	unsigned i;
	int at;

	if (bwl_pins_open(dir, true, &p, NULL))
		return;
	for (i = 0; i < n; i++) {
		at = bwl_port_at(p, d[i].ifindex);
		if (at >= 0 && p->dev[at].kind == BWL_PORT_HOST)
			bwl_port_shuts(p, (unsigned)at);
	}
	bwl_pins_close(p);
}

void bwl_attach_say_opened(struct bwl_pins *p, const struct bwl_netdev *d, unsigned n)
{
	unsigned i;
	int at;

	for (i = 0; i < n; i++) {
		at = bwl_port_at(p, d[i].ifindex);
		if (at >= 0)
			bwl_port_opened(p, (unsigned)at);
	}
}

/* libxdp loads the copy, so each mode needs its own. */
static int by_libxdp(const struct bwl_hook_at *at, void *arg, char *why, size_t size,
		     struct bwl_err *e)
{
	struct bwlimit *copy;
	int native, r = -EIO;

	for (native = 1; r && native >= 0; native--) {
		copy = bwl_load_xdp_copy(arg, at->prog, native, e);
		if (!copy)
			return -EIO;
		copy->rodata->bwl_shared_xdp = true;
		r = bwl_libxdp_attach(at, copy->obj, native, why, size, e);
		bwlimit__destroy(copy);
	}
	return r;
}

int bwl_attach_port(struct bwl_load *l, const struct bwl_attach *a, const struct bwl_netdev *d,
		    unsigned kind, struct bwl_err *e)
{
	struct bwl_hook_want w = {
		.tc = a->tc, .xdp = a->xdp, .generic = generic_prog, .libxdp = by_libxdp, .arg = l
	};
	const struct bwl_attach_point *s;
	unsigned n = bwl_attach_points(kind, &s), i;
	char why[BWL_WHY_LEN];
	bool bonded;
	bool awaited = kind == BWL_PORT_UPLINK && bwl_is_awaited(l->pins, d->name, kind);
	int r;

	/* A bond would run XDP on its members, which the programs do not know. */
	bonded = !strcmp(d->kind, "bond") && a->xdp != BWL_XDP_KEEP && a->xdp != BWL_XDP_GENERIC;
	if (bonded)
		w.xdp = BWL_XDP_NONE;
	r = may_register(l->pins, d, kind, e);
	for (i = 0; !r && i < n; i++) {
		struct bwl_hook_at at = { l->dir, d, s[i].hook, s[i].prog, l->ctl_id };

		w.prog_fd = bwl_load_prog(l->skel, s[i].prog);
		r = bwl_hook_attach(&at, &w, why, e);
		if (!r && bonded && s[i].hook == BWL_HOOK_XDP)
			snprintf(why, sizeof(why), "left out on a bond; TC enforces all of it");
		if (!r && *why)
			bwl_warn("%s: %s: %s", d->name, s[i].prog, why);
		if (!r)
			r = bwl_note_put(&at, why, e);
		r = r > 0 ? 0 : r; /* > 0: replaced in the form it had; why says so */
	}
	if (!r && awaited)
		bwl_await_narrow(l, d);
	if (!r)
		bwl_attach_register(l, d, kind);
	if (!r && awaited)
		r = bwl_await_ready(d, e);
	return r;
}

int bwl_attach_look(struct bwl_load *l, struct bwl_err *e)
{
	struct bwl_netdev d;
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *dev = &l->pins->dev[i];

		if (dev->ifindex && !bwl_port_device(dev, &d, NULL))
			r = bwl_programs_on_port(l->pins, &d, dev->kind, l->ctl_id, e);
	}
	return r ? r : bwl_lock_check(l->pins, e);
}
