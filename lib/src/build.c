/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A checked policy into the data plane's tables. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include "build.h"

/* ARP and ND of one host; ARP, ND and control protocols of the DPU on one uplink. */
#define NEIGHBOUR_RATE_BPS 1000000U
#define NEIGHBOUR_BURST 16384U
#define UNDERLAY_RATE_BPS 10000000U
#define UNDERLAY_BURST 65536U

int bwl_build_sizes(const struct bwl_policy *pol, struct bwl_gen_size *ret, struct bwl_err *e)
{
	struct bwl_gen_size n = { 0 };
	size_t i, j;

	if (pol->nports + pol->nuplinks > BWL_MAX_PORTS || pol->nzones >= BWL_MAX_ZONES)
		return bwl_fail(e, E2BIG, "more than %d ports or %d zones", BWL_MAX_PORTS,
				BWL_MAX_ZONES - 1);
	for (i = 0; i < pol->npeers; i++) {
		const struct bwl_pol_peer *q = &pol->peers[i];

		for (j = 0; j < q->naddresses; j++) {
			const struct bwl_pfx *a = &q->addresses[j];

			if (a->family == 4)
				*(a->len == 32 ? &n.dst4 : &n.lpm4) += 1;
			else
				*(a->len == 128 ? &n.dst6 : &n.lpm6) += 1;
		}
		for (j = 0; j < _BWL_CLASS_MAX; j++)
			n.subs += q->class_[j].present;
		n.subs += q->floor.present;
	}
	for (i = 0; i < pol->nports; i++)
		n.own += (uint32_t)pol->ports[i].nsources;
	for (i = 0; i < pol->npeers; i++)
		n.own += *pol->peers[i].ipsec_remote != 0;
	n.peers = (uint32_t)pol->npeers;
	*ret = n;
	return 0;
}

static int port_id(const struct bwl_pins *p, const char *name)
{
	int i;

	for (i = 0; i < BWL_MAX_PORTS; i++)
		if (p->dev[i].ifindex && !strncmp(p->dev[i].name, name, sizeof(p->dev[i].name)))
			return i;
	return -1;
}

static uint32_t turn_epoch(const struct bwl_window *w)
{
	return (uint32_t)(w->turn >> BWL_TURN_EPOCH_SHIFT) & 0x7f;
}

/* Neither the window's own epoch nor the one in force, however many there have been. */
static uint32_t other_epoch(const struct bwl_window *w, uint32_t in_force)
{
	uint32_t epoch = (in_force + 1) & 0x7f;

	return epoch == turn_epoch(w) ? (epoch + 1) & 0x7f : epoch;
}

static int build_window(struct bwl_ids *ids, const struct bwl_lim *lim, uint32_t state,
			const struct bwl_volume *before, struct bwl_volume *v, bool *ret_new,
			struct bwl_err *e)
{
	struct bwl_window *w;
	int r;

	v->slice_ns = (lim->window_ns + BWL_WINDOW_SLICES - 1) / BWL_WINDOW_SLICES;
	r = bwl_ids_window(ids, state, &v->window, ret_new, e);
	if (r)
		return r;
	w = &ids->p->window[v->window];
	if (before && before->slice_ns)
		v->epoch = before->slice_ns == v->slice_ns ? before->epoch
							   : other_epoch(w, before->epoch);
	else
		v->epoch = other_epoch(w, turn_epoch(w));	/* its slice length is not known any more */
	return 0;
}

int bwl_build_limit(struct bwl_carry *carry, const struct bwl_lim *lim, uint32_t state,
		    const struct bwl_volume *before, struct bwl_limit *ret, struct bwl_err *e)
{
	struct bwl_volume *v = &ret->volume;
	uint64_t rate = lim->present ? lim->rate_bps : BWL_NO_RATE;
	bool seen = carry->ids->window_of && carry->ids->window_of[state], made;
	int r = 0;

	bwl_rate_encode(&ret->rate, rate, lim->burst ? lim->burst : bwl_default_burst(rate));
	*v = (struct bwl_volume){ .spendable_bytes = BWL_VOLUME_NONE, .window = BWL_NO_WINDOW,
				  .state = state };
	if (lim->present && lim->has_volume) {
		v->spendable_bytes = lim->volume;
		if (lim->window_ns)
			r = build_window(carry->ids, lim, state, before, v, &made, e);
	}
	return r ? r : bwl_carry_add(carry, v, before, seen, e);
}

