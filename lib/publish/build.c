// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a checked policy into the data plane's tables. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/map_io.h>
#include "build.h"
#include "given_up.h"

int bwl_build_sizes(const struct bwl_policy *pol, struct bwl_gen_size *ret, struct bwl_err *e)
{
	struct bwl_gen_size n = { 0 };
	size_t i, j;

	if (pol->nports + pol->nuplinks > BWL_MAX_PORTS || pol->nzones >= BWL_MAX_ZONES)
		return bwl_fail(e, E2BIG, "more than %d ports or %d zones", BWL_MAX_PORTS,
				BWL_MAX_ZONES - 1);
	for (i = 0; i < pol->npeers; i++) {
		const struct bwl_pol_peer *q = &pol->peers[i];
		const struct bwl_pol_zone *z = bwl_policy_zone_of(pol, q);

		for (j = 0; j < q->naddresses; j++) {
			const struct bwl_pfx *a = &q->addresses[j];

			if (a->family == 4)
				*(a->len == 32 ? &n.dst4 : &n.lpm4) += 1;
			else
				*(a->len == 128 ? &n.dst6 : &n.lpm6) += 1;
		}
		for (j = 0; j < _BWL_CLASS_MAX; j++)
			n.subs += bwl_build_counts(pol, q, j);
		n.subs += q->floor.present + bwl_build_accept_volume(q) + (z && z->weighted);
		/* one more entry: which ports have tenants (struct bwl_tenants) */
		n.subs += q->ntenants ? q->ntenants + 1 : 0;
	}
	for (i = 0; i < pol->nports; i++)
		n.own += (uint32_t)pol->ports[i].nsources;
	for (i = 0; i < pol->npeers; i++)
		n.own += *pol->peers[i].ipsec_remote != 0;
	n.own++; /* IPv4 as a whole: bwl_build_ports() */
	n.peers = (uint32_t)pol->npeers;
	*ret = n;
	return 0;
}

static bool has_zone(const struct bwl_policy *pol, const char *name)
{
	size_t i;

	for (i = 0; i < pol->nzones; i++)
		if (!strcmp(pol->zones[i].name, name))
			return true;
	return false;
}

static uint32_t zone_state(const struct bwl_build *b, const char *name)
{
	return bwl_ids_find_extra(b->ids, BWL_X_ZONE, name, 0, 0);
}

/*
 * The zones that zone i's members come from, other than itself: all of them if zone i is new,
 * otherwise only zones that no longer exist.
 */
static int carryover_members(struct bwl_build *b, size_t i, bool is_new,
			     uint8_t (*took)[BWL_MAX_ZONES], struct bwl_err *e)
{
	const struct bwl_zone *old;
	size_t j;
	int r = 0;

	for (j = 1; !r && b->old && j < BWL_MAX_ZONES; j++) {
		old = &b->old->base->zone[j];
		if (took[i][j] && strcmp(old->name, b->pol->zones[i].name) &&
		    (is_new || !has_zone(b->pol, old->name)))
			r = bwl_carryover_from(&b->carryover, old->limit.volume.state, e);
	}
	return r;
}

/* The same for zones that prefixes of its members were given up in. */
static int carryover_given(struct bwl_build *b, size_t i, bool is_new, struct bwl_err *e)
{
	uint32_t own = zone_state(b, b->pol->zones[i].name);
	const struct bwl_given *g;
	size_t j, k;
	int r = 0;

	for (j = 0; !r && b->owed && j < b->pol->npeers; j++) {
		g = b->owed[j];
		if (!g || strcmp(b->pol->peers[j].zone, b->pol->zones[i].name) ||
		    (g->zone_state && g->zone_state == own))
			continue;
		for (k = 0; k < b->pol->nzones && !is_new && g->zone_state; k++)
			if (zone_state(b, b->pol->zones[k].name) == g->zone_state)
				break;
		if (is_new || !g->zone_state || k == b->pol->nzones)
			r = bwl_carryover_owed(&b->carryover, bwl_owed_bytes(&g->zone), e);
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
		z->weighted = b->pol->zones[i].weighted;
		b->weights[i] = z->weighted ? bwl_weights(b->pol, &b->pol->zones[i]) : 0;
		for (j = 1; b->old && j < BWL_MAX_ZONES; j++)
			if (!strcmp(b->old->base->zone[j].name, z->name))
				old = &b->old->base->zone[j].limit;
		r = carryover_members(b, i, !old, took, e);
		if (!r)
			r = carryover_given(b, i, !old, e);
		if (!r)
			r = bwl_build_extra(b, BWL_X_ZONE, z->name, &b->pol->zones[i].limit, old,
					    &z->limit, e);
		if (r)
			return r;
	}
	return 0;
}

