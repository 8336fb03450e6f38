// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The metrics of each peer, and of what a host port may send to it (`ports`). First everything is
 * read, then it is printed.
 */
#include <errno.h>
#include <stdlib.h>
#include <bwl/cleanup.h>
#include "metrics.h"
#include "prometheus.h"
#include "state.h"

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)

/* The data behind a peer's metrics. */
struct peer {
	struct bwl_peer_row row;
	struct bwl_left accept;
	char name[BWL_NAME_LEN];
};

/* A metric of a peer; get returns false if the peer has none. */
struct metric {
	const char *name;
	enum prom_type type;
	const char *help;
	bool (*get)(const struct peer *p, double *ret);
};

static bool passed_bytes(const struct peer *p, double *ret)
{
	*ret = (double)p->row.count->bytes;
	return true;
}

static bool passed_frames(const struct peer *p, double *ret)
{
	*ret = (double)p->row.count->frames;
	return true;
}

static bool dropped_bytes(const struct peer *p, double *ret)
{
	*ret = (double)p->row.count->drop_bytes;
	return true;
}

static bool dropped_frames(const struct peer *p, double *ret)
{
	*ret = (double)p->row.count->drop_frames;
	return true;
}

static bool unenforced_bytes(const struct peer *p, double *ret)
{
	*ret = (double)p->row.over->bytes;
	return true;
}

static bool unenforced_frames(const struct peer *p, double *ret)
{
	*ret = (double)p->row.over->frames;
	return true;
}

static bool live(const struct peer *p, double *ret)
{
	*ret = bwl_standing(p->row.v, p->row.id, p->row.body) == BWL_STAND_LIVE;
	return true;
}

static bool grant_rate(const struct peer *p, double *ret)
{
	*ret = (double)bwl_rate_decode(&p->row.body->grant.rate) / 8;
	return *ret > 0;
}

static bool grant_volume(const struct peer *p, double *ret)
{
	*ret = (double)p->row.left.volume;
	return p->row.left.has_volume;
}

static bool grant_used(const struct peer *p, double *ret)
{
	*ret = (double)p->row.left.used;
	return p->row.left.has_volume;
}

static bool accept_volume(const struct peer *p, double *ret)
{
	*ret = (double)p->accept.volume;
	return p->accept.has_volume;
}

static bool accept_used(const struct peer *p, double *ret)
{
	*ret = (double)p->accept.used;
	return p->accept.has_volume;
}

static bool grant_expires(const struct peer *p, double *ret)
{
	*ret = metrics_wall(p->row.body->meta.expiry_ns);
	return p->row.body->meta.expiry_ns != BWL_NEVER_NS;
}

static bool contained(const struct peer *p, double *ret)
{
	*ret = !!(p->row.body->meta.flags & BWL_PEER_CONTAINED);
	return true;
}

static bool revoked(const struct peer *p, double *ret)
{
	*ret = bwl_standing(p->row.v, p->row.id, p->row.body) == BWL_STAND_REVOKED;
	return true;
}

static bool enforced(const struct peer *p, double *ret)
{
	*ret = bwl_enforced(p->row.v, p->row.id, p->row.body);
	return true;
}

static bool is_encrypted(const struct peer *p)
{
	return p->row.body->meta.path != BWL_PATH_CLEAR;
}

static bool has_sa(const struct peer *p, double *ret)
{
	*ret = !!(__atomic_load_n(&p->row.v->pins->tunnel[p->row.id].flags, __ATOMIC_SEQ_CST) &
		  BWL_TUN_SA);
	return is_encrypted(p);
}

static bool sa_changes(const struct peer *p, double *ret)
{
	*ret = LOAD(p->row.v->pins->tunnel[p->row.id].changes);
	return is_encrypted(p);
}

