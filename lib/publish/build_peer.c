// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes one peer into one generation: its path, its limits and those of its classes. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bwl/effects.h>
#include <bwl/map_io.h>
#include "build.h"
#include "given_up.h"

static int nexthop(struct bwl_build *b, const struct bwl_pol_peer *q, uint16_t *ret,
		   struct bwl_err *e)
{
	struct bwl_nexthop h = { 0 };
	struct bwl_hop hop;
	uint32_t i;
	int id;

	*ret = 0;
	bwl_effect_hop(b->pol, q, &hop);
	id = bwl_port_named(b->p, hop.uplink);
	if (id < 0)
		return bwl_fail(e, ENODEV, "peer %s: uplink %s is not attached", q->name,
				hop.uplink);
	h.port = (uint32_t)id;
	memcpy(h.mac_head, hop.mac, 2);
	memcpy(h.mac_tail, hop.mac + 2, 4);
	if (*hop.remote) { /* the far gateway; used once an SA is bound */
		h.has4 = inet_pton(AF_INET, hop.remote, &h.via4) == 1;
		h.has6 = inet_pton(AF_INET6, hop.remote, h.via6) == 1;
	} else {
		h.has4 = hop.has_via4;
		h.has6 = hop.has_via6;
		memcpy(&h.via4, hop.via4, 4);
		memcpy(h.via6, hop.via6, 16);
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

/* Nothing but ESP and IKE comes from or goes to the remote address. */
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
	key = bwl_build_own_key(&pfx);
	r = bwl_map_put(b->gen.own, &key, &owner, BPF_NOEXIST);
	if (r)
		return bwl_build_refused(b, BWL_PIN_own, &pfx, q->name, -r, e);
	b->written.own++;
	return 0;
}

static int from_mask(struct bwl_build *b, const struct bwl_pol_peer *q, __u64 *ret,
		     struct bwl_err *e)
{
	size_t i;
	int id;

	*ret = q->nfrom ? 0 : ~0ULL;
	for (i = 0; i < q->nfrom; i++) {
		id = bwl_port_named(b->p, q->from[i]);
		if (id < 0)
			return bwl_fail(e, ENODEV, "peer %s: from %s is not attached", q->name,
					q->from[i]);
		*ret |= 1ULL << id;
	}
	return 0;
}

static bool is_opened(const struct bwl_build *b, const char *name)
{
	for (size_t i = 0; b->o && i < b->o->nopens; i++)
		if (!strcmp(b->o->opens[i], name))
			return true;
	return false;
}

/*
 * A revoked grant stays revoked, whatever the file says, and so does the grant of a peer that takes
 * over its prefixes. After a trial it is judged by the grant that the policy before gave: a grant
 * that the trial opened (opens) ends with it.
 */
static bool still_revoked(const struct bwl_build *b, size_t i)
{
	const struct bwl_gen *by = b->returns ? b->returns : b->old;
	const struct bwl_heir *h;
	bool revoked = b->pol->peers[i].revoked || b->taken[i] ||
		       bwl_is_revoked(b->p, b->ids->fresh[bwl_grant_state(b->id[i])] ? NULL : by,
				      b->id[i]);
	size_t n, j;

	h = bwl_heirs_of(&b->heirs, i, &n);
	for (j = 0; !revoked && j < n; j++)
		revoked = bwl_is_revoked(b->p, b->old, h[j].of);
	return revoked;
}

/*
 * Takes over the same limit of all peers whose prefixes peer i takes, or who gave them up. port:
 * for a tenant.
 */
static int carryover_from(struct bwl_build *b, size_t i, enum bwl_extra_kind kind, const char *port,
			  uint8_t class_, struct bwl_err *e)
{
	const struct bwl_heir *h;
	size_t n, j;
	int r = 0;

	h = bwl_heirs_of(&b->heirs, i, &n);
	for (j = 0; !r && j < n; j++) {
		uint32_t state = kind == BWL_X_FREE
					 ? bwl_grant_state(h[j].of)
					 : bwl_ids_find_extra(b->ids, kind, port, h[j].of, class_);

		if (state)
			r = bwl_carryover_from(&b->carryover, state, e);
	}
	if (!r && b->owed && b->owed[i])
		r = bwl_carryover_owed(&b->carryover, bwl_given_bytes(b->owed[i], kind, class_), e);
	return r;
}

/*
 * A class with a limit is counted by that limit. To count a class without one, it gets a limit that
 * limits nothing; in policies that do not ask for it, packets cost nothing more.
 */
bool bwl_build_counts(const struct bwl_policy *pol, const struct bwl_pol_peer *q, size_t class_)
{
	return q->class_[class_].present || (pol->count_all && q->grant.present);
}

bool bwl_build_accept_volume(const struct bwl_pol_peer *q)
{
	return q->grant.present && !q->accept_none && q->accept.has_volume;
}

/* One of a peer's own limits that is kept in sub. old: its index in the old generation; 0: none. */
static int fill_sub(struct bwl_build *b, size_t i, enum bwl_extra_kind kind,
		    const struct bwl_lim *lim, uint32_t old, struct bwl_err *e)
{
	uint32_t state = 0;
	int r = bwl_ids_extra(b->ids, kind, NULL, b->id[i], 0, &state, e);

	if (!r)
		r = carryover_from(b, i, kind, NULL, 0, e);
	if (r)
		return r;
	return bwl_build_own_limit(b, lim, state, old ? &b->old->sub[old] : NULL,
				   &b->gen.sub[++b->nsubs], e);
}

/* Separate from accept's rate, which uses the peer's own state: this limit has no rate. */
static int fill_accept_volume(struct bwl_build *b, size_t i, const struct bwl_peer *before,
			      struct bwl_peer *body, struct bwl_err *e)
{
	struct bwl_lim lim = b->pol->peers[i].accept;

