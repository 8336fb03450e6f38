// SPDX-License-Identifier: GPL-2.0-or-later
/* Peers, policies and their limits: each field is described once, see bwl/model.h. */
#include <inttypes.h>
#include <string.h>
#include "bwl/model.h"

json_t *bwl_json_lim(const struct bwl_lim *l)
{
	bool rated = l->rate_bps != BWL_NO_RATE;
	json_t *o;

	if (!l->present)
		return json_null();
	o = json_object();
	json_object_set_new(o, "rate_bits_per_second",
			    rated ? bwl_json_u64(l->rate_bps) : json_null());
	json_object_set_new(o, "burst_bytes",
			    !rated ? json_null()
				   : bwl_json_u64(l->burst ? l->burst
							   : bwl_default_burst(l->rate_bps)));
	json_object_set_new(o, "volume_bytes",
			    l->has_volume ? bwl_json_u64(l->volume) : json_null());
	json_object_set_new(o, "window_s",
			    l->has_volume && l->window_ns ? bwl_json_span(l->window_ns)
							  : json_null());
	return o;
}

json_t *bwl_json_left(const struct bwl_left *l)
{
	json_t *o = json_object();

	json_object_set_new(o, "debt_bytes", bwl_json_u64(l->debt));
	json_object_set_new(o, "burst_bytes", bwl_json_u64(l->burst));
	json_object_set_new(o, "volume_bytes",
			    l->has_volume ? bwl_json_u64(l->volume) : json_null());
	json_object_set_new(o, "used_bytes", l->has_volume ? bwl_json_u64(l->used) : json_null());
	json_object_set_new(o, "window_s",
			    l->has_volume && l->window_ns ? bwl_json_span(l->window_ns)
							  : json_null());
	return o;
}

char *bwl_lim_rate(const struct bwl_lim *l, char buf[static BWL_UNIT_BUF])
{
	if (!l->present)
		return strcpy(buf, "-");
	if (l->rate_bps == BWL_NO_RATE)
		return strcpy(buf, "unlimited");
	return bwl_format_rate(l->rate_bps, buf);
}

char *bwl_lim_burst(const struct bwl_lim *l, char buf[static BWL_UNIT_BUF])
{
	if (!l->present || l->rate_bps == BWL_NO_RATE)
		return strcpy(buf, "-");
	return bwl_format_size(l->burst ? l->burst : bwl_default_burst(l->rate_bps), buf);
}

char *bwl_left_volume(const struct bwl_left *l, char buf[static BWL_LIM_BUF])
{
	char used[BWL_UNIT_BUF], all[BWL_UNIT_BUF];

	if (!l->has_volume)
		return strcpy(buf, "-");
	snprintf(buf, BWL_LIM_BUF, "%s of %s", bwl_human_size((double)l->used, used),
		 bwl_human_size((double)l->volume, all));
	return buf;
}

char *bwl_lim_volume(const struct bwl_lim *l, char buf[static BWL_LIM_BUF])
{
	char size[BWL_UNIT_BUF], window[BWL_UNIT_BUF];

	if (!l->present || !l->has_volume)
		return strcpy(buf, "-");
	bwl_format_size(l->volume, size);
	if (!l->window_ns)
		return strcpy(buf, size);
	snprintf(buf, BWL_LIM_BUF, "%s per %s", size, bwl_format_time(l->window_ns, window));
	return buf;
}

struct bwl_value bwl_v_left(const struct bwl_left *l)
{
	char text[BWL_LIM_BUF] = "";

	return bwl_v_both(bwl_json_left(l), "%s", bwl_v_no_text() ? "" : bwl_left_volume(l, text));
}

static json_t *prefixes(const struct bwl_pfx *p, size_t n)
{
	json_t *a = json_array();
	char buf[64];

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, json_string(bwl_pfx_format(&p[i], buf, sizeof(buf))));
	return a;
}

/* Each field below reads const struct bwl_peer_row *r. */
#define FIELD(field, key_, head_, value)                                                           \
	static struct bwl_value get_##field(const void *row)                                       \
	{                                                                                          \
		const struct bwl_peer_row *r = row;                                                \
                                                                                                   \
		return value;                                                                      \
	}                                                                                          \
	const struct bwl_field bwl_f_##field = { key_, head_, get_##field }

static struct bwl_value addresses(const struct bwl_pol_peer *p)
{
	char a[64] = "-";

	if (p->naddresses)
		bwl_pfx_format(&p->addresses[0], a, sizeof(a));
	if (p->naddresses > 1)
		return bwl_v_both(prefixes(p->addresses, p->naddresses), "%s +%zu", a,
				  p->naddresses - 1);
	return bwl_v_both(prefixes(p->addresses, p->naddresses), "%s", a);
}