#define DEST_BATCH 4096U

/* Exact destinations are added in batches: one system call per 4096. */
struct batch {
	int fd;
	enum bwl_pin pin;
	uint32_t *written;
	uint32_t key_size, n;
	uint8_t *keys;
	uint32_t *ids;
};

static int batch_flush(const struct bwl_build *b, struct batch *t, struct bwl_err *e)
{
	uint32_t n = t->n;
	int r = bwl_map_put_all(t->fd, t->keys, t->key_size, t->ids, sizeof(*t->ids), &n);

	*t->written += n;
	t->n = 0;
	return r ? bwl_build_refused(b, t->pin, NULL, NULL, -r, e) : 0;
}

static int batch_add(const struct bwl_build *b, struct batch *t, const uint8_t *key, uint32_t id,
		     struct bwl_err *e)
{
	memcpy(t->keys + (size_t)t->n * t->key_size, key, t->key_size);
	t->ids[t->n++] = id;
	return t->n == DEST_BATCH ? batch_flush(b, t, e) : 0;
}

static int add_prefix(struct bwl_build *b, const struct bwl_pfx *a, uint32_t id, const char *peer,
		      struct bwl_err *e)
{
	bool four = a->family == 4;
	uint8_t key[20];
	uint32_t len = a->len;
	int r;

	memcpy(key, &len, 4);
	memcpy(key + 4, a->addr, a->family == 4 ? 4 : 16);
	r = bwl_map_put(four ? b->gen.lpm4 : b->gen.lpm6, key, &id, 0);
	if (r)
		return bwl_build_refused(b, four ? BWL_PIN_lpm4 : BWL_PIN_lpm6, a, peer, -r, e);
	*(four ? &b->written.lpm4 : &b->written.lpm6) += 1;
	return 0;
}

static int fill_dests(struct bwl_build *b, struct bwl_err *e)
{
	struct batch t4 = {
		.fd = b->gen.dst4, .pin = BWL_PIN_dst4, .written = &b->written.dst4, .key_size = 4
	};
	struct batch t6 = {
		.fd = b->gen.dst6, .pin = BWL_PIN_dst6, .written = &b->written.dst6, .key_size = 16
	};
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
				r = batch_add(b, &t4, a->addr, b->id[i], e);
			else if (a->family == 6 && a->len == 128)
				r = batch_add(b, &t6, a->addr, b->id[i], e);
			else
				r = add_prefix(b, a, b->id[i], q->name, e);
			exact4 |= a->family == 4 && a->len == 32;
			exact6 |= a->family == 6 && a->len == 128;
			b->gen.base->has_lpm4 |= a->family == 4 && a->len != 32;
			b->gen.base->has_lpm6 |= a->family == 6 && a->len != 128;
			b->rep->prefixes++;
		}
	}
	b->gen.base->only_lpm = (exact4 ? 0 : BWL_ONLY_LPM4) | (exact6 ? 0 : BWL_ONLY_LPM6);
	if (!r)
		r = batch_flush(b, &t4, e);
	if (!r)
		r = batch_flush(b, &t6, e);
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
	uint8_t(*took)[BWL_MAX_ZONES];
	size_t i;
	int r;

	base->lease_ns = pol->lease_ns;
	base->heartbeat_ns = pol->heartbeat_none ? 0 : pol->heartbeat_ns;
	base->min_charge = pol->min_charge;
	base->horizon_ns = pol->horizon_ns;
	base->flags = (pol->ledger ? BWL_BASE_LEDGER : 0) | (pol->reject ? BWL_BASE_REJECT : 0) |
		      (pol->count_all ? BWL_BASE_COUNT_ALL : 0);
	base->control = pol->control;
	base->npeers = (uint32_t)pol->npeers;
	snprintf(base->node_name, sizeof(base->node_name), "%s", pol->node);
	bwl_class_table(pol, base->proto_class, base->port_class);
	r = bwl_policy_digest(pol, base->digest);
	if (r)
		return bwl_fail(e, -r, "cannot compute the policy's digest");
	if (b->returns) /* of its file, which says more than the maps */
		memcpy(base->digest, b->returns->base->digest, sizeof(base->digest));
	r = bwl_build_extra(b, BWL_X_NODE, NULL, &pol->node_limit,
			    b->old ? &b->old->base->node : NULL, &base->node, e);
	if (!r)
		r = bwl_build_ports(b, e);
	took = bwl_heirs_zones(&b->heirs, b->p, pol, b->old, b->id);
	if (!r)
		r = took ? fill_zones(b, took, e) : bwl_fail(e, ENOMEM, "out of memory");
	free(took);
	for (i = 0; !r && i < pol->npeers; i++)
		r = bwl_build_peer(b, i, e);
	if (!r)
		r = fill_dests(b, e);
	return r;
}

