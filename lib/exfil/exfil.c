// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long a theft takes at least: see bwl/exfil.h.
 *
 * What one limit lets through by time t is min(rate t + burst, volume at once and again after
 * every window). What a tray lets through by t is a maximum flow
 *
 *	source -> zone -> peers of that zone and those host ports -> host port -> node -> sink
 *
 * with these amounts as capacities, and an edge from source to sink: flow records that leave. A
 * peer that limits host ports stands alone, and its edges to them have capacities, too. The amount
 * never decreases with t, so the time is found by bisection. Errors are in the thief's favour: each
 * limit is taken at its best moment.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/exfil.h"
#include "bwl/units.h"
#include "exfil_flow.h"

#define END_OF_TIME_S 1e24

struct exit_peer {
	const struct bwl_pol_peer *peer;
	struct bwl_lim lim;
	uint32_t group;
};

/* Peers with the same zone and host ports are one node of the network. */
struct group {
	const struct bwl_pol_peer *alone; /* the peer, if it limits host ports; NULL: it does not */
	long first;    /* the first edge to a host port; the others follow in order */
	uint32_t zone; /* index + 1; 0: none */
	uint64_t from; /* a bit per host port */
	long edge;
	uint32_t next; /* hash chain: index + 1 */
};

#define HASH 1024
struct model {
	const struct bwl_policy *p;
	const struct bwl_lim *records;
	struct exit_peer *exits;
	size_t nexits;
	struct group *groups;
	size_t ngroups;
	uint32_t hash[HASH];
	const struct bwl_pol_zone **zones; /* by name */
	struct bwl_flow flow;
	long *zone_edge, *port_edge, node_edge, records_edge;
};

static double rate_part(const struct bwl_lim *l, double t)
{
	double burst = l->burst ? l->burst : bwl_default_burst(l->rate_bps);

	return l->rate_bps == BWL_NO_RATE ? INFINITY : l->rate_bps / 8.0 * t + burst;
}

static double volume_part(const struct bwl_lim *l, double t)
{
	if (!l->has_volume)
		return INFINITY;
	if (!l->window_ns)
		return l->volume;
	/* + 1e-9: the window that ends right now has ended */
	return l->volume * (1 + floor(t / (l->window_ns / 1e9) + 1e-9));
}

/* Bytes by time t. */
static double amount(const struct bwl_lim *l, double t)
{
	return l->present ? fmin(rate_part(l, t), volume_part(l, t)) : INFINITY;
}

/* bit/s in the long run. */
static double long_run(const struct bwl_lim *l)
{
	double r = INFINITY;

	if (!l->present)
		return r;
	if (l->rate_bps != BWL_NO_RATE)
		r = l->rate_bps;
	if (l->has_volume)
		r = fmin(r, l->window_ns ? l->volume * 8.0 / (l->window_ns / 1e9) : 0);
	return r;
}

/* The peer's own limit. With modes shape and mark a packet may leave later than it was charged. */
static struct bwl_lim own_limit(const struct bwl_policy *p, const struct bwl_pol_peer *x)
{
	/* without a grant nothing passes, not the floor either: counted as if, to be sure */
	struct bwl_lim l = x->grant.present ? x->grant : x->floor;

	if (x->grant.present && !bwl_mode_enforces(x->mode))
		return (struct bwl_lim){ 0 };
	if (x->grant.present && bwl_mode_paces(x->mode) && l.rate_bps != BWL_NO_RATE)
		l.burst = (l.burst ? l.burst : bwl_default_burst(l.rate_bps)) +
			  (uint64_t)ceil(l.rate_bps / 8.0 *
					 (bwl_horizon(p->horizon_ns, l.rate_bps) / 1e9));
	return l;
}

static int zone_cmp(const void *a, const void *b)
{
	return strcmp((*(const struct bwl_pol_zone *const *)a)->name,
		      (*(const struct bwl_pol_zone *const *)b)->name);
}

static uint32_t zone_of(const struct model *m, const struct bwl_pol_peer *x)
{
	struct bwl_pol_zone key, *k = &key;
	const struct bwl_pol_zone **found;

	if (!*x->zone || !m->p->nzones)
		return 0;
	memcpy(key.name, x->zone, sizeof(key.name));
	found = bsearch(&k, m->zones, m->p->nzones, sizeof(*m->zones), zone_cmp);
	return found ? (*found - m->p->zones) + 1 : 0;
}

