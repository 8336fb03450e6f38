// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes ports, host ports' sources and the tunnel device into one generation. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bwl/map_io.h>
#include "build.h"

/* ARP and ND of one host; ARP, ND and control protocols of the DPU on one uplink. */
#define NEIGHBOUR_RATE_BPS 1000000U
#define NEIGHBOUR_BURST 16384U
#define UNDERLAY_RATE_BPS 10000000U
#define UNDERLAY_BURST 65536U

static void fill_mask(__be32 *addr, __be32 *mask, const struct bwl_pfx *pfx, unsigned words)
{
	unsigned i, left = pfx->len;

	memcpy(addr, pfx->addr, 4 * words);
	for (i = 0; i < words; i++) {
		unsigned n = left > 32 ? 32 : left;

		mask[i] = n ? htonl(0xffffffffU << (32 - n)) : 0;
		left -= n;
	}
}

struct bwl_key_lpm6 bwl_build_own_key(const struct bwl_pfx *pfx)
{
	struct bwl_key_lpm6 k = { .prefixlen = pfx->len };

	if (pfx->family == 6) {
		memcpy(k.addr, pfx->addr, 16);
	} else {
		k.prefixlen += 96;
		k.addr[2] = htonl(0xffff);
		memcpy(&k.addr[3], pfx->addr, 4);
	}
	return k;
}

static int fill_source(struct bwl_build *b, struct bwl_port *port, uint32_t id,
		       const struct bwl_pfx *pfx, struct bwl_err *e)
{
	struct bwl_key_lpm6 key = bwl_build_own_key(pfx);
	int r;

	if ((pfx->family == 4 ? port->nsrc4 : port->nsrc6) >= BWL_MAX_SOURCES)
		return bwl_fail(e, E2BIG, "host port %s has more than %d sources of one family",
				port->name, BWL_MAX_SOURCES);
	if (pfx->family == 4) {
		struct bwl_prefix4 *x = &port->src4[port->nsrc4++];

		fill_mask(&x->addr, &x->mask, pfx, 1);
	} else {
		struct bwl_prefix6 *x = &port->src6[port->nsrc6++];

		fill_mask(x->addr, x->mask, pfx, 4);
	}
	r = bwl_map_put(b->gen.own, &key, &id, 0);
	if (r)
		return bwl_build_refused(b, BWL_PIN_own, pfx, port->name, -r, e);
	b->written.own++;
	return 0;
}

static bool has_port(const struct bwl_policy *pol, const char *name)
{
	size_t i;

	for (i = 0; i < pol->nports; i++)
		if (!strcmp(pol->ports[i].name, name))
			return true;
	return false;
}

/* A new host port may replace one that goes: it takes over the accounts of all that go. */
static int carryover_ports(struct bwl_build *b, struct bwl_err *e)
{
	int i, r = 0;

	for (i = 0; !r && b->old && i < BWL_MAX_PORTS; i++) {
		const struct bwl_port *old = &b->old->base->port[i];

		if (old->flags & BWL_PORT_HOST && !has_port(b->pol, old->name))
			r = bwl_carryover_from(&b->carryover, old->limit.volume.state, e);
	}
	return r;
}

