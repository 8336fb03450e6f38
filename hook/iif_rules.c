// SPDX-License-Identifier: GPL-2.0-or-later
/* See iif_rules.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "iif_rules.h"

void bwl_lock_want(const struct bwl_pins *p, struct bwl_lock *ret)
{
	unsigned i;

	*ret = (struct bwl_lock){ .table = BWL_TUNNEL_TABLE,
				  .mark = p->ctl->tag & BWL_MARK_TAG,
				  .mask = BWL_MARK_TAG };
	for (i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *d = &p->dev[i];

		if (d->kind == BWL_PORT_MANAGEMENT && *d->name) /* also if it is still awaited */
			bwl_lock_add(ret, d->name, BWL_LOCK_MANAGEMENT);
		else if (d->ifindex && d->kind == BWL_PORT_TUNNEL)
			snprintf(ret->tunnel, sizeof(ret->tunnel), "%s", d->name);
		else if (d->ifindex)
			bwl_lock_add(ret, d->name,
				     d->kind == BWL_PORT_UPLINK ? BWL_LOCK_UPLINK : BWL_LOCK_HOST);
	}
}

bool bwl_lock_was_set(const struct bwl_pins *p)
{
	unsigned i;

	for (i = 0; i < BWL_MAX_PORTS; i++)
		if (p->dev[i].ifindex && p->dev[i].flags & BWL_DEV_LOCKED)
			return true;
	return false;
}

int bwl_lock_apply(struct bwl_pins *p, struct bwl_err *e)
{
	struct bwl_lock w;
	unsigned i;
	int r;

	bwl_lock_want(p, &w);
	r = bwl_lock_set(&w, e);
	for (i = 0; !r && i < BWL_MAX_PORTS; i++)
		if (p->dev[i].ifindex)
			__atomic_or_fetch(&p->dev[i].flags, BWL_DEV_LOCKED, __ATOMIC_SEQ_CST);
	return r;
}

static void keep_first(void *arg, const char *what)
{
	struct bwl_err *e = arg;

	if (!e->code)
		bwl_fail(e, EPERM, "%s", what);
}

int bwl_lock_check(const struct bwl_pins *p, struct bwl_err *e)
{
	struct bwl_err first = { 0 };
	struct bwl_lock w;
	int r;

	bwl_lock_want(p, &w);
	r = bwl_lock_look(&w, keep_first, &first, e);
	if (r <= 0)
		return r;
	bwl_fail(e, EPERM, "%s", first.text);
	return bwl_hint(
		e, "bwlimit-load attach repairs its own rules; remove others with ip rule del");
}