static uint64_t from_of(const struct bwl_policy *p, const struct bwl_pol_peer *x)
{
	uint64_t mask = 0;

	if (!x->nfrom)
		return ~0ULL;
	for (size_t i = 0; i < p->nports && i < 64; i++)
		for (size_t f = 0; f < x->nfrom; f++)
			if (!strcmp(p->ports[i].name, x->from[f]))
				mask |= 1ULL << i;
	return mask;
}

/* Does the peer have limits for host ports? */
static bool has_tenants(const struct bwl_pol_peer *x)
{
	return x->ntenants && bwl_mode_enforces(x->mode);
}

static int group_of(struct model *m, uint32_t zone, uint64_t from, const struct bwl_pol_peer *x,
		    uint32_t *ret)
{
	uint32_t h = (zone * 31 + from * 0x9e3779b97f4a7c15ULL) % HASH, i;
	const struct bwl_pol_peer *alone = has_tenants(x) ? x : NULL;
	struct group *g;

	for (i = m->hash[h]; i && !alone; i = m->groups[i - 1].next) {
		if (m->groups[i - 1].alone)
			continue;
		if (m->groups[i - 1].zone == zone && m->groups[i - 1].from == from) {
			*ret = i - 1;
			return 0;
		}
	}
	if (!(m->ngroups & (m->ngroups - 1))) {
		g = reallocarray(m->groups, m->ngroups ? 2 * m->ngroups : 1, sizeof(*g));
		if (!g)
			return -ENOMEM;
		m->groups = g;
	}
	m->groups[m->ngroups] =
		(struct group){ .alone = alone, .zone = zone, .from = from, .next = m->hash[h] };
	*ret = m->ngroups++;
	m->hash[h] = m->ngroups;
	return 0;
}

static int collect_exits(struct model *m, struct bwl_exfil_result *ret)
{
	const struct bwl_policy *p = m->p;

	for (size_t i = 0; i < p->nzones; i++)
		m->zones[i] = &p->zones[i];
	qsort(m->zones, p->nzones, sizeof(*m->zones), zone_cmp);
	for (size_t i = 0; i < p->npeers; i++) {
		const struct bwl_pol_peer *x = &p->peers[i];
		struct exit_peer *out = &m->exits[m->nexits];
		int r;

		if (!x->grant.present && !x->floor.present)
			continue;
		/* `self` is the DPU's own traffic: no host can use it */
		if (x->contained || !strcmp(x->name, "self")) {
			ret->contained++;
			continue;
		}
		out->peer = x;
		out->lim = own_limit(p, x);
		r = group_of(m, zone_of(m, x), from_of(p, x), x, &out->group);
		if (r)
			return r;
		m->nexits++;
		ret->unlimited += isinf(amount(&out->lim, 0));
	}
	ret->exits = m->nexits;
	return 0;
}

/* Nodes: source, sink, node, then zones (0: none), host ports, groups. */
static int build_network(struct model *m)
{
	const struct bwl_policy *p = m->p;
	uint32_t zone = 3, port = zone + p->nzones + 1, group = port + p->nports;
	struct bwl_flow *f = &m->flow;
	long last;

	if (bwl_flow_init(f, group + m->ngroups))
		return -ENOMEM;
	last = m->node_edge = bwl_flow_edge(f, 2, 1, 0);
	if (last >= 0)
		last = m->records_edge = bwl_flow_edge(f, 0, 1, 0);
	for (size_t i = 0; i <= p->nzones && last >= 0; i++)
		last = m->zone_edge[i] = bwl_flow_edge(f, 0, zone + i, 0);
	for (size_t i = 0; i < p->nports && last >= 0; i++)
		last = m->port_edge[i] = bwl_flow_edge(f, port + i, 2, 0);
	for (size_t i = 0; i < m->ngroups && last >= 0; i++) {
		struct group *g = &m->groups[i];

		last = g->edge = bwl_flow_edge(f, zone + g->zone, group + i, 0);
		g->first = last + 2;
		for (size_t k = 0; k < p->nports && last >= 0; k++)
			if (g->from & 1ULL << k)
				last = bwl_flow_edge(f, group + i, port + k, INFINITY);
	}
	return last < 0 ? -ENOMEM : 0;
}