static int fill_limit(struct bwl_build *b, const struct bwl_lim *lim, uint32_t state,
		      const struct bwl_limit *before, struct bwl_limit *ret, struct bwl_err *e)
{
	return bwl_build_limit(&b->carry, lim, state, before ? &before->volume : NULL, ret, e);
}

/* Limits that exist once: node, zones, ports. */
static int fill_extra(struct bwl_build *b, enum bwl_extra_kind kind, const char *name,
		      const struct bwl_lim *lim, const struct bwl_limit *before,
		      struct bwl_limit *ret, struct bwl_err *e)
{
	uint32_t state = 0;
	int r = bwl_ids_extra(b->ids, kind, name, 0, 0, &state, e);

	if (r)
		return r;
	return fill_limit(b, lim, state, before && before->volume.state == state ? before : NULL,
			  ret, e);
}

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

static struct bwl_key_lpm6 own_key(const struct bwl_pfx *pfx)
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
	struct bwl_key_lpm6 key = own_key(pfx);

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
	if (bpf_map_update_elem(b->gen.own, &key, &id, 0))
		return bwl_fail(e, errno, "cannot add a source of %s: %s", port->name, strerror(errno));
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

/* A host port that is new may be one that goes: it takes over what is on the accounts of these. */
static int carry_ports(struct bwl_build *b, struct bwl_err *e)
{
	int i, r = 0;

	for (i = 0; !r && b->old && i < BWL_MAX_PORTS; i++) {
		const struct bwl_port *old = &b->old->base->port[i];

		if (old->flags & BWL_PORT_HOST && !has_port(b->pol, old->name))
			r = bwl_carry_from(&b->carry, old->limit.volume.state, e);
	}
	return r;
}

/* What host ports and uplinks have in common. limit: of the policy. */
static int fill_port(struct bwl_build *b, const char *name, bool host, const struct bwl_lim *limit,
		     int *ret_id, struct bwl_err *e)
{
	const struct bwl_lim small = { .present = true,
				       .rate_bps = host ? NEIGHBOUR_RATE_BPS : UNDERLAY_RATE_BPS,
				       .burst = host ? NEIGHBOUR_BURST : UNDERLAY_BURST };
	int id = port_id(b->p, name), r = 0;
	const struct bwl_port *old;
	struct bwl_port *port;

	if (id < 0 || !(b->p->dev[id].kind & (host ? BWL_PORT_HOST : BWL_PORT_UPLINK))) {
		bwl_fail(e, ENODEV, "%s is not attached as %s", name, host ? "a host port" : "an uplink");
		return bwl_hint(e, "bwlimit-load attach %s %s", host ? "--host" : "--uplink", name);
	}
	*ret_id = id;
	port = &b->gen.base->port[id];
	old = b->old ? &b->old->base->port[id] : NULL;
	snprintf(port->name, sizeof(port->name), "%s", name);
	port->flags = host ? BWL_PORT_HOST : BWL_PORT_UPLINK;
	if (host && !(old && old->flags))
		r = carry_ports(b, e);
	if (!r)
		r = fill_extra(b, BWL_X_PORT, name, limit, old ? &old->limit : NULL, &port->limit, e);
	if (!r)
		r = fill_extra(b, BWL_X_NEIGHBOUR, name, &small, old ? &old->neighbour : NULL,
			       &port->neighbour, e);
	return r;
}

