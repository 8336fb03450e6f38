/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of metrics: of the node, of each peer, of each port and reason. */
#include <errno.h>
#include <stdlib.h>
#include <bwl/cleanup.h>
#include "metrics.h"
#include "prometheus.h"
#include "state.h"

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)

/* A metric of a row; get returns false where the row has none. */
struct metric {
	const char *name;
	enum prom_type type;
	const char *help;
	bool (*get)(const struct bwl_peer_row *r, double *ret);
};

static bool passed_bytes(const struct bwl_peer_row *r, double *ret)
{
	*ret = (double)r->count->bytes;
	return true;
}

static bool passed_frames(const struct bwl_peer_row *r, double *ret)
{
	*ret = (double)r->count->frames;
	return true;
}

static bool dropped_bytes(const struct bwl_peer_row *r, double *ret)
{
	*ret = (double)r->count->drop_bytes;
	return true;
}

static bool dropped_frames(const struct bwl_peer_row *r, double *ret)
{
	*ret = (double)r->count->drop_frames;
	return true;
}

static bool live(const struct bwl_peer_row *r, double *ret)
{
	*ret = bwl_standing(r->v, r->id, r->body) == BWL_STAND_LIVE;
	return true;
}

static bool grant_rate(const struct bwl_peer_row *r, double *ret)
{
	*ret = (double)bwl_rate_decode(&r->body->grant.rate) / 8;
	return *ret > 0;
}

static bool grant_volume(const struct bwl_peer_row *r, double *ret)
{
	*ret = (double)r->left.volume;
	return r->left.has_volume;
}

static bool grant_used(const struct bwl_peer_row *r, double *ret)
{
	*ret = (double)r->left.used;
	return r->left.has_volume;
}

static bool accept_left(const struct bwl_peer_row *r, struct bwl_left *ret)
{
	const struct bwl_limit *l = bwl_accept_limit(&r->v->gen, r->body);

	if (l)
		bwl_limit_left(r->v->pins, &l->rate, &l->volume, l->volume.state, r->v->now_ns,
			       ret);
	return l;
}

static bool accept_volume(const struct bwl_peer_row *r, double *ret)
{
	struct bwl_left left = { 0 };
	bool has = accept_left(r, &left);

	*ret = (double)left.volume;
	return has;
}

static bool accept_used(const struct bwl_peer_row *r, double *ret)
{
	struct bwl_left left = { 0 };
	bool has = accept_left(r, &left);

	*ret = (double)left.used;
	return has;
}

static bool grant_expires(const struct bwl_peer_row *r, double *ret)
{
	*ret = metrics_wall(r->body->meta.expiry_ns);
	return r->body->meta.expiry_ns != BWL_NEVER_NS;
}

static bool contained(const struct bwl_peer_row *r, double *ret)
{
	*ret = !!(r->body->meta.flags & BWL_PEER_CONTAINED);
	return true;
}

static bool revoked(const struct bwl_peer_row *r, double *ret)
{
	*ret = bwl_standing(r->v, r->id, r->body) == BWL_STAND_REVOKED;
	return true;
}

static bool is_encrypted(const struct bwl_peer_row *r)
{
	return r->body->meta.path != BWL_PATH_CLEAR;
}

static bool has_sa(const struct bwl_peer_row *r, double *ret)
{
	*ret = !!(__atomic_load_n(&r->v->pins->tunnel[r->id].flags, __ATOMIC_SEQ_CST) & BWL_TUN_SA);
	return is_encrypted(r);
}

static bool sa_changes(const struct bwl_peer_row *r, double *ret)
{
	*ret = LOAD(r->v->pins->tunnel[r->id].changes);
	return is_encrypted(r);
}

