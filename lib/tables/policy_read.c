// SPDX-License-Identifier: GPL-2.0-or-later
/* The policy in force, read back from the maps: they are the only source of truth. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/tables.h>
#include <bwl/generation.h>

static struct bwl_lim read_limit(const struct bwl_rate *r, const struct bwl_volume *v)
{
	struct bwl_lim l = { .rate_bps = bwl_rate_decode(r) };

	if (l.rate_bps != BWL_NO_RATE) {
		l.burst = bwl_rate_burst(r);
		if (l.burst == bwl_default_burst(l.rate_bps))
			l.burst = 0;
	}
	if (v && v->spendable_bytes != BWL_VOLUME_NONE) {
		l.has_volume = true;
		l.volume = v->spendable_bytes;
		l.window_ns = v->slice_ns * BWL_WINDOW_SLICES / 1000 * 1000;
	}
	l.present = l.rate_bps != BWL_NO_RATE || l.has_volume;
	return l;
}

static void *grow(void *array, size_t n, size_t size)
{
	if (n & (n - 1) && n) /* it is only full at powers of two */
		return array;
	return bwl_must(reallocarray(array, n ? 2 * n : 1, size));
}

static struct bwl_pfx pfx_of(uint8_t family, const __be32 *addr, const __be32 *mask)
{
	struct bwl_pfx x = { .family = family };
	unsigned i, words = family == 4 ? 1 : 4;

	memcpy(x.addr, addr, 4 * words);
	for (i = 0; i < words; i++)
		x.len = (uint8_t)(x.len + __builtin_popcount(mask[i]));
	return x;
}

static void read_ports(const struct bwl_base *b, struct bwl_policy *pol)
{
	unsigned i, j;

	for (i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_port *x = &b->port[i];
		struct bwl_pol_port *q;

		if (x->flags & BWL_PORT_UPLINK) {
			pol->uplinks = grow(pol->uplinks, pol->nuplinks, sizeof(*pol->uplinks));
			snprintf(pol->uplinks[pol->nuplinks++], 16, "%.15s", x->name);
		}
		if (!(x->flags & BWL_PORT_HOST))
			continue;
		pol->ports = grow(pol->ports, pol->nports, sizeof(*pol->ports));
		q = &pol->ports[pol->nports++];
		memset(q, 0, sizeof(*q));
		memcpy(q->name, x->name, sizeof(q->name));
		q->limit = read_limit(&x->limit.rate, &x->limit.volume);
		q->nvlans = x->nvlans;
		memcpy(q->vlans, x->vlan, sizeof(q->vlans));
		q->has_mac = x->flags & BWL_PORT_MAC;
		memcpy(q->mac, x->mac, 6);
		q->sources = bwl_must(calloc((size_t)x->nsrc4 + x->nsrc6 + 1, sizeof(*q->sources)));
		for (j = 0; j < x->nsrc4; j++)
			q->sources[q->nsources++] = pfx_of(4, &x->src4[j].addr, &x->src4[j].mask);
		for (j = 0; j < x->nsrc6; j++)
			q->sources[q->nsources++] = pfx_of(6, x->src6[j].addr, x->src6[j].mask);
	}
}

static void read_services(const struct bwl_base *b, struct bwl_policy *pol)
{
	struct bwl_policy *none = bwl_policy_new();
	uint8_t(*ports)[65536] = bwl_must(calloc(2, 65536)), proto[256];
	unsigned i, k;

	bwl_class_table(none, proto, ports);
	bwl_policy_free(none);
	for (k = 0; k < 2; k++) {
		for (i = 0; i < 65536; i++) {
			if (ports[k][i] == b->port_class[k][i])
				continue;
			pol->services = grow(pol->services, pol->nservices, sizeof(*pol->services));
			pol->services[pol->nservices++] =
				(struct bwl_pol_service){ .class_ = b->port_class[k][i],
							  .proto = k ? 17 : 6,
							  .port = (uint16_t)i };
		}
	}
	for (i = 0; i < 256; i++) {
		if (proto[i] == b->proto_class[i])
			continue;
		pol->services = grow(pol->services, pol->nservices, sizeof(*pol->services));
		pol->services[pol->nservices++] = (struct bwl_pol_service){
			.class_ = b->proto_class[i], .proto = (uint8_t)i
		};
	}
	free(ports);
}

