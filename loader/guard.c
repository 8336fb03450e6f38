// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Devices are kept down by default: this sets them down again when something else sets them up. It
 * is a second line of defence: nothing that a host sends reaches another device anyway while the
 * kernel does not forward and every uplink has its last gate.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bwl/text.h>
#include <bwl/doc.h>
#include "await.h"
#include "guard.h"
#include "load.h"
#include "hook/iif_rules.h"
#include "hook/port_sysctl.h"
#include "fallback.h"
#include "bwl/plural.h"

/*
 * The maps are opened each time, because attach may have made new ones. Those of the previous
 * version count as well.
 */
/* ret: its device, by the name that it was attached by, which notes have. */
static bool is_attached(const struct bwl_attach *a, const struct bwl_netdev *d,
			struct bwl_netdev *ret)
{
	struct bwl_relayout x;
	struct bwl_dev dev = { 0 };
	bool ok = false;
	uint32_t i;

	if (!bwl_relayout_look(bwl_pin_dir(a->dir), &x, NULL) && x.was.magic && x.whole)
		for (i = 0; !ok && i < BWL_MAX_PORTS; i++)
			ok = bwl_relayout_entry(&x, BWL_PIN_dev, i, &dev, sizeof(dev)) &&
			     dev.ifindex == d->ifindex;
	*ret = *d;
	if (ok)
		snprintf(ret->name, sizeof(ret->name), "%.15s", dev.name);
	bwl_relayout_end(&x);
	return ok;
}

static bool may_be_up(const struct bwl_attach *a, const struct bwl_netdev *d)
{
	return d->loopback || !d->up || bwl_is_listed(a->management, a->nmanagement, d->name) ||
	       (bwl_is_listed(a->uplink, a->nuplink, d->name) &&
		!bwl_is_awaited_in(a->dir, d->name));
}

static int set_down(const struct bwl_netdev *d)
{
	struct bwl_err e = { 0 };
	int r = bwl_netdev_set_up(d->ifindex, false, &e);

	if (r)
		bwl_warn("%s is up and not covered: %s", d->name, e.text);
	else
		bwl_audit("%s was up and not covered: set down", d->name);
	return r;
}

static int close_dev(const struct bwl_attach *a, const struct bwl_netdev *d)
{
	bwl_port_sysctl_keep(d);
	bwl_attach_say_shut(bwl_pin_dir(a->dir), d, 1);
	return set_down(d);
}

/*
 * Under the lock nobody attaches it between the look and its end: bwlimitd would take that for
 * somebody else's doing. Whoever has the lock may be long: then the time between is short.
 */
static void close_stranger(const struct bwl_attach *a, const struct bwl_netdev *d)
{
	const char *dir = bwl_pin_dir(a->dir);
	struct bwl_netdev port;
	int lock;

	bwl_port_sysctl_keep(d);
	lock = bwl_lock_if_free(dir);
	if (!is_attached(a, d, &port))
		set_down(d);
	/* it was attached in between: await.c */
	if (lock < 0 && is_attached(a, d, &port) && !bwl_note_is_closed(dir, &port))
		bwl_netdev_set_up(d->ifindex, true, NULL);
	if (lock >= 0)
		close(lock);
}

static int look(const struct bwl_netdev *d, void *arg)
{
	const struct bwl_attach *a = arg;
	const char *dir = bwl_pin_dir(a->dir);
	struct bwl_netdev port;

	if (may_be_up(a, d))
		return 0;
	if (!is_attached(a, d, &port)) {
		close_stranger(a, d);
	} else if (bwl_note_is_closed(dir, &port)) {
		close_dev(a, d);
		if (!bwl_note_is_closed(dir, &port)) /* `up` ran in between */
			bwl_netdev_set_up(d->ifindex, true, NULL);
	}
	return 0;
}

/*
 * An uplink may be up before anything is attached: then no host port is. One that is awaited may
 * not, because others are attached and host ports are up.
 *
 * If the policy cannot be read, no uplink is known: everything but management goes down. */
static void ports_of(struct bwl_attach *a, struct bwl_policy **pol)
{
	struct bwl_err e = { 0 };
	unsigned nhost = a->nhost;

	if (bwl_attach_policy(a, pol, &e))
		bwl_warn("%s%s%s; its uplinks count as unknown", e.file, *e.file ? ": " : "",
			 e.text);
	a->nhost = nhost; /* only what the command line named */
}

/*
 * From boot on, before there are programs: only management devices lead to the DPU. Other devices
 * do not, up or not; nor do uplinks, as nothing protects the DPU from the wire yet. This is done
 * only if management is named: otherwise nobody could reach the DPU.
 */
static void close_ways(const struct bwl_attach *a)
{
	struct bwl_lock w = { 0 };
	struct bwl_err e = { 0 };
	struct bwl_pins *p;
	unsigned i;

	if (!a->nmanagement || a->nhost)
		return;
	if (!bwl_pins_open(a->dir, false, &p, NULL)) {
		bwl_lock_want(p, &w);
		bwl_pins_close(p);
	}
	for (i = 0; i < a->nmanagement; i++)
		bwl_lock_add(&w, a->management[i], BWL_LOCK_MANAGEMENT);
	if (bwl_lock_set(&w, &e))
		bwl_warn("%s", e.text);
}

int bwl_down(struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_policy *pol = NULL;
	struct bwl_netdev *d;
	unsigned failed = 0;
	size_t n, i;
	int r;

	r = bwl_netdev_list(&d, &n, e);
	if (r)
		return r;
	ports_of(a, &pol);
	for (i = 0; i < n; i++) {
		if (a->nhost ? !d[i].up || !bwl_is_listed(a->host, a->nhost, d[i].name)
			     : may_be_up(a, &d[i]))
			continue;
		failed += close_dev(a, &d[i]) != 0;
	}
	close_ways(a);
	bwl_policy_free(pol);
	free(d);
	if (!failed && a->json)
		bwl_doc_print(bwl_doc("down"));
	return failed ? bwl_fail(e, EIO, "%u device%s could not be set down", failed, BWL_S(failed))
		      : 0;
}

int bwl_guard(struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_policy *pol = NULL;
	int r;

	ports_of(a, &pol);
	bwl_info("watching for devices that are not ports");
	r = bwl_netdev_watch(look, a, 0, e);
	bwl_policy_free(pol);
	return r;
}