/*
 * If the writer ends before bwl_build_in_force(), killed or after a grace period that failed,
 * limits that are new stay closed for so long, or until the policy is applied again. Longer than
 * any grace period takes.
 */
#define START_LATE_NS 60000000000ULL

/* Was it not in force, or without a rate? */
static bool begins(const struct bwl_build *b, const struct bwl_rate *r, uint32_t state)
{
	const struct bwl_rate *old = b->old_rate[state];

	return !(r->flags & BWL_RATE_UNLIMITED) && (!old || old->flags & BWL_RATE_UNLIMITED);
}

static void start_rate(struct bwl_build *b, struct bwl_rate *r, uint32_t state, uint64_t now_ns)
{
	bwl_rate_follow(r, b->old_rate[state], &b->p->state[state].finish_bytes, now_ns);
	if (begins(b, r, state))
		r->start_ns = now_ns + START_LATE_NS;
}

typedef void rate_fn(struct bwl_build *b, struct bwl_rate *r, uint32_t state, uint64_t now_ns);

static void each_rate(struct bwl_build *b, rate_fn *fn, uint64_t now_ns)
{
	struct bwl_base *base = b->gen.base;
	uint32_t i;

	for (i = 0; i < b->pol->npeers; i++) {
		fn(b, &b->gen.peer[i + 1].grant.rate, bwl_grant_state(b->id[i]), now_ns);
		fn(b, &b->gen.peer[i + 1].accept, bwl_accept_state(b->id[i]), now_ns);
	}
	for (i = 1; i <= b->nsubs; i++)
		if (b->gen.sub[i].volume.state)
			fn(b, &b->gen.sub[i].rate, b->gen.sub[i].volume.state, now_ns);
	for (i = 1; i < BWL_MAX_ZONES; i++)
		if (base->zone[i].name[0])
			fn(b, &base->zone[i].limit.rate, base->zone[i].limit.volume.state, now_ns);
	for (i = 0; i < BWL_MAX_PORTS; i++) {
		if (!(base->port[i].flags & (BWL_PORT_HOST | BWL_PORT_UPLINK)))
			continue;
		fn(b, &base->port[i].limit.rate, base->port[i].limit.volume.state, now_ns);
		fn(b, &base->port[i].neighbour.rate, base->port[i].neighbour.volume.state, now_ns);
	}
	fn(b, &base->node.rate, base->node.volume.state, now_ns);
}

void bwl_owe_waiting(struct bwl_rate *r, uint32_t horizon_ns)
{
	r->base_bytes -= bwl_rate_slack(r, horizon_ns);
}

/* Does a packet of the policy in force until now perhaps wait for its time? */
static bool may_wait(const struct bwl_build *b)
{
	const struct bwl_peer *body;

	for (uint32_t i = 1; b->old && i < b->p->schema.max_peers; i++) {
		body = bwl_body(b->p, b->old, i);
		if (body && bwl_mode_paces(body->meta.mode))
			return true;
	}
	return false;
}

void bwl_build_start(struct bwl_build *b, uint64_t now_ns)
{
	bool waits = may_wait(b);

	each_rate(b, start_rate, now_ns);
	for (uint32_t i = 0; i < b->pol->npeers; i++) {
		struct bwl_peer *body = &b->gen.peer[i + 1];

		if (begins(b, &body->grant.rate, bwl_grant_state(b->id[i])) &&
		    (waits || bwl_mode_paces(body->meta.mode)))
			bwl_owe_waiting(&body->grant.rate,
					waits ? b->old->base->horizon_ns : b->gen.base->horizon_ns);
	}
}

static void pay_off(struct bwl_build *b, struct bwl_rate *r, uint32_t state, uint64_t now_ns)
{
	if (begins(b, r, state))
		__atomic_store_n(&r->start_ns, now_ns, __ATOMIC_SEQ_CST);
}

void bwl_build_in_force(struct bwl_build *b, uint64_t now_ns)
{
	each_rate(b, pay_off, now_ns);
}