/* The edge to host port i, for a peer that stands alone. */
static long tenant_edge(const struct group *g, size_t i)
{
	return g->first + 2 * __builtin_popcountll(g->from & ((1ULL << i) - 1));
}

/* Everything by time t, in bytes; t < 0: in the long run, in bit/s. */
static double total(struct model *m, double t)
{
#define CAP(l) (t < 0 ? long_run(l) : amount(l, t))
	const struct bwl_policy *p = m->p;
	struct bwl_edge *e = m->flow.edges;

	e[m->node_edge].cap = CAP(&p->node_limit);
	e[m->records_edge].cap = m->records->present ? CAP(m->records) : 0;
	e[m->zone_edge[0]].cap = INFINITY;
	for (size_t i = 0; i < p->nzones; i++)
		e[m->zone_edge[i + 1]].cap = CAP(&p->zones[i].limit);
	for (size_t i = 0; i < p->nports; i++)
		e[m->port_edge[i]].cap = CAP(&p->ports[i].limit);
	for (size_t i = 0; i < m->ngroups; i++)
		e[m->groups[i].edge].cap = 0;
	for (size_t i = 0; i < m->nexits; i++)
		e[m->groups[m->exits[i].group].edge].cap += CAP(&m->exits[i].lim);
	for (size_t i = 0; i < m->ngroups; i++) {
		const struct group *g = &m->groups[i];

		for (size_t k = 0; g->alone && k < p->nports; k++) {
			const struct bwl_pol_tenant *x = bwl_policy_tenant(g->alone,
									   p->ports[k].name);

			if (x)
				e[tenant_edge(g, k)].cap = CAP(&x->limit);
		}
	}
	return bwl_flow_max(&m->flow);
#undef CAP
}

static double least_time(struct model *m, double need)
{
	double lo = 0, hi = 1e-6;

	if (total(m, 0) >= need)
		return 0;
	while (total(m, hi) < need) {
		lo = hi;
		hi *= 4;
		if (hi > END_OF_TIME_S)
			return INFINITY;
	}
	while (hi - lo > 1e-12 * hi) {
		double mid = lo + (hi - lo) / 2;

		if (total(m, mid) >= need)
			hi = mid;
		else
			lo = mid;
	}
	return hi;
}

static void describe(const struct bwl_lim *l, double t, const char *kind, const char *name,
		     size_t more, char *buf, size_t size)
{
	char a[BWL_UNIT_BUF], b[BWL_UNIT_BUF];
	int n = snprintf(buf, size, "%s%s%s: ", kind, *name ? " " : "", name);

	if (volume_part(l, t) <= rate_part(l, t)) {
		n += snprintf(buf + n, size - n, "volume %s", bwl_format_size(l->volume, a));
		if (l->window_ns)
			n += snprintf(buf + n, size - n, " per %s",
				      bwl_format_time(l->window_ns, b));
	} else {
		n += snprintf(buf + n, size - n, "rate %s", bwl_format_rate(l->rate_bps, a));
	}
	if (more)
		snprintf(buf + n, size - n, " (and %zu more peers)", more);
}