/* Common to host ports and uplinks. limit: the policy's. */
static int fill_port(struct bwl_build *b, const char *name, bool host, const struct bwl_lim *limit,
		     int *ret_id, struct bwl_err *e)
{
	const struct bwl_lim small = { .present = true,
				       .rate_bps = host ? NEIGHBOUR_RATE_BPS : UNDERLAY_RATE_BPS,
				       .burst = host ? NEIGHBOUR_BURST : UNDERLAY_BURST };
	int id = bwl_port_named(b->p, name), r = 0;
	const struct bwl_port *old;
	struct bwl_port *port;

	if (id < 0 || !(b->p->dev[id].kind & (host ? BWL_PORT_HOST : BWL_PORT_UPLINK))) {
		bwl_fail(e, ENODEV, "%s is not attached as %s", name,
			 host ? "a host port" : "an uplink");
		return bwl_hint(e, "bwlimit-load attach %s %s", host ? "--host" : "--uplink", name);
	}
	*ret_id = id;
	port = &b->gen.base->port[id];
	old = b->old ? &b->old->base->port[id] : NULL;
	snprintf(port->name, sizeof(port->name), "%s", name);
	port->flags = host ? BWL_PORT_HOST : BWL_PORT_UPLINK;
	port->neighbours = bwl_neighbour_share(b->pol->nports + b->pol->nuplinks);
	if (host && !(old && old->flags))
		r = carryover_ports(b, e);
	if (!r)
		r = bwl_build_extra(b, BWL_X_PORT, name, limit, old ? &old->limit : NULL,
				    &port->limit, e);
	if (!r)
		r = bwl_build_extra(b, BWL_X_NEIGHBOUR, name, &small, old ? &old->neighbour : NULL,
				    &port->neighbour, e);
	return r;
}

static int fill_uplink(struct bwl_build *b, const char *name, struct bwl_err *e)
{
	const struct bwl_lim none = { 0 };
	int id, r = fill_port(b, name, false, &none, &id, e);

	/* The MTU of an awaited one is unknown: attaching it lowers this (bwl_await_narrow()). */
	if (!r && b->p->dev[id].ifindex &&
	    (!b->gen.base->mtu || b->p->dev[id].mtu < b->gen.base->mtu))
		b->gen.base->mtu = b->p->dev[id].mtu;
	return r;
}

static int fill_host_port(struct bwl_build *b, const struct bwl_pol_port *q, struct bwl_err *e)
{
	struct bwl_port *port;
	size_t i;
	int id, r = fill_port(b, q->name, true, &q->limit, &id, e);

	if (r)
		return r;
	port = &b->gen.base->port[id];
	if (q->has_mac) {
		port->flags |= BWL_PORT_MAC;
		memcpy(port->mac, q->mac, 6);
	}
	port->nvlans = (uint8_t)q->nvlans;
	memcpy(port->vlan, q->vlans, sizeof(port->vlan));
	for (i = 0; !r && i < q->nsources; i++)
		r = fill_source(b, port, (uint32_t)id, &q->sources[i], e);
	return r;
}

/* The tunnel device is not a port of the policy: only the peer's limits apply to what passes it. */
static void fill_tunnel_port(struct bwl_build *b)
{
	int i;

	for (i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *dev = &b->p->dev[i];
		struct bwl_port *port = &b->gen.base->port[i];

		if (!dev->ifindex || !(dev->kind & BWL_PORT_TUNNEL))
			continue;
		snprintf(port->name, sizeof(port->name), "%s", dev->name);
		port->flags = BWL_PORT_TUNNEL;
	}
}

/*
 * Owners of both families are in one trie, IPv4 as ::ffff:a.b.c.d. Without this entry a source such
 * as ::/0 would own every IPv4 address that nothing longer has, the DPU's among them.
 */
static int fill_no_ip4(struct bwl_build *b, struct bwl_err *e)
{
	const struct bwl_pfx all = { .family = 4 };
	const struct bwl_key_lpm6 key = bwl_build_own_key(&all);
	const uint32_t none = BWL_OWN_REMOTE;
	int r = bwl_map_put(b->gen.own, &key, &none, 0);

	if (r)
		return bwl_build_refused(b, BWL_PIN_own, &all, "no host port", -r, e);
	b->written.own++;
	return 0;
}

int bwl_build_ports(struct bwl_build *b, struct bwl_err *e)
{
	int r = fill_no_ip4(b, e);
	size_t i;

	for (i = 0; !r && i < b->pol->nuplinks; i++)
		r = fill_uplink(b, b->pol->uplinks[i], e);
	for (i = 0; !r && i < b->pol->nports; i++)
		r = fill_host_port(b, &b->pol->ports[i], e);
	fill_tunnel_port(b);
	return r;
}