static const struct metric of_peer[] = {
	{ "peer_passed_bytes_total", PROM_COUNTER, "Bytes passed, as charged", passed_bytes },
	{ "peer_passed_frames_total", PROM_COUNTER, "Frames passed", passed_frames },
	{ "peer_dropped_bytes_total", PROM_COUNTER,
	  "Bytes refused, as seen; on arrival as charged to their sender", dropped_bytes },
	{ "peer_dropped_frames_total", PROM_COUNTER, "Frames refused", dropped_frames },
	{ "peer_unenforced_bytes_total", PROM_COUNTER,
	  "Of those that passed: over the peer's own limits, which mode monitor only counts",
	  unenforced_bytes },
	{ "peer_unenforced_frames_total", PROM_COUNTER, "Frames of those bytes",
	  unenforced_frames },
	{ "peer_grant_live", PROM_GAUGE,
	  "1: the grant is in force; 0: there is none, or it is expired, silent or revoked", live },
	{ "peer_grant_bytes_per_second", PROM_GAUGE, "Rate of the grant; none: unlimited",
	  grant_rate },
	{ "peer_grant_volume_bytes", PROM_GAUGE, "Volume of the grant, in all or in its window",
	  grant_volume },
	{ "peer_grant_volume_used_bytes", PROM_GAUGE, "Spent part of that volume", grant_used },
	{ "peer_accept_volume_bytes", PROM_GAUGE,
	  "Volume of what may arrive from the peer, in all or in its window", accept_volume },
	{ "peer_accept_volume_used_bytes", PROM_GAUGE, "What has arrived of that volume",
	  accept_used },
	{ "peer_grant_expiry_timestamp_seconds", PROM_GAUGE, "When the grant expires; none: never",
	  grant_expires },
	{ "peer_contained", PROM_GAUGE, "1: its own DPU limits it, so it is no way out",
	  contained },
	{ "peer_revoked", PROM_GAUGE, "1: closed until it is granted again", revoked },
	{ "peer_enforced", PROM_GAUGE,
	  "0: mode monitor, what is over the peer's own limits is counted and passes", enforced },
	{ "peer_sa", PROM_GAUGE,
	  "1: the kernel has an SA by which it may leave; none: not encrypted", has_sa },
	{ "peer_sa_changes_total", PROM_COUNTER, "SAs that came and went", sa_changes },
};
#define NOF_PEER (sizeof(of_peer) / sizeof(*of_peer))

/* The limit of a host port to a peer. */
struct tenant {
	const struct peer *peer;
	const struct bwl_limit *limit;
	const volatile struct bwl_state *count;
	struct bwl_left left;
	char port[sizeof(((struct bwl_dev *)0)->name) + 1];
};

struct tenant_metric {
	const char *name;
	enum prom_type type;
	const char *help;
	bool (*get)(const struct tenant *t, double *ret);
};

static bool tenant_passed(const struct tenant *t, double *ret)
{
	*ret = (double)t->count->used_bytes;
	return true;
}

static bool tenant_dropped(const struct tenant *t, double *ret)
{
	*ret = (double)t->count->drop_bytes;
	return true;
}

static bool tenant_rate(const struct tenant *t, double *ret)
{
	*ret = (double)bwl_rate_decode(&t->limit->rate) / 8;
	return *ret > 0;
}

static bool tenant_volume(const struct tenant *t, double *ret)
{
	*ret = (double)t->left.volume;
	return t->left.has_volume;
}

static bool tenant_used(const struct tenant *t, double *ret)
{
	*ret = (double)t->left.used;
	return t->left.has_volume;
}

static const struct tenant_metric of_tenant[] = {
	{ "peer_port_passed_bytes_total", PROM_COUNTER,
	  "Bytes passed from a host port that has a limit of its own to the peer, as charged",
	  tenant_passed },
	{ "peer_port_dropped_bytes_total", PROM_COUNTER,
	  "Bytes from it refused where that limit was checked, as seen", tenant_dropped },
	{ "peer_port_bytes_per_second", PROM_GAUGE, "Rate of that limit; none: unlimited",
	  tenant_rate },
	{ "peer_port_volume_bytes", PROM_GAUGE, "Volume of that limit, in all or in its window",
	  tenant_volume },
	{ "peer_port_volume_used_bytes", PROM_GAUGE, "Spent part of that volume", tenant_used },
};
#define NOF_TENANT (sizeof(of_tenant) / sizeof(*of_tenant))

/* Peers of the policy in force: the first `most` into ret. *ret_all: how many there are. */
static uint32_t look_at_peers(const struct bwl_view *v, const struct bwl_peer_count *count,
			      const struct bwl_over_count *over, uint32_t most, struct peer *ret,
			      uint32_t *ret_all)
{
	uint32_t n = 0;

	*ret_all = 0;
	for (uint32_t id = 1; id < v->pins->schema.max_peers; id++) {
		struct peer p = {
			.row = { .v = v, .id = id, .count = &count[id], .over = &over[id] }
		};
		const struct bwl_limit *accept;

		p.row.body = bwl_body(v->pins, &v->gen, id);
		if (!p.row.body || !bwl_peer_name(v->pins, id, p.name))
			continue;
		if ((*ret_all)++ >= most)
			continue;
		bwl_grant_left(v, id, p.row.body, &p.row.left);
		accept = bwl_accept_limit(&v->gen, p.row.body);
		if (accept)
			bwl_limit_left(v->pins, &accept->rate, &accept->volume,
				       accept->volume.state, v->now_ns, &p.accept);
		ret[n++] = p;
	}
	return n;
}