static bool same_limit(const struct bwl_lim *a, const struct bwl_lim *b)
{
	uint64_t x = a->burst ? a->burst : bwl_default_burst(a->rate_bps);
	uint64_t y = b->burst ? b->burst : bwl_default_burst(b->rate_bps);
	struct bwl_rate r = { 0 }, s = { 0 };

	bwl_rate_encode(&r, a->rate_bps, x);
	bwl_rate_encode(&s, b->rate_bps, y);
	return r.m == s.m && r.k == s.k && r.flags == s.flags && r.burst_bytes == s.burst_bytes;
}

static void read_nexthop(struct bwl_pins *p, const struct bwl_base *b, const struct bwl_peer *x,
			 struct bwl_pol_peer *q, const struct bwl_policy *pol)
{
	const struct bwl_nexthop *h = &b->nexthop[x->meta.nexthop % BWL_MAX_NEXTHOPS];
	const char *uplink = p->dev[h->port % BWL_MAX_PORTS].name;

	if (!pol->nuplinks || strcmp(uplink, pol->uplinks[0]))
		snprintf(q->uplink, sizeof(q->uplink), "%.15s", uplink);
	memcpy(q->next_hop_mac, h->mac_head, 2);
	memcpy(q->next_hop_mac + 2, h->mac_tail, 4);
	if (x->meta.path != BWL_PATH_CLEAR) {
		if (h->has4)
			inet_ntop(AF_INET, &h->via4, q->ipsec_remote, sizeof(q->ipsec_remote));
		else if (h->has6)
			inet_ntop(AF_INET6, h->via6, q->ipsec_remote, sizeof(q->ipsec_remote));
		return;
	}
	q->has_via4 = h->has4;
	q->has_via6 = h->has6;
	memcpy(q->via4, &h->via4, 4);
	memcpy(q->via6, h->via6, 16);
}

static void read_tenants(struct bwl_pins *p, const struct bwl_gen *g, const struct bwl_peer *x,
			 struct bwl_pol_peer *q)
{
	const struct bwl_limit *l;
	uint32_t i;

	for (i = 0; i < BWL_MAX_PORTS; i++) {
		l = bwl_gen_tenant(g, x, i);
		if (l)
			bwl_policy_add_tenant(q, p->dev[i].name)->limit = read_limit(&l->rate,
										     &l->volume);
	}
}

static void read_peer(struct bwl_pins *p, const struct bwl_gen *g, uint32_t id,
		      const struct bwl_peer *x, struct bwl_policy *pol)
{
	const struct bwl_base *b = g->base;
	const struct bwl_limit *portion = bwl_portion_limit(g, x);
	const struct bwl_limit *accept = bwl_accept_limit(g, x);
	struct bwl_pol_peer *q = bwl_policy_add_peer(pol);
	struct bwl_lim follow;
	uint32_t c, k = x->meta.sub_base, i;

	memcpy(q->name, p->name[id].name, sizeof(q->name));
	q->name[BWL_NAME_LEN - 1] = '\0';
	if (x->meta.zone)
		memcpy(q->zone, b->zone[x->meta.zone].name, sizeof(q->zone));
	for (i = 0; x->meta.from != ~0ULL && i < BWL_MAX_PORTS; i++)
		if (x->meta.from & 1ULL << i)
			snprintf(q->from[q->nfrom++], sizeof(q->from[0]), "%.15s", p->dev[i].name);
	q->contained = x->meta.flags & BWL_PEER_CONTAINED;
	if (portion)
		q->weight = portion->volume.weight;
	q->mode = x->meta.mode;
	q->path = x->meta.path;
	q->expiry_ns = x->meta.expiry_ns;
	q->mark_pct = (uint8_t)((x->grant.rate.ce_from * 100U + 255) / 256U);
	if (x->meta.flags & BWL_PEER_GRANT) {
		q->grant = read_limit(&x->grant.rate, &x->grant.volume);
		q->grant.present = true;
		q->revoked = bwl_revoked_since(p, id, x->meta.grant_seq);
		follow = bwl_default_accept(&q->grant);
		if (!(x->meta.flags & BWL_PEER_ACCEPT)) {
			q->accept_none = true;
		} else {
			q->accept = read_limit(&x->accept, accept ? &accept->volume : NULL);
			if (!q->accept.has_volume && same_limit(&q->accept, &follow))
				q->accept = (struct bwl_lim){ 0 };
		}
	}
	for (c = 0; c < _BWL_CLASS_MAX; c++) {
		if (!(x->meta.class_mask & 1U << c) || k >= g->nsubs)
			continue;
		q->class_[c] = read_limit(&g->sub[k].rate, &g->sub[k].volume);
		/* Not present: it limits nothing, but is counted (BWL_BASE_COUNT_ALL). */
		k++;
	}
	i = x->grant.volume.floor;
	if (i && i < g->nsubs)
		q->floor = read_limit(&g->sub[i].rate, &g->sub[i].volume);
	read_tenants(p, g, x, q);
	read_nexthop(p, b, x, q, pol);
}

