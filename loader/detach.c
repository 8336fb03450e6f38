// SPDX-License-Identifier: GPL-2.0-or-later
/* upgrade and detach. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bwl/next_hops.h>
#include "attach.h"
#include "await.h"
#include "hidden.h"
#include "hook/iif_rules.h"
#include "hook/port_sysctl.h"
#include "hook/attached.h"
#include "suspend.h"
#include "find_programs.h"
#include "tunnel.h"
#include "bwl/plural.h"

/*
 * With the same layout, or one that only has more maps, new programs run on the same maps, and are
 * replaced one by one, in place and under traffic. Old and new programs charge the same state, so
 * nothing is lost in between. If a map has another shape everything is stopped (reason `upgrade`)
 * until all programs are the new ones: relayout.h. What cannot be taken over is refused before
 * anything is touched. Ports that were awaited and are there now are attached, too.
 */
int bwl_upgrade(struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_load l = { .dir_fd = -1 };
	struct bwl_awaited came = { 0 };
	struct bwl_netdev d;
	int r, i;

	if (a->xdp == BWL_XDP_AUTO)
		a->xdp = BWL_XDP_KEEP;
	r = bwl_load_begin(a->dir, false, &l, e);
	if (!r) {
		l.records = bwl_record_wanted(l.dir, a->record);
		l.measures = bwl_latency_wanted(l.dir, a->latency);
		r = bwl_load_object(&l, NULL, e);
	}
	if (!r)
		r = bwl_record_pin(&l, e);
	for (i = 0; !r && i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *dev = &l.pins->dev[i];

		if (!dev->ifindex)
			continue;
		if (bwl_netdev_at(dev->ifindex, &d, NULL)) {
			bwl_warn("%s is gone; its entry stays closed", dev->name);
			continue;
		}
		bwl_port_sysctl_set(&d, 1, dev->kind);
		bwl_port_device(dev, &d, NULL);
		if (dev->kind != BWL_PORT_MANAGEMENT)
			r = bwl_attach_port(&l, a, &d, dev->kind, e);
	}
	if (!r)
		bwl_await_attach(&l, a, &came);
	if (!r) /* also if the attached maps know no management device */
		r = bwl_attach_lock(&l, a, e);
	if (!r) {
		bwl_port_sysctl_set_all();
		r = bwl_attach_pin_progs(&l, e);
	}
	if (!r)
		r = bwl_record_whole(&l, e);
	if (!r)
		r = bwl_latency_settle(&l, e);
	if (!r)
		r = bwl_suspend_attach(&l, e);
	if (!r)
		r = bwl_load_share(l.pins, e);
	if (!r)
		r = bwl_attach_look(&l, e);
	if (!r)
		r = bwl_load_settle(&l, BWL_RUN, e);
	if (!r)
		r = bwl_await_open(&l, &came, e);
	if (r && l.pins && l.pins->ctl->stop == BWL_UPGRADING)
		bwl_warn(
			"everything stays closed (reason upgrade) until bwlimit-load upgrade succeeds");
	bwl_load_end(&l);
	return r;
}

/*
 * Host ports go down before the first program is removed, and the maps are marked invalid before
 * the first of them is removed. With --open the ports come up again, last.
 */
int bwl_detach(struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_load l = { .dir_fd = -1 };
	struct bwl_found f[BWL_MAX_PORTS];
	unsigned n = 0, i, nhost = 0;
	struct bwl_netdev host[BWL_MAX_PORTS];
	struct bwl_err unread;
	int r;

	r = bwl_load_begin(a->dir, false, &l, e);
	/* `down` may have set the rules. They stay if an attach exists that is only hidden. */
	if (r == -ENOENT && bwl_hidden_look(a->dir, e) && !strcmp(e->id, "nothing-attached")) {
		bwl_lock_open(NULL);
		bwl_attached_forget(a->dir); /* of pins that somebody removed */
	}
	if (r)
		return r;
	if (bwl_pins_open(a->dir, false, &l.pins, &unread))
		bwl_warn("%s; searching for programs by name", unread.text);
	else
		l.ctl_id = bwl_map_id(l.pins->fd[BWL_PIN_ctl]);
	r = bwl_scan_ports(&l, a, f, &n, e);
	for (i = 0; !r && i < n; i++)
		if (f[i].kind == BWL_PORT_HOST)
			host[nhost++] = f[i].dev;
	if (!r) {
		bwl_attach_say_shut(l.dir, host, nhost);
		r = bwl_attach_set(host, nhost, false, e);
	}
	if (!r)
		r = bwl_load_invalidate(&l, e);
	if (!r) /* from here on missing pins are no sign */
		bwl_attached_forget(l.dir);
	for (i = 0; !r && i < n; i++)
		if (f[i].kind == BWL_PORT_HOST)
			r = bwl_scan_strip(&l, &f[i], e);
	for (i = 0; !r && i < n; i++)
		if (f[i].kind == BWL_PORT_TUNNEL)
			r = bwl_tunnel_remove(&l, &f[i].dev, e);
	for (i = 0; !r && i < n; i++)
		if (f[i].kind == BWL_PORT_UPLINK)
			r = bwl_scan_strip(&l, &f[i], e);
	if (!r && l.pins)
		bwl_next_hops_sweep(l.pins, NULL, 0);
	if (!r)
		r = bwl_lock_open(e);
	for (i = 0; !r && i < n; i++)
		if (f[i].kind == BWL_PORT_MANAGEMENT)
			r = bwl_scan_strip(&l, &f[i], e);
	if (!r)
		r = bwl_load_wipe(l.dir, e);
	if (!r && a->open) {
		bwl_audit("detach --open: %u host port%s without any limit", nhost, BWL_S(nhost));
		r = bwl_attach_set(host, nhost, true, e);
	} else if (!r && nhost) {
		bwl_audit("detach: %u host port%s set down", nhost, BWL_S(nhost));
	}
	bwl_load_end(&l);
	return r;
}
