// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Conditions, besides SA and policy, under which XDP carries a peer of path offload: a host port
 * where our program runs in the driver and sees VLAN tags, an uplink whose driver sends redirected
 * frames, and the next hop's MAC. Queried from the kernel each time, because they may change
 * independently.
 */
#include <errno.h>
#include <stdlib.h>
#include "bwl/netdev.h"
#include "track.h"

struct wanted {
	struct bwl_xfrm_addr remote;
	uint64_t from;
	uint32_t id, uplink_port;
};

struct bwl_track_ways {
	struct wanted *peer;
	size_t n, room;
};

int bwl_track_ways_new(struct bwl_track_ways **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void bwl_track_ways_free(struct bwl_track_ways *w)
{
	if (w)
		free(w->peer);
	free(w);
}

void bwl_track_ways_begin(struct bwl_track_ways *w)
{
	w->n = 0;
}

int bwl_track_ways_add(struct bwl_track_ways *w, uint32_t id, const struct bwl_xfrm_addr *remote,
		       uint32_t uplink_port, uint64_t from)
{
	struct wanted *more;

	if (w->n == w->room) {
		more = reallocarray(w->peer, 2 * w->room + 16, sizeof(*more));
		if (!more)
			return -ENOMEM;
		w->peer = more;
		w->room = 2 * w->room + 16;
	}
	w->peer[w->n++] = (struct wanted){ *remote, from, id, uplink_port };
	return 0;
}

/* Ports where XDP runs in the driver: the ones that carry, and the ones that send. */
static void look_at_ports(const struct bwl_pins *p, uint64_t *ret_host, uint64_t *ret_uplink)
{
	struct bwl_netdev_xdp x;
	unsigned i;

	*ret_host = *ret_uplink = 0;
	for (i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *d = &p->dev[i];

		if (!d->ifindex || bwl_netdev_xdp(d->name, d->ifindex, &x, NULL) || !x.native ||
		    !x.runs)
			continue;
		if (d->kind == BWL_PORT_HOST && !x.strips)
			*ret_host |= 1ULL << i;
		if (d->kind == BWL_PORT_UPLINK && x.told && x.sends)
			*ret_uplink |= 1ULL << i;
	}
}

int bwl_track_ways_look(const struct bwl_track_ways *w, const struct bwl_pins *p,
			struct bwl_track *t)
{
	uint64_t host = 0, uplink = 0;
	size_t i;
	int r = 0;

	if (w->n)
		look_at_ports(p, &host, &uplink);
	for (i = 0; !r && i < w->n; i++) {
		const struct wanted *x = &w->peer[i];
		struct bwl_track_way way = { .wanted = true, .host = host & x->from };

		if (x->uplink_port < BWL_MAX_PORTS) {
			way.uplink = uplink >> x->uplink_port & 1;
			bwl_netdev_next_hop(p->dev[x->uplink_port].ifindex, x->remote.family,
					    x->remote.a, &way.next_mac, NULL);
		}
		r = bwl_track_way(t, x->id, &way);
	}
	return r;
}