struct collect {
	struct bwl_policy *pol;
	uint32_t *index; /* by id: index in pol->peers + 1 */
	uint32_t max;
};

static int collect_prefix(const struct bwl_pfx *pfx, uint32_t id, void *arg)
{
	struct collect *c = arg;
	struct bwl_pol_peer *q;

	if (id >= c->max || !c->index[id])
		return 0;
	q = &c->pol->peers[c->index[id] - 1];
	q->addresses = grow(q->addresses, q->naddresses, sizeof(*q->addresses));
	q->addresses[q->naddresses++] = *pfx;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct bwl_pfx *x = a, *y = b;

	if (x->family != y->family)
		return x->family - y->family;
	return memcmp(x->addr, y->addr, 16) ? memcmp(x->addr, y->addr, 16) : x->len - y->len;
}

static int read_slot(struct bwl_pins *p, uint32_t slot, uint32_t id, const struct bwl_peer *body,
		     struct bwl_policy **ret, struct bwl_err *e)
{
	struct bwl_policy *pol;
	struct collect c;
	struct bwl_gen g;
	uint32_t i;
	size_t j;
	int r;

	r = bwl_gen_open(p, slot, &g, e);
	if (r)
		return r;
	pol = bwl_policy_new();
	snprintf(pol->node, sizeof(pol->node), "%.31s", g.base->node_name);
	pol->control = g.base->control;
	pol->heartbeat_ns = g.base->heartbeat_ns;
	pol->heartbeat_none = !g.base->heartbeat_ns;
	pol->lease_ns = g.base->lease_ns;
	pol->min_charge = g.base->min_charge;
	pol->horizon_ns = g.base->horizon_ns;
	pol->ledger = g.base->flags & BWL_BASE_LEDGER;
	pol->reject = g.base->flags & BWL_BASE_REJECT;
	pol->count_all = g.base->flags & BWL_BASE_COUNT_ALL;
	pol->node_limit = read_limit(&g.base->node.rate, &g.base->node.volume);
	read_ports(g.base, pol);
	read_services(g.base, pol);
	for (i = 1; i < BWL_MAX_ZONES && g.base->zone[i].name[0]; i++) {
		struct bwl_pol_zone *z;

		pol->zones = grow(pol->zones, pol->nzones, sizeof(*pol->zones));
		z = &pol->zones[pol->nzones++];
		memset(z, 0, sizeof(*z));
		memcpy(z->name, g.base->zone[i].name, sizeof(z->name));
		z->limit = read_limit(&g.base->zone[i].limit.rate, &g.base->zone[i].limit.volume);
		z->limit.present = true;
		z->weighted = g.base->zone[i].weighted;
	}
	c = (struct collect){ .pol = pol, .max = p->schema.max_peers };
	c.index = bwl_must(calloc(c.max, sizeof(*c.index)));
	for (i = 1; i < c.max; i++) {
		if (!bwl_body_at(p, &g, i))
			continue;
		read_peer(p, &g, i, i == id ? body : bwl_body(p, &g, i), pol);
		c.index[i] = (uint32_t)pol->npeers;
	}
	r = bwl_dest_each(&g, collect_prefix, &c);
	free(c.index);
	for (j = 0; j < pol->npeers; j++)
		qsort(pol->peers[j].addresses, pol->peers[j].naddresses, sizeof(struct bwl_pfx),
		      by_address);
	bwl_gen_close(&g);
	if (r) {
		bwl_policy_free(pol);
		return bwl_fail(e, -r, "cannot read the destinations: %s", strerror(-r));
	}
	*ret = pol;
	return 0;
}

int bwl_policy_read_as(struct bwl_pins *p, uint32_t id, const struct bwl_peer *body,
		       struct bwl_policy **ret, struct bwl_err *e)
{
	return read_slot(p, bwl_active_slot(p), id, body, ret, e);
}

int bwl_policy_read(struct bwl_pins *p, struct bwl_policy **ret, struct bwl_err *e)
{
	return read_slot(p, bwl_active_slot(p), 0, NULL, ret, e);
}

int bwl_policy_read_slot(struct bwl_pins *p, uint32_t slot, struct bwl_policy **ret,
			 struct bwl_err *e)
{
	return read_slot(p, slot, 0, NULL, ret, e);
}