	if (!bwl_build_accept_volume(&b->pol->peers[i]))
		return 0;
	lim.rate_bps = BWL_NO_RATE;
	lim.burst = 0;
	body->meta.flags |= BWL_PEER_ACCEPT_VOLUME;
	return fill_sub(b, i, BWL_X_ACCEPT, &lim, before ? bwl_accept_sub(&before->meta) : 0, e);
}

/* The peer's portion of a zone that is shared by weight. */
static int fill_portion(struct bwl_build *b, size_t i, struct bwl_peer *body, struct bwl_err *e)
{
	const struct bwl_pol_peer *q = &b->pol->peers[i];
	const struct bwl_pol_zone *z = bwl_policy_zone_of(b->pol, q);
	struct bwl_lim lim;
	int r;

	if (!z || !z->weighted)
		return 0;
	lim = bwl_portion(&z->limit, q->weight, b->weights[z - b->pol->zones]);
	body->meta.flags |= BWL_PEER_PORTION;
	r = fill_sub(b, i, BWL_X_PORTION, &lim, 0, e);
	if (!r)
		b->gen.sub[b->nsubs].volume.weight = q->weight;
	return r;
}

static bool has_port(const struct bwl_policy *pol, const char *name)
{
	for (size_t i = 0; i < pol->nports; i++)
		if (!strncmp(pol->ports[i].name, name, BWL_NAME_LEN))
			return true;
	return false;
}

/* Takes over that peer's accounts for host ports that are no longer in the policy. */
static int carryover_gone(struct bwl_build *b, uint32_t id, struct bwl_err *e)
{
	const struct bwl_extra *x;
	int r = 0;

	for (uint32_t k = b->ids->extra_of[id]; !r && k; k = b->ids->extra_before[k - 1]) {
		x = &b->p->extra[k - 1];
		if (x->kind == BWL_X_TENANT && !has_port(b->pol, x->name))
			r = bwl_carryover_from(&b->carryover,
					       BWL_EXTRA_STATE(b->p->schema.max_peers, k - 1), e);
	}
	return r;
}

/*
 * A tenant on a new host port may be one from a removed port, because the new port takes over the
 * removed port's accounts. Found from the accounts, not the policy in force: that policy may have
 * lacked the peer or its limit.
 */
static int carryover_ports(struct bwl_build *b, size_t i, int port, struct bwl_err *e)
{
	const struct bwl_heir *h;
	size_t n, j;
	int r;

	if (!b->old || b->old->base->port[port].flags)
		return 0;
	r = carryover_gone(b, b->id[i], e);
	h = bwl_heirs_of(&b->heirs, i, &n);
	for (j = 0; !r && j < n; j++)
		r = carryover_gone(b, h[j].of, e);
	return r;
}

/* In the entries after nsubs: which ports have tenants, then the tenants, last port first. */
static int fill_tenants(struct bwl_build *b, size_t i, const struct bwl_peer *before,
			struct bwl_peer *body, struct bwl_err *e)
{
	const struct bwl_pol_peer *q = &b->pol->peers[i];
	struct bwl_tenants which = { 0 };
	uint32_t id = b->id[i], state;
	int port, r;
	size_t k;