/* The host ports' limits to these peers, at most `most`. */
static size_t look_at_tenants(const struct bwl_view *v, const struct peer *peer, uint32_t npeers,
			      struct tenant *ret, size_t most)
{
	size_t n = 0;

	for (uint32_t i = 0; i < npeers * BWL_MAX_PORTS && n < most; i++) {
		const uint32_t port = i % BWL_MAX_PORTS;
		struct tenant t = { .peer = &peer[i / BWL_MAX_PORTS] };

		t.limit = bwl_gen_tenant(&v->gen, t.peer->row.body, port);
		if (!t.limit)
			continue;
		t.count = &v->pins->state[t.limit->volume.state | 1];
		bwl_limit_left(v->pins, &t.limit->rate, &t.limit->volume, t.limit->volume.state,
			       v->now_ns, &t.left);
		snprintf(t.port, sizeof(t.port), "%.*s", (int)sizeof(v->pins->dev->name),
			 v->pins->dev[port].name);
		ret[n++] = t;
	}
	return n;
}

static int put_tenants(FILE *f, const struct bwl_view *v, const struct peer *peer, uint32_t npeers,
		       struct bwl_err *e)
{
	const size_t room = v->gen.nsubs; /* each such limit is one of them */
	BWL_AUTO_FREE struct tenant *tenant = calloc(room + 1, sizeof(*tenant));
	double value;
	size_t n;

	if (!tenant)
		return bwl_fail(e, ENOMEM, "out of memory");
	n = look_at_tenants(v, peer, npeers, tenant, room);
	for (size_t m = 0; m < NOF_TENANT; m++) {
		prom_family(f, of_tenant[m].name, of_tenant[m].type, of_tenant[m].help);
		for (size_t i = 0; i < n; i++)
			if (of_tenant[m].get(&tenant[i], &value))
				prom_sample(f, of_tenant[m].name,
					    &(struct prom_labels){
						    { { "peer", tenant[i].peer->name },
						      { "port", tenant[i].port } } },
					    value);
	}
	return 0;
}

int metrics_peers(FILE *f, const struct bwl_view *v, uint32_t most, struct bwl_err *e)
{
	uint32_t room = most < v->gen.npeers ? most : v->gen.npeers, all, n;
	BWL_AUTO_FREE struct peer *peer = calloc((size_t)room + 1, sizeof(*peer));
	BWL_AUTO_FREE struct bwl_peer_count *count = calloc(v->pins->schema.max_peers,
							    sizeof(*count));
	BWL_AUTO_FREE struct bwl_over_count *over = calloc(v->pins->schema.max_peers,
							   sizeof(*over));
	double value;
	int r;

	if (!peer || !count || !over)
		return bwl_fail(e, ENOMEM, "out of memory");
	r = bwl_over_read(v->pins, v->pins->schema.max_peers, over, e);
	if (!r)
		r = bwl_peercnt_read(v->pins, count, e);
	if (r)
		return r;
	n = look_at_peers(v, count, over, room, peer, &all);
	for (size_t m = 0; m < NOF_PEER; m++) {
		prom_family(f, of_peer[m].name, of_peer[m].type, of_peer[m].help);
		for (uint32_t i = 0; i < n; i++)
			if (of_peer[m].get(&peer[i], &value))
				prom_sample(f, of_peer[m].name,
					    &(struct prom_labels){ { { "peer", peer[i].name } } },
					    value);
	}
	r = put_tenants(f, v, peer, n, e);
	if (r)
		return r;
	prom_family(f, "peers", PROM_GAUGE, "Peers of the policy in force");
	prom_sample(f, "peers", &(struct prom_labels){ 0 }, all);
	prom_family(f, "peers_not_shown", PROM_GAUGE, "Peers without metrics of their own");
	prom_sample(f, "peers_not_shown", &(struct prom_labels){ 0 }, all - n);
	return 0;
}