static const struct metric of_peer[] = {
	{ "peer_passed_bytes_total", PROM_COUNTER, "Bytes passed, as charged", passed_bytes },
	{ "peer_passed_frames_total", PROM_COUNTER, "Frames passed", passed_frames },
	{ "peer_dropped_bytes_total", PROM_COUNTER, "Bytes refused, as seen", dropped_bytes },
	{ "peer_dropped_frames_total", PROM_COUNTER, "Frames refused", dropped_frames },
	{ "peer_grant_live", PROM_GAUGE,
	  "1: the grant is in force; 0: there is none, or it is expired, silent or revoked", live },
	{ "peer_grant_bytes_per_second", PROM_GAUGE, "Rate of the grant; none: unlimited",
	  grant_rate },
	{ "peer_grant_volume_bytes", PROM_GAUGE, "Volume of the grant, in all or in its window",
	  grant_volume },
	{ "peer_grant_volume_used_bytes", PROM_GAUGE, "What is spent of that volume", grant_used },
	{ "peer_accept_volume_bytes", PROM_GAUGE,
	  "Volume of what may arrive from the peer, in all or in its window", accept_volume },
	{ "peer_accept_volume_used_bytes", PROM_GAUGE, "What has arrived of that volume",
	  accept_used },
	{ "peer_grant_expiry_timestamp_seconds", PROM_GAUGE, "When the grant expires; none: never",
	  grant_expires },
	{ "peer_contained", PROM_GAUGE, "1: its own DPU limits it, so it is no way out",
	  contained },
	{ "peer_revoked", PROM_GAUGE, "1: closed until it is granted again", revoked },
	{ "peer_sa", PROM_GAUGE,
	  "1: the kernel has an SA by which it may leave; none: not encrypted", has_sa },
	{ "peer_sa_changes_total", PROM_COUNTER, "SAs that came and went", sa_changes },
};
#define NOF_PEER (sizeof(of_peer) / sizeof(*of_peer))

/* A metric of what a host port may send to a peer (`ports`). */
struct tenant {
	const struct bwl_limit *limit;
	const volatile struct bwl_state *count;
	struct bwl_left left;
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
	  "Bytes from it refused where that limit was asked, as seen", tenant_dropped },
	{ "peer_port_bytes_per_second", PROM_GAUGE, "Rate of that limit; none: unlimited",
	  tenant_rate },
	{ "peer_port_volume_bytes", PROM_GAUGE, "Volume of that limit, in all or in its window",
	  tenant_volume },
	{ "peer_port_volume_used_bytes", PROM_GAUGE, "What is spent of that volume", tenant_used },
};
#define NOF_TENANT (sizeof(of_tenant) / sizeof(*of_tenant))

/* The data behind a peer's metrics, read once. */
struct peer {
	struct bwl_peer_row row;
	char name[BWL_NAME_LEN];
};

/* Of the policy in force; the first `most` into ret. *ret_all: how many it has. */
static uint32_t look_at_peers(const struct bwl_view *v, const struct bwl_peer_count *count,
			      uint32_t most, struct peer *ret, uint32_t *ret_all)
{
	uint32_t n = 0;

	*ret_all = 0;
	for (uint32_t id = 1; id < v->pins->schema.max_peers; id++) {
		struct peer p = { .row = { .v = v, .id = id, .count = &count[id] } };

		p.row.body = bwl_body(v->pins, &v->gen, id);
		if (!p.row.body || !bwl_peer_name(v->pins, id, p.name))
			continue;
		if ((*ret_all)++ >= most)
			continue;
		bwl_grant_left(v, id, p.row.body, &p.row.left);
		ret[n++] = p;
	}
	return n;
}

static void put_tenants(FILE *f, const struct bwl_view *v, const struct tenant_metric *m,
			const struct peer *p)
{
	double value;

	for (uint32_t port = 0; port < BWL_MAX_PORTS; port++) {
		struct tenant t = { .limit = bwl_gen_tenant(&v->gen, p->row.body, port) };
		char name[sizeof(v->pins->dev->name) + 1];

		if (!t.limit)
			continue;
		t.count = &v->pins->state[t.limit->volume.state | 1];
		bwl_limit_left(v->pins, &t.limit->rate, &t.limit->volume, t.limit->volume.state,
			       v->now_ns, &t.left);
		snprintf(name, sizeof(name), "%.*s", (int)sizeof(v->pins->dev->name),
			 v->pins->dev[port].name);
		if (m->get(&t, &value))
			prom_sample(f, m->name,
				    &(struct prom_labels){
					    { { "peer", p->name }, { "port", name } } },
				    value);
	}
}

static int put_peers(FILE *f, const struct bwl_view *v, uint32_t most, struct bwl_err *e)
{
	uint32_t room = most < v->gen.npeers ? most : v->gen.npeers, all, n;
	BWL_AUTO_FREE struct peer *peer = calloc((size_t)room + 1, sizeof(*peer));
	BWL_AUTO_FREE struct bwl_peer_count *count = calloc(v->pins->schema.max_peers,
							    sizeof(*count));
	double value;
	int r;

	if (!peer || !count)
		return bwl_fail(e, ENOMEM, "out of memory");
	r = bwl_peercnt_read(v->pins, count, e);
	if (r)
		return r;
	n = look_at_peers(v, count, room, peer, &all);
	for (size_t m = 0; m < NOF_PEER; m++) {
		prom_family(f, of_peer[m].name, of_peer[m].type, of_peer[m].help);
		for (uint32_t i = 0; i < n; i++)
			if (of_peer[m].get(&peer[i].row, &value))
				prom_sample(f, of_peer[m].name,
					    &(struct prom_labels){ { { "peer", peer[i].name } } },
					    value);
	}
	for (size_t m = 0; m < NOF_TENANT; m++) {
		prom_family(f, of_tenant[m].name, of_tenant[m].type, of_tenant[m].help);
		for (uint32_t i = 0; i < n; i++)
			put_tenants(f, v, &of_tenant[m], &peer[i]);
	}
	prom_family(f, "peers", PROM_GAUGE, "Peers of the policy in force");
	prom_sample(f, "peers", &(struct prom_labels){ 0 }, all);
	prom_family(f, "peers_not_shown", PROM_GAUGE, "Peers without metrics of their own");
	prom_sample(f, "peers_not_shown", &(struct prom_labels){ 0 }, all - n);
	return 0;
}