/* null: from every host port. */
static json_t *from_ports(const struct bwl_pol_peer *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->nfrom; i++)
		json_array_append_new(a, json_string(p->from[i]));
	if (p->nfrom)
		return a;
	json_decref(a);
	return json_null();
}

static json_t *classes(const struct bwl_pol_peer *p)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < _BWL_CLASS_MAX; i++)
		if (p->class_[i].present)
			json_array_append_new(a, json_pack("{s:s, s:o}", "class", bwl_class_name(i),
							   "limit", bwl_json_lim(&p->class_[i])));
	return a;
}

static json_t *tenants(const struct bwl_pol_peer *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->ntenants; i++)
		json_array_append_new(a, json_pack("{s:s, s:o}", "port", p->tenants[i].port,
						   "limit", bwl_json_lim(&p->tenants[i].limit)));
	return a;
}

static json_t *via(bool there, uint8_t family, const uint8_t *addr)
{
	struct bwl_pfx a = { .family = family, .len = family == 4 ? 32 : 128 };
	char buf[64];

	memcpy(a.addr, addr, family == 4 ? 4 : 16);
	return there ? json_string(bwl_pfx_format(&a, buf, sizeof(buf))) : json_null();
}

static struct bwl_value lim_text(char *text)
{
	return bwl_v_both(json_null(), "%s", text);
}

/* A buffer for one expression. */
#define BUF(n) ((char[n]){ 0 })

FIELD(name, "peer", "~NAME", bwl_v_text(r->pol->name));
FIELD(addresses, "addresses", "~ADDRESSES", addresses(r->pol));
FIELD(zone, "zone", "~ZONE", bwl_v_text(*r->pol->zone ? r->pol->zone : NULL));
FIELD(weight, "weight", NULL,
      bwl_v_json(r->pol->weight ? json_integer(r->pol->weight) : json_null()));
FIELD(from, "from", NULL, bwl_v_json(from_ports(r->pol)));
FIELD(contained, "contained", NULL, bwl_v_yes(r->pol->contained));
FIELD(revoked, "revoked", NULL, bwl_v_yes(r->pol->revoked));
FIELD(grant, "grant", NULL, bwl_v_json(bwl_json_lim(&r->pol->grant)));
FIELD(grant_rate, NULL, ">RATE", lim_text(bwl_lim_rate(&r->pol->grant, BUF(BWL_UNIT_BUF))));
FIELD(grant_burst, NULL, "?>BURST", lim_text(bwl_lim_burst(&r->pol->grant, BUF(BWL_UNIT_BUF))));
FIELD(grant_volume, NULL, ">VOLUME", lim_text(bwl_lim_volume(&r->pol->grant, BUF(BWL_LIM_BUF))));
FIELD(mode, "mode", "MODE",
      bwl_v_both(json_string(bwl_mode_name(r->pol->mode)), "%s%s", bwl_mode_name(r->pol->mode),
		 bwl_mode_enforces(r->pol->mode) ? "" : BWL_NOT_ENFORCED));
FIELD(enforced, "enforced", NULL,
      bwl_v_yes(bwl_peer_enforced(r->pol) || r->now_ns >= r->pol->expiry_ns));
FIELD(mark_percent, "mark_percent", NULL,
      bwl_v_json(r->pol->mode == BWL_MODE_MARK ? json_integer(r->pol->mark_pct) : json_null()));
FIELD(pol_expires, "expires_in_s", "?EXPIRES", bwl_v_in(r->pol->expiry_ns, r->now_ns));
FIELD(accept, "accept", NULL, bwl_v_json(bwl_json_lim(&r->pol->accept)));
FIELD(accept_none, "accept_none", NULL, bwl_v_yes(r->pol->accept_none));
FIELD(floor, "floor", NULL, bwl_v_json(bwl_json_lim(&r->pol->floor)));
FIELD(classes, "classes", NULL, bwl_v_json(classes(r->pol)));
FIELD(tenants, "ports", NULL, bwl_v_json(tenants(r->pol)));
FIELD(path, "path", "?PATH", bwl_v_text(bwl_path_name(r->pol->path)));
FIELD(uplink, "uplink", NULL, bwl_v_text(*r->pol->uplink ? r->pol->uplink : NULL));
FIELD(via, "via", NULL, bwl_v_json(via(r->pol->has_via4, 4, r->pol->via4)));
FIELD(via6, "via6", NULL, bwl_v_json(via(r->pol->has_via6, 6, r->pol->via6)));
FIELD(ipsec_remote, "ipsec_remote", NULL,
      bwl_v_text(*r->pol->ipsec_remote ? r->pol->ipsec_remote : NULL));

