// SPDX-License-Identifier: GPL-2.0-or-later
/* See ports.h. */
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <libmnl/libmnl.h>
#include <bwl/netdev.h>
#include <bwl/tables.h>
#include "hook/attached.h"
#include "agent.h"
#include "ports.h"

#define SECOND_NS 1000000000ULL
#define LOWER_UP 0x10000 /* IFF_LOWER_UP of linux/if.h, which cannot stand beside net/if.h */

int tamper_ports_at(const struct tamper_ports *t, uint32_t ifindex)
{
	for (int i = 0; i < BWL_MAX_PORTS; i++)
		if (ifindex && t->pins->dev[i].ifindex == ifindex &&
		    t->pins->dev[i].kind & (BWL_PORT_HOST | BWL_PORT_UPLINK))
			return i;
	return -1;
}

static bool is_uplink(const struct tamper_ports *t, int i)
{
	return t->pins->dev[i].kind == BWL_PORT_UPLINK;
}

static void sign(struct tamper_ports *t, int i, const char *what)
{
	char text[100];

	snprintf(text, sizeof(text), "%.15s %s", t->pins->dev[i].name, what);
	agent_tamper(t->pins,
		     &(struct agent_sign){ .input = is_uplink(t, i) ? BWL_TAMPER_carrier
								    : BWL_TAMPER_port,
					   .what = text,
					   .port = (unsigned)i },
		     false);
}

/*
 * Was something of bwlimit's own done to it since all news were read the last time? An uplink is
 * not set down by bwlimit; one that is awaited is no port yet.
 */
static bool is_our_doing(const struct tamper_ports *t, int i)
{
	uint8_t now = bwl_port_doings(t->pins, (unsigned)i);

	return !is_uplink(t, i) && (bwl_is_port_shut(now) || now != t->seen[i].doings);
}

static void set_down(struct tamper_ports *t, int i)
{
	if (!is_our_doing(t, i))
		sign(t, i, "was set down, and not by bwlimit");
}

/* Nothing of bwlimit's removes a port, whatever it did before; but after a detach it is none. */
static void gone(struct tamper_ports *t, int i)
{
	tamper_port_close(&t->seen[i].sysfs);
	t->seen[i].ifindex = 0;
	if (bwl_pins_end(t->pins, NULL) != BWL_PINS_DETACHED)
		sign(t, i, "is gone: it was deleted, or moved to another network namespace");
}

static int seen_at(const struct tamper_ports *t, uint32_t ifindex)
{
	for (int i = 0; i < BWL_MAX_PORTS; i++)
		if (ifindex && t->seen[i].ifindex == ifindex)
			return i;
	return -1;
}

static void now_is(struct tamper_ports *t, uint32_t ifindex, bool up, bool carrier)
{
	int i = tamper_ports_at(t, ifindex);
	struct tamper_seen *s, was;

	if (i < 0)
		return;
	s = &t->seen[i];
	was = *s;
	s->ifindex = ifindex;
	s->up = up;
	s->carrier = carrier;
	if (was.ifindex != ifindex)
		s->doings = bwl_port_doings(t->pins, (unsigned)i);
	if (up && (was.ifindex != ifindex || !was.up) && !is_uplink(t, i))
		bwl_port_opened(t->pins, (unsigned)i); /* whoever did: what closed it is over */
	if (was.ifindex != ifindex)
		return;
	if (was.up && !up)
		set_down(t, i);
	else if (was.carrier && up && !carrier && !s->sysfs.ifindex)
		sign(t, i, "lost its carrier"); /* if sysfs can be read, it was seen earlier */
}

/*
 * A device that is deleted or moved is first reported as set down: that is no reason to believe
 * anything about its end. Other families (a bridge) report their own ends.
 */
void tamper_ports_news(struct tamper_ports *t, const struct nlmsghdr *h)
{
	const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);
	int i = seen_at(t, (uint32_t)m->ifi_index);

	if (m->ifi_family != AF_UNSPEC)
		return;
	if (h->nlmsg_type == RTM_NEWLINK)
		now_is(t, (uint32_t)m->ifi_index, m->ifi_flags & IFF_UP, m->ifi_flags & LOWER_UP);
	else if (h->nlmsg_type == RTM_DELLINK && i >= 0)
		gone(t, i);
}

void tamper_ports_look(struct tamper_ports *t)
{
	for (int i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *d = &t->pins->dev[i];

		if (tamper_ports_at(t, d->ifindex) != i)
			continue;
		switch (tamper_port_look(&t->seen[i].sysfs, d)) {
		case TAMPER_LOST:
			sign(t, i, "lost its carrier");
			break;
		case TAMPER_BACK:
			/*
			 * No cable is so quick, but drivers are, when their queues or programs are
			 * changed. The other end of a host port is a host's.
			 */
			if (!is_uplink(t, i) && !is_our_doing(t, i))
				sign(t, i, "lost its carrier for a moment");
			break;
		case TAMPER_SET_DOWN: /* the kernel has reported it */
		case TAMPER_KEPT:
			break;
		}
	}
}

/* Judges what is there now, in place of news that were lost or came before the port was one. */
static void list(struct tamper_ports *t)
{
	bool there[BWL_MAX_PORTS] = { false };
	struct bwl_netdev *d = NULL;
	size_t n = 0;
	int at;

	if (bwl_netdev_list(&d, &n, NULL))
		return;
	for (size_t k = 0; k < n; k++) {
		at = seen_at(t, d[k].ifindex);
		if (at >= 0)
			there[at] = true;
	}
	for (int i = 0; i < BWL_MAX_PORTS; i++)
		if (t->seen[i].ifindex && !there[i])
			gone(t, i);
	for (size_t k = 0; k < n; k++)
		now_is(t, d[k].ifindex, d[k].up, d[k].carrier);
	free(d);
}

static bool one_is_unseen(const struct tamper_ports *t)
{
	for (int i = 0; i < BWL_MAX_PORTS; i++)
		if (tamper_ports_at(t, t->pins->dev[i].ifindex) == i &&
		    t->seen[i].ifindex != t->pins->dev[i].ifindex)
			return true;
	return false;
}

void tamper_ports_begin(struct tamper_ports *t)
{
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++)
		t->seen[i].doings_now = bwl_port_doings(t->pins, i);
}

/*
 * What bwlimit had finished when the turn began, the turn has read all about: from here on it
 * explains nothing more.
 */
void tamper_ports_end(struct tamper_ports *t, bool lost)
{
	uint64_t now = bwl_now_ns();

	if (lost || (now >= t->list_ns && one_is_unseen(t))) {
		list(t);
		t->list_ns = now + SECOND_NS;
	}
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++)
		t->seen[i].doings = t->seen[i].doings_now;
}

void tamper_ports_close(struct tamper_ports *t)
{
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++)
		tamper_port_close(&t->seen[i].sysfs);
}