static int fill_uplink(struct bwl_build *b, const char *name, struct bwl_err *e)
{
	const struct bwl_lim none = { 0 };
	int id, r = fill_port(b, name, false, &none, &id, e);

	if (!r && (!b->gen.base->mtu || b->p->dev[id].mtu < b->gen.base->mtu))
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

static bool has_zone(const struct bwl_policy *pol, const char *name)
{
	size_t i;

	for (i = 0; i < pol->nzones; i++)
		if (!strcmp(pol->zones[i].name, name))
			return true;
	return false;
}

/* Zones whose members are in zone i now: of a zone that is new all, of one that stays those gone. */
static int carry_members(struct bwl_build *b, size_t i, bool is_new,
			 uint8_t (*took)[BWL_MAX_ZONES], struct bwl_err *e)
{
	const struct bwl_zone *old;
	size_t j;
	int r = 0;

	for (j = 1; !r && b->old && j < BWL_MAX_ZONES; j++) {
		old = &b->old->base->zone[j];
		if (took[i][j] && strcmp(old->name, b->pol->zones[i].name) &&
		    (is_new || !has_zone(b->pol, old->name)))
			r = bwl_carry_from(&b->carry, old->limit.volume.state, e);
	}
	return r;
}

static int fill_zones(struct bwl_build *b, uint8_t (*took)[BWL_MAX_ZONES], struct bwl_err *e)
{
	size_t i, j;
	int r;

	for (i = 0; i < b->pol->nzones; i++) {
		struct bwl_zone *z = &b->gen.base->zone[i + 1];
		const struct bwl_limit *old = NULL;

		snprintf(z->name, sizeof(z->name), "%s", b->pol->zones[i].name);
		for (j = 1; b->old && j < BWL_MAX_ZONES; j++)
			if (!strcmp(b->old->base->zone[j].name, z->name))
				old = &b->old->base->zone[j].limit;
		r = carry_members(b, i, !old, took, e);
		if (!r)
			r = fill_extra(b, BWL_X_ZONE, z->name, &b->pol->zones[i].limit, old, &z->limit, e);
		if (r)
			return r;
	}
	return 0;
}

static int nexthop(struct bwl_build *b, const struct bwl_pol_peer *q, uint16_t *ret,
		   struct bwl_err *e)
{
	const char *uplink = q->uplink[0] ? q->uplink : b->pol->nuplinks ? b->pol->uplinks[0] : "";
	struct bwl_nexthop h = { 0 };
	int id = port_id(b->p, uplink);
	uint32_t i;

	*ret = 0;
	if (id < 0)
		return bwl_fail(e, ENODEV, "peer %s: uplink %s is not attached", q->name, uplink);
	h.port = (uint32_t)id;
	if (q->path != BWL_PATH_CLEAR) { /* the far gateway; used once an SA is bound */
		h.has4 = inet_pton(AF_INET, q->ipsec_remote, &h.via4) == 1;
		h.has6 = inet_pton(AF_INET6, q->ipsec_remote, h.via6) == 1;
	} else {
		h.has4 = q->has_via4;
		h.has6 = q->has_via6;
		if (h.has4)
			memcpy(&h.via4, q->via4, 4);
		if (h.has6)
			memcpy(h.via6, q->via6, 16);
	}
	for (i = b->nnexthops; i; i--)
		if (!memcmp(&b->gen.base->nexthop[i], &h, sizeof(h)))
			break;
	if (!i) {
		if (b->nnexthops + 1 >= BWL_MAX_NEXTHOPS)
			return bwl_fail(e, E2BIG, "more than %d different next hops",
					BWL_MAX_NEXTHOPS - 1);
		i = ++b->nnexthops;
		b->gen.base->nexthop[i] = h;
	}
	*ret = (uint16_t)i;
	return 0;
}

/* ESP and IKE come from there and go there, and nothing else does. */
static int fill_remote(struct bwl_build *b, const struct bwl_pol_peer *q, uint32_t id,
		       struct bwl_err *e)
{
	uint32_t owner = BWL_OWN_REMOTE | id;
	struct bwl_key_lpm6 key;
	struct bwl_pfx pfx;
	int r;

	if (q->path == BWL_PATH_CLEAR)
		return 0;
	r = bwl_pfx_parse(q->ipsec_remote, &pfx, e);
	if (r)
		return r;
	key = own_key(&pfx);
	if (bpf_map_update_elem(b->gen.own, &key, &owner, BPF_NOEXIST))
		return bwl_fail(e, errno, "peer %s: cannot add ipsec remote %s: %s", q->name,
				q->ipsec_remote, strerror(errno));
	return 0;
}

/* The tunnel device is no port of the policy: what passes it is judged by the peer alone. */
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

static int from_mask(struct bwl_build *b, const struct bwl_pol_peer *q, __u64 *ret,
		     struct bwl_err *e)
{
	size_t i;
	int id;

	*ret = q->nfrom ? 0 : ~0ULL;
	for (i = 0; i < q->nfrom; i++) {
		id = port_id(b->p, q->from[i]);
		if (id < 0)
			return bwl_fail(e, ENODEV, "peer %s: from %s is not attached", q->name,
					q->from[i]);
		*ret |= 1ULL << id;
	}
	return 0;
}

/* A grant that was revoked stays revoked, whatever the file says, and so do those in its place. */
static bool still_revoked(const struct bwl_build *b, size_t i)
{
	const struct bwl_heir *h;
	bool revoked = bwl_is_revoked(b->p, b->ids->fresh[2 * b->id[i]] ? NULL : b->old, b->id[i]);
	size_t n, j;

	h = bwl_heirs_of(&b->heirs, i, &n);
	for (j = 0; !revoked && j < n; j++)
		revoked = bwl_is_revoked(b->p, b->old, h[j].of);
	return revoked;
}

/* The same limit of all those whose place peer i takes. */
static int carry_from(struct bwl_build *b, size_t i, enum bwl_extra_kind kind, uint8_t class_,
		      struct bwl_err *e)
{
	const struct bwl_heir *h;
	size_t n, j;
	int r = 0;

	h = bwl_heirs_of(&b->heirs, i, &n);
	for (j = 0; !r && j < n; j++) {
		uint32_t state = kind == BWL_X_FREE ? 2 * h[j].of
				 : bwl_ids_find_extra(b->ids, kind, NULL, h[j].of, class_);

		if (state)
			r = bwl_carry_from(&b->carry, state, e);
	}
	return r;
}

/* Classes in order from sub_base, then the floor. */
static int fill_subs(struct bwl_build *b, size_t i, const struct bwl_peer *before,
		     struct bwl_peer *body, struct bwl_err *e)
{
	const struct bwl_pol_peer *q = &b->pol->peers[i];
	uint32_t id = b->id[i], c, state, k = 0, oldk = 0;
	int r = 0;

	body->meta.sub_base = b->nsubs + 1;
	for (c = 0; !r && c < _BWL_CLASS_MAX; c++) {
		const struct bwl_limit *old = NULL;

		if (before && before->meta.class_mask & 1U << c)
			old = &b->old->sub[before->meta.sub_base + oldk++];
		if (!q->class_[c].present)
			continue;
		r = bwl_ids_extra(b->ids, BWL_X_CLASS, NULL, id, (uint8_t)c, &state, e);
		if (!r)
			r = carry_from(b, i, BWL_X_CLASS, (uint8_t)c, e);
		if (!r)
			r = fill_limit(b, &q->class_[c], state, old, &b->gen.sub[b->nsubs + 1 + k], e);
		body->meta.class_mask |= (uint16_t)(1U << c);
		k++;
	}
	b->nsubs += k;
	if (r || !q->floor.present)
		return r;
	r = bwl_ids_extra(b->ids, BWL_X_FLOOR, NULL, id, 0, &state, e);
	if (!r)
		r = carry_from(b, i, BWL_X_FLOOR, 0, e);
	if (r)
		return r;
	body->grant.volume.floor = ++b->nsubs;
	return fill_limit(b, &q->floor, state,
			  before && before->grant.volume.floor
				  ? &b->old->sub[before->grant.volume.floor] : NULL,
			  &b->gen.sub[b->nsubs], e);
}

static int fill_peer(struct bwl_build *b, size_t i, struct bwl_err *e)
{
	const struct bwl_pol_peer *q = &b->pol->peers[i];
	struct bwl_peer *body = &b->gen.peer[i + 1];
	const struct bwl_peer *before = NULL;
	uint32_t id = b->id[i], slot;
	struct bwl_lim accept;
	size_t z;
	int r;

	if (b->old && !b->ids->fresh[2 * id]) {
		slot = b->p->gate[id].slot[b->old->slot];
		if (slot && slot < b->old->npeers)
			before = &b->old->peer[slot];
	}
	body->meta.expiry_ns = q->expiry_ns;
	body->meta.mode = q->mode;
	body->meta.path = q->path;
	body->meta.flags = (uint8_t)((q->grant.present ? BWL_PEER_GRANT : 0) |
				     (q->contained ? BWL_PEER_CONTAINED : 0));
	for (z = 0; q->zone[0] && z < b->pol->nzones; z++)
		if (!strcmp(b->pol->zones[z].name, q->zone))
			body->meta.zone = (uint8_t)(z + 1);
	if (q->zone[0] && !body->meta.zone)
		return bwl_fail(e, EINVAL, "peer %s: zone %s is not in the policy", q->name, q->zone);
	if (still_revoked(b, i)) {
		body->meta.grant_seq = 0;
		b->rep->kept_revoked++;
	} else {
		body->meta.grant_seq = b->seq;
	}
	r = from_mask(b, q, &body->meta.from, e);
	if (!r)
		r = nexthop(b, q, &body->meta.nexthop, e);
	if (!r)
		r = fill_remote(b, q, id, e);
	if (!r)
		r = carry_from(b, i, BWL_X_FREE, 0, e);
	if (!r)
		r = fill_limit(b, &q->grant, 2 * id, before ? &before->grant : NULL, &body->grant, e);
	if (!r)
		r = fill_subs(b, i, before, body, e);
	body->grant.rate.mark = (uint8_t)(q->mark_pct * 256U / 100U > 255 ? 255 : q->mark_pct * 256U / 100U);
	/* Without BWL_PEER_ACCEPT nothing arrives; unlimited, so that a later grant starts in debt. */
	bwl_rate_encode(&body->accept, BWL_NO_RATE, 0);
	accept = q->accept.present ? q->accept : bwl_default_accept(&q->grant);
	if (q->grant.present && !q->accept_none) {
		body->meta.flags |= BWL_PEER_ACCEPT;
		bwl_rate_encode(&body->accept, accept.rate_bps,
				accept.burst ? accept.burst : bwl_default_burst(accept.rate_bps));
	}
	if (!strcmp(q->name, "self"))
		b->gen.base->self_id = id;
	return r;
}

#define DEST_BATCH 65536U

/* Exact destinations go in by the batch: one system call for 65536 of them. */
struct batch {
	int fd;
	uint32_t key_size, n;
	uint8_t *keys;
	uint32_t *ids;
};

static int batch_flush(struct batch *t, struct bwl_err *e)
{
	uint32_t n = t->n;

	if (n && bpf_map_update_batch(t->fd, t->keys, t->ids, &n, NULL))
		return bwl_fail(e, errno, "cannot add destinations: %s", strerror(errno));
	t->n = 0;
	return 0;
}

static int batch_add(struct batch *t, const uint8_t *key, uint32_t id, struct bwl_err *e)
{
	memcpy(t->keys + (size_t)t->n * t->key_size, key, t->key_size);
	t->ids[t->n++] = id;
	return t->n == DEST_BATCH ? batch_flush(t, e) : 0;
}

static int add_prefix(struct bwl_build *b, const struct bwl_pfx *a, uint32_t id, struct bwl_err *e)
{
	uint8_t key[20];
	uint32_t len = a->len;

	memcpy(key, &len, 4);
	memcpy(key + 4, a->addr, a->family == 4 ? 4 : 16);
	if (bpf_map_update_elem(a->family == 4 ? b->gen.lpm4 : b->gen.lpm6, key, &id, 0))
		return bwl_fail(e, errno, "cannot add a destination prefix: %s", strerror(errno));
	return 0;
}

static int fill_dests(struct bwl_build *b, struct bwl_err *e)
{
	struct batch t4 = { .fd = b->gen.dst4, .key_size = 4 };
	struct batch t6 = { .fd = b->gen.dst6, .key_size = 16 };
	bool exact4 = false, exact6 = false;
	size_t i, j;
	int r = 0;

	t4.keys = calloc(DEST_BATCH, 4);
	t6.keys = calloc(DEST_BATCH, 16);
	t4.ids = calloc(DEST_BATCH, 4);
	t6.ids = calloc(DEST_BATCH, 4);
	if (!t4.keys || !t6.keys || !t4.ids || !t6.ids)
		r = bwl_fail(e, ENOMEM, "out of memory");
	for (i = 0; !r && i < b->pol->npeers; i++) {
		const struct bwl_pol_peer *q = &b->pol->peers[i];

		for (j = 0; !r && j < q->naddresses; j++) {
			const struct bwl_pfx *a = &q->addresses[j];

			if (a->family == 4 && a->len == 32)
				r = batch_add(&t4, a->addr, b->id[i], e);
			else if (a->family == 6 && a->len == 128)
				r = batch_add(&t6, a->addr, b->id[i], e);
			else
				r = add_prefix(b, a, b->id[i], e);
			exact4 |= a->family == 4 && a->len == 32;
			exact6 |= a->family == 6 && a->len == 128;
			b->gen.base->has_lpm4 |= a->family == 4 && a->len != 32;
			b->gen.base->has_lpm6 |= a->family == 6 && a->len != 128;
			b->rep->prefixes++;
		}
	}
	b->gen.base->only_lpm = (exact4 ? 0 : BWL_ONLY_LPM4) | (exact6 ? 0 : BWL_ONLY_LPM6);
	if (!r)
		r = batch_flush(&t4, e);
	if (!r)
		r = batch_flush(&t6, e);
	free(t4.keys);
	free(t6.keys);
	free(t4.ids);
	free(t6.ids);
	return r;
}

int bwl_build_fill(struct bwl_build *b, struct bwl_err *e)
{
	struct bwl_base *base = b->gen.base;
	const struct bwl_policy *pol = b->pol;
	uint8_t (*took)[BWL_MAX_ZONES];
	size_t i;
	int r;

	base->heartbeat_ns = pol->heartbeat_none ? 0 : pol->heartbeat_ns;
	base->min_charge = pol->min_charge;
	base->horizon_ns = pol->horizon_ns;
	base->ledger = pol->ledger;
	base->control = pol->control;
	base->npeers = (uint32_t)pol->npeers;
	snprintf(base->node_name, sizeof(base->node_name), "%s", pol->node);
	bwl_class_table(pol, base->proto_class, base->port_class);
	r = bwl_policy_digest(pol, base->digest);
	if (r)
		return bwl_fail(e, -r, "cannot compute the policy's digest");
	r = fill_extra(b, BWL_X_NODE, NULL, &pol->node_limit, b->old ? &b->old->base->node : NULL,
		       &base->node, e);
	for (i = 0; !r && i < pol->nuplinks; i++)
		r = fill_uplink(b, pol->uplinks[i], e);
	for (i = 0; !r && i < pol->nports; i++)
		r = fill_host_port(b, &pol->ports[i], e);
	fill_tunnel_port(b);
	took = bwl_heirs_zones(&b->heirs, b->p, pol, b->old, b->id);
	if (!r)
		r = took ? fill_zones(b, took, e) : bwl_fail(e, ENOMEM, "out of memory");
	free(took);
	for (i = 0; !r && i < pol->npeers; i++)
		r = fill_peer(b, i, e);
	if (!r)
		r = fill_dests(b, e);
	return r;
}

/*
 * drained() goes on where it was: a change of rate or burst adds no tokens. A limit that was
 * not in force starts in full debt: neither a boot nor a new name gives a burst.
 */
static void start_rate(struct bwl_build *b, struct bwl_rate *r, uint32_t state, uint64_t now_ns)
{
	const struct bwl_rate *old = b->old_rate[state];

	r->start_ns = now_ns;
	if (old && !(old->flags & BWL_RATE_UNLIMITED))
		r->base_bytes = bwl_rate_drained(old, now_ns);
	else
		r->base_bytes = b->p->state[state].finish_bytes - r->burst_bytes;
}

void bwl_build_start(struct bwl_build *b, uint64_t now_ns)
{
	struct bwl_base *base = b->gen.base;
	uint32_t i;

	for (i = 0; i < b->pol->npeers; i++) {
		start_rate(b, &b->gen.peer[i + 1].grant.rate, 2 * b->id[i], now_ns);
		start_rate(b, &b->gen.peer[i + 1].accept, 2 * b->id[i] + 1, now_ns);
	}
	for (i = 1; i <= b->nsubs; i++)
		start_rate(b, &b->gen.sub[i].rate, b->gen.sub[i].volume.state, now_ns);
	for (i = 1; i < BWL_MAX_ZONES; i++)
		if (base->zone[i].name[0])
			start_rate(b, &base->zone[i].limit.rate, base->zone[i].limit.volume.state, now_ns);
	for (i = 0; i < BWL_MAX_PORTS; i++) {
		if (!(base->port[i].flags & (BWL_PORT_HOST | BWL_PORT_UPLINK)))
			continue;
		start_rate(b, &base->port[i].limit.rate, base->port[i].limit.volume.state, now_ns);
		start_rate(b, &base->port[i].neighbour.rate, base->port[i].neighbour.volume.state, now_ns);
	}
	start_rate(b, &base->node.rate, base->node.volume.state, now_ns);
}
