// SPDX-License-Identifier: GPL-2.0-or-later
/* See await.h: ports that were awaited, and are there, are attached; then opened. */
#include <stdio.h>
#include <string.h>
#include <bwl/tables.h>
#include "await.h"
#include "fallback.h"
#include "hook/port_sysctl.h"

/* As the other uplinks are; without it none would pace (bwl_pace_refresh()). */
static void pace(const struct bwl_load *l, const struct bwl_netdev *d)
{
	struct bwl_err e = { 0 };
	bool paced = false;

	if (bwl_not_paced(l->pins) || (!bwl_netdev_is_paced(d->ifindex, &paced, NULL) && paced))
		return;
	if (bwl_netdev_pace(d->ifindex, &e))
		bwl_warn("%s: %s; mode shape polices, mode mark drops sooner", d->name, e.text);
}

static int attach_one(struct bwl_load *l, const struct bwl_attach *a, const char *name,
		      unsigned kind, struct bwl_awaited *w, struct bwl_err *e)
{
	bool host = kind == BWL_PORT_HOST;
	struct bwl_attach one = { .dir = a->dir,
				  .tc = a->tc,
				  .host = { name },
				  .uplink = { name },
				  .nhost = host,
				  .nuplink = !host,
				  .named_host = host,
				  .named_uplink = true };
	struct bwl_netdev d;
	int r = bwl_attach_find(&one, &d, &d, e);

	if (r)
		return r;
	bwl_port_sysctl_set(&d, 1, kind);
	if (host)
		r = bwl_note_close(l->dir, &d, true, e);
	if (!r && host)
		r = bwl_netdev_set_up(d.ifindex, false, e);
	if (!host)
		pace(l, &d);
	if (!r)
		r = bwl_attach_port(l, &one, &d, kind, e);
	if (!r && host)
		w->host[w->nhost++] = d;
	return r;
}

void bwl_await_attach(struct bwl_load *l, const struct bwl_attach *a, struct bwl_awaited *ret)
{
	uint64_t awaited;

	ret->nhost = 0;
	if (bwl_ports_awaited(l->pins, &awaited))
		return;
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *dev = &l->pins->dev[i];
		struct bwl_err e = { 0 };
		static char told[BWL_MAX_PORTS][sizeof(e.text)]; /* `await` tries again and again */
		char name[sizeof(dev->name)];
		struct bwl_netdev d;

		if (!(awaited & 1ULL << i) || bwl_netdev_get(dev->name, &d, NULL))
			continue;
		snprintf(name, sizeof(name), "%s", dev->name);
		if (!attach_one(l, a, name, dev->kind, ret, &e))
			*e.text = '\0'; /* of another form that was tried before */
		else if (strcmp(told[i], e.text))
			bwl_warn("%s is there, but cannot be attached: %s%s%s", name, e.text,
				 *e.hint ? "; " : "", e.hint);
		snprintf(told[i], sizeof(told[i]), "%s", e.text);
	}
	bwl_pace_refresh(l->pins);
}

/* Another host port is closed until verify is clean (a second attach, or one that failed). */
static bool others_are_closed(const struct bwl_load *l, const struct bwl_awaited *w)
{
	struct bwl_netdev d;
	unsigned i, k;

	for (i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *dev = &l->pins->dev[i];

		if (!dev->ifindex || dev->kind != BWL_PORT_HOST)
			continue;
		for (k = 0; k < w->nhost && w->host[k].ifindex != dev->ifindex; k++)
			;
		if (k == w->nhost && !bwl_port_device(dev, &d, NULL) &&
		    bwl_note_is_closed(l->dir, &d))
			return true;
	}
	return false;
}

int bwl_await_open(struct bwl_load *l, const struct bwl_awaited *w, struct bwl_err *e)
{
	uint32_t stop = __atomic_load_n(&l->pins->ctl->stop, __ATOMIC_SEQ_CST);
	int r = 0;

	if (!w->nhost || stop == BWL_CLOSED || stop == BWL_CLOSED_UNJUDGED ||
	    others_are_closed(l, w))
		return 0;
	r = bwl_attach_forwarding(e);
	for (unsigned i = 0; !r && i < w->nhost; i++) {
		r = bwl_audit_intent(e, "host port %s, which was awaited", w->host[i].name);
		if (!r)
			r = bwl_note_close(l->dir, &w->host[i], false, e);
		if (!r)
			r = bwl_netdev_set_up(w->host[i].ifindex, true, e);
		if (!r)
			bwl_audit("host port %s, which was awaited, is attached and opened",
				  w->host[i].name);
	}
	if (!r)
		bwl_attach_say_opened(l->pins, w->host, w->nhost);
	return r;
}
