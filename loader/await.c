// SPDX-License-Identifier: GPL-2.0-or-later
/* See await.h: the command. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bwl/tables.h>
#include "await.h"
#include "fallback.h"
#include "load.h"
#include "hook/port_sysctl.h"

#define PAUSE_MAX_S 60
/*
 * A port may begin to be awaited after it appeared: while attach has not published its policy yet,
 * by a policy that names it again, at the end of a trial. No news of the device tells that.
 */
#define EVERY_S 10

/* Awaited by these maps, and there? ret: its device. */
static bool has_come(const struct bwl_attach *a, const char *name, struct bwl_netdev *ret)
{
	struct bwl_pins *p;
	uint64_t awaited = 0;
	int id;
	bool yes;

	if (bwl_pins_open_few(a->dir, &p, NULL))
		return false;
	id = bwl_port_named(p, name);
	yes = id >= 0 && !bwl_ports_awaited(p, &awaited) && awaited & 1ULL << id &&
	      !bwl_netdev_get(name, ret, NULL) &&
	      bwl_port_at(p, ret->ifindex) < 0; /* an attached port that was renamed */
	bwl_pins_close(p);
	return yes;
}

/*
 * Unless another tool attached it in between; nobody can under the lock. If that is taken, one may
 * still do so, and open it.
 */
static int set_down(const struct bwl_attach *a, const char *name, struct bwl_err *e)
{
	int lock = bwl_lock_if_free(bwl_pin_dir(a->dir)), r = 0;
	struct bwl_netdev d;
	struct bwl_pins *p;

	if (has_come(a, name, &d) && d.up) {
		r = bwl_netdev_set_up(d.ifindex, false, e);
		if (!r && lock < 0 && !bwl_pins_open_few(a->dir, &p, NULL)) {
			if (bwl_port_at(p, d.ifindex) >= 0 &&
			    !bwl_note_is_closed(bwl_pin_dir(a->dir), &d))
				r = bwl_netdev_set_up(d.ifindex, true, e);
			bwl_pins_close(p);
		}
	}
	if (lock >= 0)
		close(lock);
	return r;
}

/*
 * Down first: it may be up already. The guard does the same. What fails is tried again, later and
 * later; as soon as the port is attached, gone, or no longer awaited this ends.
 */
static void look_at(const struct bwl_attach *a, const char *name)
{
	struct timespec pause = { .tv_sec = 1 };
	char told[sizeof(((struct bwl_err *)0)->text)] = "";
	struct bwl_netdev d;

	while (has_come(a, name, &d)) {
		struct bwl_attach upgrade = *a;
		struct bwl_err e = { 0 };
		int r = 0;

		upgrade.unattended = true;
		bwl_port_sysctl_keep(&d);
		if (d.up)
			r = set_down(a, name, &e);
		if (!r)
			r = bwl_upgrade(&upgrade, &e);
		if (r && strcmp(told, e.text))
			bwl_warn("%s is not open yet: %s; bwlimit-load verify", d.name, e.text);
		snprintf(told, sizeof(told), "%s", e.text);
		if (!r && !has_come(a, name, &d))
			break;
		nanosleep(&pause, NULL);
		pause.tv_sec = 2 * pause.tv_sec < PAUSE_MAX_S ? 2 * pause.tv_sec : PAUSE_MAX_S;
	}
}

static void look_at_all(const struct bwl_attach *a)
{
	char name[BWL_MAX_PORTS][sizeof(((struct bwl_dev *)0)->name)];
	uint64_t awaited = 0;
	unsigned n = 0;
	struct bwl_pins *p;

	if (bwl_pins_open_few(a->dir, &p, NULL))
		return;
	bwl_ports_awaited(p, &awaited);
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++)
		if (awaited & 1ULL << i)
			snprintf(name[n++], sizeof(name[0]), "%.15s", p->dev[i].name);
	bwl_pins_close(p);
	for (unsigned i = 0; i < n; i++)
		look_at(a, name[i]);
}

static int look(const struct bwl_netdev *d, void *arg)
{
	if (d)
		look_at(arg, d->name);
	else
		look_at_all(arg);
	return 0;
}

int bwl_await(struct bwl_attach *a, struct bwl_err *e)
{
	bwl_info("waiting for ports that were absent");
	return bwl_netdev_watch(look, a, EVERY_S, e);
}