/* Among the limits that are exhausted at time t, finds the one through which most would go. */
static void find_binding(struct model *m, double t, char *buf, size_t size)
{
	const struct bwl_policy *p = m->p;
	const struct bwl_edge *e = m->flow.edges;
	double best = -1;
	char what[64];

	snprintf(buf, size, "%s", m->nexits ? "nothing: no limit at all" : "no exits");
	if (isinf(total(m, t)))
		return;
	/* Any other limit that binds is described below if more goes through it. */
	if (m->records->present) {
		best = e[m->records_edge].cap;
		describe(m->records, t, "records", "", 0, buf, size);
	}
	if (bwl_flow_binds(&m->flow, m->node_edge) && e[m->node_edge].cap > best) {
		describe(&p->node_limit, t, "node", "", 0, buf, size);
		return;
	}
	for (size_t i = 0; i < p->nports; i++) {
		if (bwl_flow_binds(&m->flow, m->port_edge[i]) && e[m->port_edge[i]].cap > best) {
			best = e[m->port_edge[i]].cap;
			describe(&p->ports[i].limit, t, "port", p->ports[i].name, 0, buf, size);
		}
	}
	for (size_t i = 0; i < p->nzones; i++) {
		if (bwl_flow_binds(&m->flow, m->zone_edge[i + 1]) &&
		    e[m->zone_edge[i + 1]].cap > best) {
			best = e[m->zone_edge[i + 1]].cap;
			describe(&p->zones[i].limit, t, "zone", p->zones[i].name, 0, buf, size);
		}
	}
	for (size_t i = 0; i < m->ngroups; i++) {
		const struct group *g = &m->groups[i];

		for (size_t k = 0; g->alone && k < p->nports; k++) {
			const struct bwl_pol_tenant *x = bwl_policy_tenant(g->alone,
									   p->ports[k].name);

			if (!x || !bwl_flow_binds(&m->flow, tenant_edge(g, k)) ||
			    e[tenant_edge(g, k)].cap <= best)
				continue;
			best = e[tenant_edge(g, k)].cap;
			snprintf(what, sizeof(what), "%s, port %s", g->alone->name, x->port);
			describe(&x->limit, t, "peer", what, 0, buf, size);
		}
	}
	for (size_t g = 0; g < m->ngroups; g++) {
		const struct exit_peer *most = NULL;
		size_t n = 0;

		if (!bwl_flow_binds(&m->flow, m->groups[g].edge) ||
		    e[m->groups[g].edge].cap <= best)
			continue;
		best = e[m->groups[g].edge].cap;
		for (size_t i = 0; i < m->nexits; i++) {
			if (m->exits[i].group != g)
				continue;
			n++;
			if (!most || amount(&m->exits[i].lim, t) > amount(&most->lim, t))
				most = &m->exits[i];
		}
		if (most)
			describe(&most->lim, t, "peer", most->peer->name, n - 1, buf, size);
	}
}

double bwl_exfil_moment_s(unsigned i)
{
	return exp2(i / 8.0);
}

double bwl_exfil_least_s(const double *curve, double bytes)
{
	for (unsigned i = 0; i < BWL_EXFIL_POINTS; i++)
		if (curve[i] >= bytes)
			return i ? bwl_exfil_moment_s(i - 1) : 0;
	return INFINITY;
}

static int run(struct model *m, const struct bwl_exfil_args *a, struct bwl_exfil_result *ret)
{
	double need = a->size / a->compression / a->trays;
	int r = collect_exits(m, ret);

	if (!r)
		r = build_network(m);
	if (r)
		return r;
	ret->exits += m->records->present;
	ret->at_once = total(m, 0);
	ret->rate_bps = total(m, -1);
	ret->seconds = least_time(m, need);
	for (unsigned i = 0; a->curve && i < BWL_EXFIL_POINTS; i++)
		a->curve[i] = total(m, bwl_exfil_moment_s(i));
	find_binding(m, isinf(ret->seconds) ? END_OF_TIME_S : ret->seconds, ret->binding,
		     sizeof(ret->binding));
	return 0;
}

int bwl_exfil(const struct bwl_policy *p, const struct bwl_exfil_args *a,
	      struct bwl_exfil_result *ret, struct bwl_err *e)
{
	struct model m = { .p = p, .records = &a->records };
	int r = -ENOMEM;

	if (!a->size)
		return bwl_fail(e, EINVAL, "size: 1 byte or more");
	if (!(a->compression >= 1) || isinf(a->compression))
		return bwl_fail(e, EINVAL, "compression: 1 (none) or more");
	if (!a->trays)
		return bwl_fail(e, EINVAL, "trays: 1 or more");
	if (p->nports > BWL_MAX_PORTS)
		return bwl_fail(e, EINVAL, "more than %d host ports", BWL_MAX_PORTS);
	memset(ret, 0, sizeof(*ret));
	m.exits = calloc(p->npeers + 1, sizeof(*m.exits));
	m.zones = calloc(p->nzones + 1, sizeof(*m.zones));
	m.zone_edge = calloc(p->nzones + 1, sizeof(*m.zone_edge));
	m.port_edge = calloc(p->nports + 1, sizeof(*m.port_edge));
	if (m.exits && m.zones && m.zone_edge && m.port_edge)
		r = run(&m, a, ret);
	bwl_flow_done(&m.flow);
	free(m.exits);
	free(m.groups);
	free(m.zones);
	free(m.zone_edge);
	free(m.port_edge);
	return r ? bwl_fail(e, -r, "out of memory") : 0;
}
