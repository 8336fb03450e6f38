// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Next hops whose MAC the policy gives (`next_hop_mac`) are permanent entries in the kernel's
 * neighbour table: nobody on the wire can redirect them, and no packet waits for an answer.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <bpf/bpf.h>
#include <bwl/map_io.h>
#include <bwl/next_hops.h>
#include <bwl/prefix.h>
#include "build.h"

/*
 * A peer's DPU may be behind a router, according to the routes. A clear peer's via is on the link.
 */
static bool is_remote(const struct bwl_gen *g, const struct bwl_fixed_hop *f)
{
	struct bwl_pfx x = { .family = f->family == AF_INET ? 4 : 6,
			     .len = f->family == AF_INET ? 32 : 128 };
	struct bwl_key_lpm6 key;
	uint32_t owner;

	memcpy(x.addr, f->addr, sizeof(x.addr));
	key = bwl_build_own_key(&x);
	/* Without an owner: IPv4 as a whole (build_port.c). */
	return !bwl_map_get(g->own, &key, &owner) && owner & BWL_OWN_REMOTE &&
	       owner & ~BWL_OWN_REMOTE;
}

static struct bwl_fixed_hop hop_of(const struct bwl_pins *p, const struct bwl_gen *g,
				   const struct bwl_nexthop *h, bool four)
{
	uint32_t uplink = p->dev[h->port % BWL_MAX_PORTS].ifindex;
	struct bwl_fixed_hop f = { .ifindex = uplink, .family = four ? AF_INET : AF_INET6 };

	memcpy(f.addr, four ? (const void *)&h->via4 : h->via6, four ? 4 : 16);
	memcpy(f.mac, h->mac_head, 2);
	memcpy(f.mac + 2, h->mac_tail, 4);
	f.routed = is_remote(g, &f);
	if (f.routed && (bwl_netdev_hop_find(&f) || f.ifindex != uplink))
		f.ifindex = 0;
	return f;
}

static bool has_mac(const struct bwl_nexthop *h)
{
	static const uint8_t none[4];

	return memcmp(h->mac_head, none, 2) || memcmp(h->mac_tail, none, 4);
}

size_t bwl_next_hops(const struct bwl_pins *p, const struct bwl_gen *g, struct bwl_fixed_hop **ret)
{
	struct bwl_fixed_hop *list = bwl_must(calloc(2 * BWL_MAX_NEXTHOPS, sizeof(*list)));
	size_t n = 0;

	for (unsigned i = 0; i < BWL_MAX_NEXTHOPS; i++) {
		const struct bwl_nexthop *h = &g->base->nexthop[i];

		if (!p->dev[h->port % BWL_MAX_PORTS].ifindex)
			continue; /* its uplink is awaited */
		if (h->has4 && has_mac(h))
			list[n++] = hop_of(p, g, h, true);
		if (h->has6 && has_mac(h))
			list[n++] = hop_of(p, g, h, false);
	}
	*ret = list;
	return n;
}

int bwl_next_hops_in_force(struct bwl_pins *p, struct bwl_fixed_hop **ret, size_t *ret_n,
			   struct bwl_err *e)
{
	uint32_t slot = bwl_active_slot(p);
	struct bwl_gen g;
	int r;

	*ret = NULL;
	*ret_n = 0;
	if (slot == BWL_NO_SLOT)
		return 0;
	r = bwl_gen_open(p, slot, &g, e);
	if (r)
		return r;
	*ret_n = bwl_next_hops(p, &g, ret);
	bwl_gen_close(&g);
	return 0;
}

static const struct bwl_fixed_hop *same_place(const struct bwl_fixed_hop *f,
					      const struct bwl_fixed_hop *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].ifindex == f->ifindex && list[i].family == f->family &&
		    !memcmp(list[i].addr, f->addr, sizeof(f->addr)))
			return &list[i];
	return NULL;
}

struct wanted {
	const struct bwl_fixed_hop *list;
	size_t n;
};

static bool stays(const struct bwl_fixed_hop *f, void *arg)
{
	const struct wanted *w = arg;

	return same_place(f, w->list, w->n);
}

void bwl_next_hops_sweep(const struct bwl_pins *p, const struct bwl_fixed_hop *list, size_t n)
{
	struct wanted w = { list, n };

	for (unsigned i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *d = &p->dev[i];
		int r = d->ifindex && d->kind == BWL_PORT_UPLINK
				? bwl_netdev_hops_sweep(d->ifindex, stays, &w)
				: 0;

		if (r)
			bwl_warn(
				"%.15s: cannot remove next hops that the policy no longer fixes: %s",
				d->name, strerror(-r));
	}
}