	for (k = 0; k < q->ntenants; k++) {
		port = bwl_port_named(b->p, q->tenants[k].port);
		if (port < 0)
			return bwl_fail(e, ENODEV, "peer %s: port %s is not attached", q->name,
					q->tenants[k].port);
		which.ports |= 1ULL << port;
	}
	body->meta.class_mask |= BWL_HAS_TENANTS;
	body->meta.sub_base = b->nsubs + (uint32_t)q->ntenants + 2;
	memcpy(&b->gen.sub[body->meta.sub_base - 1], &which, sizeof(which));
	for (k = 0; k < q->ntenants; k++) {
		const struct bwl_pol_tenant *t = &q->tenants[k];
		const struct bwl_limit *old = NULL;

		port = bwl_port_named(b->p, t->port);
		r = bwl_ids_extra(b->ids, BWL_X_TENANT, t->port, id, 0, &state, e);
		if (before)
			old = bwl_gen_tenant(b->old, before, (uint32_t)port);
		if (old && old->volume.state != state)
			old = NULL;
		if (!r)
			r = carryover_from(b, i, BWL_X_TENANT, t->port, 0, e);
		if (!r)
			r = carryover_ports(b, i, port, e);
		if (!r)
			r = bwl_build_own_limit(
				b, &t->limit, state, old,
				&b->gen.sub[bwl_tenant_index(&which, body->meta.sub_base,
							     (uint32_t)port)],
				e);
		if (r)
			return r;
	}
	b->nsubs += (uint32_t)q->ntenants + 1;
	return 0;
}

/* Tenants, then classes in order from sub_base, accept's volume, the portion, the floor. */
static int fill_subs(struct bwl_build *b, size_t i, const struct bwl_peer *before,
		     struct bwl_peer *body, struct bwl_err *e)
{
	const struct bwl_pol_peer *q = &b->pol->peers[i];
	uint32_t id = b->id[i], c, state, k = 0, oldk = 0;
	int r = 0;

	body->meta.sub_base = b->nsubs + 1;
	if (q->ntenants)
		r = fill_tenants(b, i, before, body, e);
	for (c = 0; !r && c < _BWL_CLASS_MAX; c++) {
		const struct bwl_limit *old = NULL;

		if (before && before->meta.class_mask & 1U << c)
			old = &b->old->sub[before->meta.sub_base + oldk++];
		if (!bwl_build_counts(b->pol, q, c))
			continue;
		r = bwl_ids_extra(b->ids, BWL_X_CLASS, NULL, id, (uint8_t)c, &state, e);
		if (!r)
			r = carryover_from(b, i, BWL_X_CLASS, NULL, (uint8_t)c, e);
		if (!r)
			r = bwl_build_own_limit(b, &q->class_[c], state, old,
						&b->gen.sub[b->nsubs + 1 + k], e);
		body->meta.class_mask |= (uint16_t)(1U << c);
		k++;
	}
	b->nsubs += k;
	if (!r)
		r = fill_accept_volume(b, i, before, body, e);
	if (!r)
		r = fill_portion(b, i, body, e);
	if (r || !q->floor.present)
		return r;
	body->grant.volume.floor = b->nsubs + 1;
	return fill_sub(b, i, BWL_X_FLOOR, &q->floor, before ? before->grant.volume.floor : 0, e);
}

int bwl_build_peer(struct bwl_build *b, size_t i, struct bwl_err *e)
{
	const struct bwl_pol_peer *q = &b->pol->peers[i];
	struct bwl_peer *body = &b->gen.peer[i + 1];
	const struct bwl_peer *before = NULL;
	uint32_t id = b->id[i];
	struct bwl_lim accept;
	const struct bwl_pol_zone *z = bwl_policy_zone_of(b->pol, q);
	int r;

	if (b->old && !b->ids->fresh[bwl_grant_state(id)])
		before = bwl_body(b->p, b->old, id);
	body->meta.expiry_ns = q->expiry_ns;
	body->meta.mode = q->mode;
	body->meta.path = q->path;
	body->meta.flags = (uint8_t)((q->grant.present ? BWL_PEER_GRANT : 0) |
				     (q->contained ? BWL_PEER_CONTAINED : 0));
	body->meta.zone = z ? (uint8_t)(z - b->pol->zones + 1) : 0;
	if (q->zone[0] && !z)
		return bwl_fail(e, EINVAL, "peer %s: zone %s is not in the policy", q->name,
				q->zone);
	if (!is_opened(b, q->name) && still_revoked(b, i)) {
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
		r = carryover_from(b, i, BWL_X_FREE, NULL, 0, e);
	if (!r)
		r = bwl_build_own_limit(b, &q->grant, bwl_grant_state(id),
					before ? &before->grant : NULL, &body->grant, e);
	if (!r)
		r = fill_subs(b, i, before, body, e);
	body->grant.rate.ce_from =
		(uint8_t)(q->mark_pct * 256U / 100U > 255 ? 255 : q->mark_pct * 256U / 100U);
	/*
	 * Without BWL_PEER_ACCEPT nothing arrives. Unlimited here, so that a later grant starts in
	 * debt.
	 */
	bwl_rate_encode(&body->accept, BWL_NO_RATE, 0);
	if (bwl_effect_arrives(q, &accept)) {
		body->meta.flags |= BWL_PEER_ACCEPT;
		/* no share for each CPU to hold (bpf/lib/charge.h) */
		bwl_rate_encode_for(&body->accept, accept.rate_bps,
				    accept.burst ? accept.burst
						 : bwl_default_burst(accept.rate_bps),
				    0);
	}
	if (!strcmp(q->name, "self"))
		b->gen.base->self_id = id;
	return r;
}