static uint64_t frames(const struct bwl_reason_count *n)
{
	return n->frames;
}

static uint64_t bytes(const struct bwl_reason_count *n)
{
	return n->bytes;
}

static void put_reasons(FILE *f, const struct bwl_pins *p, const char *name, const char *help,
			const struct bwl_reason_count *count,
			uint64_t (*get)(const struct bwl_reason_count *n))
{
	prom_family(f, name, PROM_COUNTER, help);
	for (unsigned row = 0; row < BWL_REASON_ROWS; row++) {
		const struct bwl_dev *dev = &p->dev[row % BWL_MAX_PORTS];
		char port[sizeof(dev->name) + 1];

		snprintf(port, sizeof(port), "%.*s", (int)sizeof(dev->name), dev->name);
		for (unsigned i = 0; i < _BWL_REASON_MAX; i++) {
			const struct bwl_reason_count *n = &count[row * BWL_REASON_COLUMNS + i];

			if (n->frames)
				prom_sample(f, name,
					    &(struct prom_labels){ {
						    { "port", port },
						    { "hook",
						      row < BWL_MAX_PORTS ? "ingress" : "gate" },
						    { "reason", bwl_reason_name(i) },
						    { "verdict",
						      bwl_reason_is_pass(i) ? "pass" : "drop" },
					    } },
					    get(n));
		}
	}
}

static int put_ports(FILE *f, const struct bwl_view *v, struct bwl_err *e)
{
	BWL_AUTO_FREE struct bwl_reason_count *count = calloc(BWL_REASON_ROWS * BWL_REASON_COLUMNS,
							      sizeof(*count));
	int r;

	if (!count)
		return bwl_fail(e, ENOMEM, "out of memory");
	r = bwl_reason_read(v->pins, count, e);
	if (r)
		return r;
	put_reasons(f, v->pins, "port_frames_total", "Frames by port and reason", count, frames);
	put_reasons(f, v->pins, "port_bytes_total", "Bytes of those frames, as seen", count, bytes);
	return 0;
}

static void put_node(FILE *f, const struct bwl_view *v)
{
	prom_family(f, "build_info", PROM_GAUGE, "1; the version of the exporter");
	prom_sample(f, "build_info", &(struct prom_labels){ { { "version", BWL_VERSION } } }, 1);
	prom_family(f, "switch", PROM_GAUGE, "1 at the state of the stop switch");
	prom_sample(f, "switch", &(struct prom_labels){ { { "state", bwl_switch_name(v->pins) } } },
		    1);
	prom_family(f, "policy_generation", PROM_GAUGE, "Policies applied since attach");
	prom_sample(f, "policy_generation", &(struct prom_labels){ 0 },
		    LOAD(v->pins->ctl->generation));
	prom_family(f, "policy_edits", PROM_GAUGE, "Edits of the policy since it was applied");
	prom_sample(f, "policy_edits", &(struct prom_labels){ 0 }, LOAD(v->pins->ctl->edits));
	prom_family(f, "attach_timestamp_seconds", PROM_GAUGE, "When the maps were made");
	prom_sample(f, "attach_timestamp_seconds", &(struct prom_labels){ 0 },
		    metrics_wall(v->pins->ctl->attached_ns));
	prom_family(f, "policy_in_force", PROM_GAUGE, "0: everything is dropped");
	prom_sample(f, "policy_in_force", &(struct prom_labels){ 0 }, v->has_gen);
}

int bwl_metrics(FILE *f, const struct bwl_view *v, uint32_t most_peers, struct bwl_err *e)
{
	int r;

	put_node(f, v);
	metrics_machine(f, v);
	r = put_ports(f, v, e);
	if (!r)
		r = metrics_latency(f, v, e);
	if (r || !v->has_gen)
		return r;
	metrics_policy(f, v);
	return put_peers(f, v, most_peers, e);
}