/* For a peer that was removed meanwhile: null, "no-peer". */
static struct bwl_value state(const struct bwl_peer_row *r)
{
	return r->body ? bwl_v_text(bwl_standing_name(bwl_standing(r->v, r->id, r->body)))
		       : bwl_v_both(json_null(), "no-peer");
}

/* Where a limit stands beside what passes: a peer that passes more than its own is no breach in
 * mode monitor. */
static struct bwl_value state_counted(const struct bwl_peer_row *r)
{
	struct bwl_value v = state(r);

	if (r->body && bwl_standing(r->v, r->id, r->body) == BWL_STAND_LIVE &&
	    !bwl_enforced(r->v, r->id, r->body))
		strcpy(v.text, "counted");
	return v;
}

static struct bwl_value rate(const struct bwl_peer_row *r)
{
	return r->body ? bwl_v_rate(bwl_rate_decode(&r->body->grant.rate))
		       : bwl_v_json(json_null());
}

static struct bwl_value burst(const struct bwl_peer_row *r)
{
	char buf[BWL_UNIT_BUF];

	return bwl_rate_decode(&r->body->grant.rate)
		       ? bwl_v_both(json_null(), "%s", bwl_format_size(r->left.burst, buf))
		       : bwl_v_json(json_null());
}

static struct bwl_value portion(const struct bwl_peer_row *r)
{
	const struct bwl_limit *l = bwl_portion_limit(&r->v->gen, r->body);

	return l ? bwl_v_rate(bwl_rate_decode(&l->rate)) : bwl_v_json(json_null());
}

static uint32_t horizon_ns(const struct bwl_peer_row *r)
{
	return bwl_horizon(r->v->gen.base->horizon_ns, r->pol->grant.rate_bps);
}

FIELD(peer, "peer", "~NAME", bwl_v_text(bwl_peer_name(r->v->pins, r->id, BUF(BWL_NAME_LEN))));
FIELD(state, "state", "STATE", state(r));
FIELD(state_counted, "state", "STATE", state_counted(r));
FIELD(rate, "rate_bits_per_second", ">RATE", rate(r));
FIELD(burst, NULL, "?>BURST", burst(r));
FIELD(left, "left", ">VOLUME USED", r->body ? bwl_v_left(&r->left) : bwl_v_json(json_null()));
FIELD(expires, "expires_in_s", "EXPIRES", bwl_v_in(r->body->meta.expiry_ns, r->v->now_ns));
FIELD(body_mode, "mode", NULL, bwl_v_text(bwl_mode_name(r->body->meta.mode)));
FIELD(mode_in_force, "mode_in_force", "MODE", bwl_v_mode(r->v->pins, r->id, r->body->meta.mode));
FIELD(body_enforced, "enforced", NULL,
      bwl_v_yes(!r->body || bwl_enforced(r->v, r->id, r->body))); /* who left passes nothing */
FIELD(portion, "portion_bits_per_second", NULL, portion(r));
FIELD(horizon, "horizon_s", NULL,
      bwl_v_json(bwl_mode_paces(r->pol->mode) ? bwl_json_span(horizon_ns(r)) : json_null()));
FIELD(sa_out, "sa_out", NULL,
      bwl_v_json(json_boolean((r->v->pins->tunnel[r->id].flags & BWL_TUN_SA) != 0)));
FIELD(offload, "offload", NULL,
      bwl_v_json(bwl_json_text(bwl_offload_name(&r->v->pins->tunnel[r->id]))));
FIELD(tunnel, "tunnel", NULL,
      bwl_v_json(r->pol->path == BWL_PATH_CLEAR ? json_null()
						: bwl_json_tunnel(r->v, r->pol, r->id)));

static struct bwl_value share(const struct bwl_peer_row *r)
{
	uint64_t bps = r->body ? bwl_rate_decode(&r->body->grant.rate) : 0;

	return bps ? bwl_v_both(json_null(), "%.0f%%", r->speed->passed_bps * 100 / (double)bps)
		   : bwl_v_json(json_null());
}

static struct bwl_value lost(const struct bwl_peer_row *r)
{
	struct bwl_value v = bwl_v_bytes(r->count->refund_lost);

	if (!r->count->refund_lost)
		strcpy(v.text, "-");
	return v;
}

FIELD(passed_frames, "passed_frames", ">PASSED", bwl_v_count(r->count->frames));
FIELD(passed_bytes, "passed_bytes", ">BYTES", bwl_v_bytes(r->count->bytes));
FIELD(dropped_frames, "dropped_frames", ">DROPPED", bwl_v_count(r->count->drop_frames));
FIELD(dropped_bytes, "dropped_bytes", ">BYTES", bwl_v_bytes(r->count->drop_bytes));
FIELD(over_frames, "unenforced_frames", ">NOT ENFORCED", bwl_v_count(r->over->frames));
FIELD(over_bytes, "unenforced_bytes", ">BYTES", bwl_v_bytes(r->over->bytes));
FIELD(refund_lost, "refund_lost_bytes", ">LOST", lost(r));
FIELD(passes, "passed_bits_per_second", ">PASSES NOW",
      bwl_v_speed(r->speed ? &r->speed->passed_bps : NULL));
FIELD(drops, "dropped_bits_per_second", ">DROPS NOW",
      bwl_v_speed(r->speed ? &r->speed->dropped_bps : NULL));
FIELD(share, NULL, ">OF", share(r));

static json_t *port_of(const struct bwl_pol_port *p)
{
	json_t *o = json_object(), *vlans = json_array();
	char mac[BWL_MAC_BUF];

	for (size_t i = 0; i < p->nvlans; i++)
		json_array_append_new(vlans, json_integer(p->vlans[i]));
	json_object_set_new(o, "port", json_string(p->name));
	json_object_set_new(o, "sources", prefixes(p->sources, p->nsources));
	json_object_set_new(o, "vlans", vlans);
	json_object_set_new(o, "mac",
			    bwl_json_text(p->has_mac ? bwl_mac_format(p->mac, mac) : NULL));
	json_object_set_new(o, "limit", bwl_json_lim(&p->limit));
	return o;
}

static json_t *controls(uint32_t set)
{
	static const char *const names[] = {
#define X(e, name) [BWL_CONTROL_##e] = name,
		BWL_CONTROLS(X)
#undef X
	};
	json_t *a = json_array();

	for (unsigned i = 0; i < _BWL_CONTROL_MAX; i++)
		if (set & 1U << i)
			json_array_append_new(a, json_string(names[i]));
	return a;
}

json_t *bwl_json_policy(const struct bwl_policy *p, uint64_t now_ns)
{
	static const struct bwl_column columns[] = { BWL_POLICY_COLUMNS, { NULL, BWL_BOTH } };
	json_t *o = bwl_doc("policy"), *uplinks = json_array(), *ports = json_array(),
	       *zones = json_array(), *peers = json_array();

	for (size_t i = 0; i < p->nuplinks; i++)
		json_array_append_new(uplinks, json_string(p->uplinks[i]));
	for (size_t i = 0; i < p->nports; i++)
		json_array_append_new(ports, port_of(&p->ports[i]));
	for (size_t i = 0; i < p->nzones; i++)
		json_array_append_new(zones,
				      json_pack("{s:s, s:o, s:s}", "zone", p->zones[i].name,
						"limit", bwl_json_lim(&p->zones[i].limit), "share",
						bwl_share_name(p->zones[i].weighted)));
	for (size_t i = 0; i < p->npeers; i++)
		json_array_append_new(peers, bwl_row_json(columns, &(struct bwl_peer_row){
									   .pol = &p->peers[i],
									   .now_ns = now_ns }));
	json_object_set_new(o, "node", json_string(p->node));
	json_object_set_new(o, "uplinks", uplinks);
	json_object_set_new(o, "uplink_control", controls(p->control));
	json_object_set_new(o, "host_ports", ports);
	json_object_set_new(o, "heartbeat_s",
			    p->heartbeat_none ? json_null() : bwl_json_span(p->heartbeat_ns));
	json_object_set_new(o, "lease_s", p->lease_ns ? bwl_json_span(p->lease_ns) : json_null());
	json_object_set_new(o, "min_charge_bytes", json_integer(p->min_charge));
	json_object_set_new(o, "horizon_s",
			    p->horizon_ns ? bwl_json_span(p->horizon_ns) : json_null());
	json_object_set_new(o, "ledger_required", json_boolean(p->ledger));
	json_object_set_new(o, "count_classes", json_string(p->count_all ? "all" : "limited"));
	json_object_set_new(o, "default", json_string(p->reject ? "reject" : "deny"));
	json_object_set_new(o, "node_limit", bwl_json_lim(&p->node_limit));
	json_object_set_new(o, "zones", zones);
	json_object_set_new(o, "peers", peers);
	return o;
}
