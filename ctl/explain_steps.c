// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pipeline of bpf/bwlimit.bpf.c, read from the maps: the same checks in the same order. The
 * first that refuses gives the reason under which the packet would be counted; later ones are
 * checked too, where possible, so that the operator does not fix one only to meet the next.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "explain.h"

#define ETH_HEADER 14U

struct judge {
	const struct bwl_view *v;
	const struct ctl_question *q;
	struct ctl_answer *a;
	const struct bwl_base *base;
	const struct bwl_port *port;
	const struct bwl_peer *peer;
	bool lapsed, monitored;
};

struct finding {
	const char *step, *text;
	unsigned int reason; /* BWL_R_NONE: it passes */
};

static struct bwl_value get_reason(const void *row)
{
	const struct finding *f = row;
	const char *reason = f->reason ? bwl_reason_name(f->reason) : NULL;

	return bwl_v_both(bwl_json_text(reason), "%s", reason ? reason : "ok");
}

static struct bwl_value get_ok(const void *row)
{
	return bwl_v_yes(((const struct finding *)row)->reason == BWL_R_NONE);
}

static struct bwl_value get_step(const void *row)
{
	return bwl_v_text(((const struct finding *)row)->step);
}

static struct bwl_value get_text(const void *row)
{
	return bwl_v_text(((const struct finding *)row)->text);
}

static const struct bwl_field f_reason = { "reason", "", get_reason };
static const struct bwl_field f_ok = { "ok", NULL, get_ok };
static const struct bwl_field f_step = { "step", "CHECK", get_step };
static const struct bwl_field f_text = { "text", "FINDS", get_text };
static const struct bwl_column step_columns[] = {
	{ &f_reason, BWL_BOTH }, { &f_ok, BWL_BOTH }, { &f_step, BWL_BOTH },
	{ &f_text, BWL_BOTH },   { NULL, BWL_BOTH },
};

/* ok, or the reason why not. */
static bool step(struct judge *j, const char *check, unsigned int reason, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static bool step(struct judge *j, const char *check, unsigned int reason, const char *fmt, ...)
{
	char detail[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	bwl_list_add(j->a->steps,
		     &(struct finding){ .step = check, .text = detail, .reason = reason });
	if (reason != BWL_R_NONE && j->a->reason == BWL_R_NONE)
		j->a->reason = reason;
	return reason == BWL_R_NONE;
}

static const uint8_t nobodys[4]; /* begin of an IPv6 address: as bwl_is_nobodys() */

static bool source_has(const struct bwl_port *p, const struct ctl_question *q)
{
	uint32_t a[4];

	if (q->family == 6 && !memcmp(q->src, nobodys, sizeof(nobodys)))
		return false;
	memcpy(a, q->src, sizeof(a));
	for (unsigned int i = 0; q->family == 4 && i < p->nsrc4 && i < BWL_MAX_SOURCES; i++)
		if ((a[0] & p->src4[i].mask) == p->src4[i].addr)
			return true;
	for (unsigned int i = 0; q->family == 6 && i < p->nsrc6 && i < BWL_MAX_SOURCES; i++) {
		const struct bwl_prefix6 *x = &p->src6[i];

		if ((a[0] & x->mask[0]) == x->addr[0] && (a[1] & x->mask[1]) == x->addr[1] &&
		    (a[2] & x->mask[2]) == x->addr[2] && (a[3] & x->mask[3]) == x->addr[3])
			return true;
	}
	return false;
}

static bool judge_switches(struct judge *j)
{
	const volatile struct bwl_ctl *c = j->v->pins->ctl;

	step(j, "stop switch",
	     !c->stop                   ? BWL_R_NONE
	     : c->stop == BWL_UPGRADING ? BWL_R_UPGRADE
					: BWL_R_STOP,
	     c->stop == BWL_CLOSED || c->stop == BWL_CLOSED_UNJUDGED ? "not opened: bwlimit-load up"
	     : c->stop == BWL_UNJUDGED ? "bwlimitd has not compared the journal with the TPM"
	     : c->stop                 ? "every packet is dropped"
				       : "off");
	if (!j->base)
		return step(j, "policy", BWL_R_NO_POLICY, "none has been applied");
	return step(j, "policy", BWL_R_NONE, "node %.31s, %u peer%s", j->base->node_name,
		    j->base->npeers, BWL_S(j->base->npeers));
}

/* The port by name, or the first whose sources have the address. */
static bool judge_port(struct judge *j)
{
	const struct ctl_question *q = j->q;
	unsigned int found = BWL_MAX_PORTS, others = 0;

	for (unsigned int i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_port *p = &j->base->port[i];

		if (!(p->flags & BWL_PORT_HOST))
			continue;
		if (q->port ? strncmp(p->name, q->port, sizeof(p->name)) : !source_has(p, q))
			continue;
		if (found == BWL_MAX_PORTS)
			found = i;
		else
			others++;
	}
	if (found == BWL_MAX_PORTS && q->port)
		return step(j, "host port", BWL_R_NO_PORT, "%.31s is not a host port of the policy",
			    q->port);
	if (found == BWL_MAX_PORTS)
		return step(j, "source", BWL_R_SRC_ADDR, "no host port has it in its sources");
	j->a->port = found;
	j->port = &j->base->port[found];
	if (!j->v->pins->dev[found].ifindex)
		step(j, "host port", BWL_R_NO_PORT, "%.31s is in the policy but not attached",
		     j->port->name);
	else if (others)
		step(j, "host port", BWL_R_NONE, "%.31s, and %u other%s: choose one with --port",
		     j->port->name, others, BWL_S(others));
	else
		step(j, "host port", BWL_R_NONE, "%.31s", j->port->name);
	if (!source_has(j->port, q))
		step(j, "source", BWL_R_SRC_ADDR, "not in the sources of %.31s", j->port->name);
	else
		step(j, "source", BWL_R_NONE, "in the sources of %.31s%s%s", j->port->name,
		     j->port->flags & BWL_PORT_MAC ? "; from its MAC only" : "",
		     j->port->nvlans ? "" : "; without a VLAN tag");
	return true;
}

/* As bwl_ends_here(): destinations that no peer can have. */
static bool ends_here(const struct ctl_question *q)
{
	const uint8_t *d = q->dst;

	if (q->family == 4)
		return d[0] == 0 || d[0] == 127 || (d[0] == 169 && d[1] == 254) || d[0] >= 224;
	return d[0] == 0xff || (d[0] == 0xfe && (d[1] & 0xc0) == 0x80) || !memcmp(d, nobodys, 4);
}

static void judge_class(struct judge *j)
{
	const struct ctl_question *q = j->q;
	unsigned int c = BWL_C_OTHER;

	if (q->has_proto) {
		c = j->base->proto_class[q->proto];
		if (q->proto == IPPROTO_TCP || q->proto == IPPROTO_UDP)
			c = j->base->port_class[q->proto == IPPROTO_UDP][q->dport];
	}
	j->a->class_ = c < _BWL_CLASS_MAX ? c : BWL_C_OTHER;
	step(j, "class", BWL_R_NONE, "%s%s", bwl_class_name(j->a->class_),
	     q->fragment    ? ": the ports of a fragment are not read"
	     : q->has_proto ? ", as the host claims"
			    : ": give PROTO and DPORT for another");
}

/* A policy on trial (policy apply --confirm): its end ends every grant but `self`. */
static void judge_trial(struct judge *j, uint32_t id, bool floor)
{
	uint64_t now = j->v->now_ns, at = bwl_trial_ns(j->v->pins);
	bool over = at && now >= at && id != j->base->self_id;
	char when[BWL_WHEN_BUF];

	if (!at)
		return;
	step(j, "trial", over && !floor ? BWL_R_EXPIRED : BWL_R_NONE, "the policy's trial %s %s%s",
	     now < at ? "ends" : "ended", bwl_when(at, now, when),
	     !over   ? ""
	     : floor ? ": the floor applies"
		     : ", and the policy before has not returned: bwlimit-ctl policy rollback");
	j->lapsed |= over;
}

static bool judge_grant(struct judge *j)
{
	const struct bwl_ctl *ctl = j->v->pins->ctl;
	uint32_t id = j->q->peer;
	const struct bwl_peer *p = ctl_view_peer(j->v, id);
	uint64_t now = j->v->now_ns, heartbeat;
	char when[BWL_WHEN_BUF];
	const char *name, *why, *todo = "";
	bool floor;

	if (!p)
		return step(j, "destination", BWL_R_NO_PEER, "no peer has this address");
	j->peer = p;
	name = j->v->pins->name[id].name;
	step(j, "destination", BWL_R_NONE, "peer %.31s", name);
	if (!(p->meta.flags & BWL_PEER_GRANT))
		return step(j, "grant", BWL_R_NO_GRANT, "%.31s has none", name);
	if (bwl_standing(j->v, id, p) == BWL_STAND_REVOKED)
		return step(j, "grant", BWL_R_REVOKED, "revoked%s",
			    bwl_is_revoked_by(p->meta.grant_seq, ctl->revoked_all)
				    ? ", with every other"
				    : "");
	floor = p->grant.volume.floor != 0;
	j->lapsed = now >= p->meta.expiry_ns;
	step(j, "expiry", j->lapsed && !floor ? BWL_R_EXPIRED : BWL_R_NONE, "%s%s",
	     bwl_when(p->meta.expiry_ns, now, when),
	     j->lapsed && floor ? ": the floor applies" : "");
	judge_trial(j, id, floor);
	heartbeat = bwl_silent_at(j->v);
	why = now < heartbeat ? NULL : bwl_why_silent(j->v->pins, j->base, now, &todo);
	if (heartbeat == BWL_NEVER_NS)
		step(j, "heartbeat", BWL_R_NONE, "none is asked for");
	else
		step(j, "heartbeat", now >= heartbeat && !floor ? BWL_R_SILENT : BWL_R_NONE,
		     "%s%s%s%s",
		     now < heartbeat ? "lapses "
		     : why           ? why
		     : !heartbeat    ? "never renewed"
				     : "lapsed ",
		     why ? ": " : "",
		     why         ? todo
		     : heartbeat ? bwl_when(heartbeat, now, when)
				 : "",
		     now >= heartbeat && floor ? ": the floor applies" : "");
	j->lapsed |= now >= heartbeat;
	if (id == j->base->self_id)
		step(j, "from", BWL_R_FROM, "the grant `self` is for the DPU alone");
	else if (j->port && !(p->meta.from & 1ULL << j->a->port))
		step(j, "from", BWL_R_FROM, "%.31s may not be used from %.31s", name,
		     j->port->name);
	else
		step(j, "from", BWL_R_NONE, "may be used from %.31s",
		     j->port ? j->port->name : "here");
	return true;
}

/* What the ledger has released of a volume, if there is one. */
static void judge_release(struct judge *j, const char *what, const struct bwl_left *left,
			  uint64_t released, bool soft)
{
	char a[BWL_UNIT_BUF];
	bool over = left->used > released || j->a->len > released - left->used;

	if (released == BWL_RELEASE_NONE || released >= left->volume)
		return;
	if (released == BWL_RELEASE_AWAITED || released == BWL_RELEASE_CLOSED)
		step(j, what, soft ? BWL_R_NONE : BWL_R_LEDGER, "the ledger has released nothing");
	else
		step(j, what, over && !soft ? BWL_R_LEDGER : BWL_R_NONE,
		     "the ledger has released %s", bwl_human_size((double)released, a));
	j->monitored |= over && soft;
}

/*
 * The rate's part and the volume's part of one limit, in the order of bwl_take_one().
 * horizon_ns: how long the packet may wait for its time, else 0.
 */
static void judge_limit(struct judge *j, const char *what, const struct bwl_limit *l,
			uint32_t state, unsigned int rate_reason, bool soft, uint32_t horizon_ns)
{
	char a[BWL_UNIT_BUF], b[BWL_UNIT_BUF], d[BWL_UNIT_BUF], t[BWL_UNIT_BUF];
	uint64_t len = j->a->len, bps = bwl_rate_decode(&l->rate), missing, rest;
	double late_s = 0;
	struct bwl_left left;
	bool over;

	if (!bps && l->volume.spendable_bytes == BWL_VOLUME_NONE) {
		step(j, what, BWL_R_NONE, "none");
		return;
	}
	bwl_limit_left(j->v->pins, &l->rate, &l->volume, state, j->v->now_ns, &left);
	if (bps) {
		if (left.debt > BWL_MAX_DEBT) {
			step(j, what, BWL_R_CLOCK,
			     "the state is ahead of the clock; it starts over in debt");
			return;
		}
		rest = l->rate.burst_bytes + 1; /* CPUs may hold the rest */
		over = left.debt + len > l->rate.burst_bytes;
		missing = over ? left.debt + len - l->rate.burst_bytes : 0;
		if (over && horizon_ns && l->rate.burst_bytes >= len) {
			late_s = (double)missing * 8 / (double)bps;
			over = late_s > horizon_ns / 1e9;
			missing = over ? missing - (uint64_t)(horizon_ns / 8e9 * (double)bps) : 0;
		}
		if (over && l->rate.burst_bytes >= len &&
		    missing * 8000000000.0 / (double)bps > (double)j->a->wait_ns)
			j->a->wait_ns = (uint64_t)((double)missing * 8e9 / (double)bps) + 1;
		step(j, what, over && !soft ? rate_reason : BWL_R_NONE,
		     "%s, %s of %s burst left%s%s", bwl_format_rate(bps, a),
		     bwl_human_size(rest > left.debt ? (double)(rest - left.debt) : 0, b),
		     bwl_human_size((double)left.burst, d),
		     over && soft         ? ": over it, passed by mode monitor"
		     : over && horizon_ns ? ": it would wait beyond the horizon of "
		     : late_s             ? ": leaves in "
					  : "",
		     over && horizon_ns ? bwl_human_time(horizon_ns / 1e9, t)
		     : late_s           ? bwl_human_time(late_s, t)
					: "");
		j->monitored |= over && soft;
	}
	if (left.has_volume) {
		over = left.used > left.volume || len > left.volume - left.used;
		step(j, what, over && !soft ? rate_reason + 1 : BWL_R_NONE,
		     "%s of %s volume used%s%s%s", bwl_human_size((double)left.used, a),
		     bwl_human_size((double)left.volume, b), left.window_ns ? " in the last " : "",
		     left.window_ns ? bwl_format_time(left.window_ns, d) : "",
		     over && soft ? ": over it, passed by mode monitor" : "");
		j->monitored |= over && soft;
		if (!over)
			judge_release(j, what, &left, j->v->pins->mark[state].spendable_bytes,
				      soft);
	}
}

/* A class's limit among the peer's, by its place in the mask. */
static const struct bwl_limit *class_limit(const struct judge *j, unsigned int class_)
{
	const struct bwl_peer_meta *m = &j->peer->meta;
	uint32_t bit = 1U << class_, i;

	if (!(m->class_mask & bit))
		return NULL;
	i = m->sub_base + (uint32_t)__builtin_popcount(m->class_mask & (bit - 1));
	return i < j->v->gen.nsubs ? &j->v->gen.sub[i] : NULL;
}

/*
 * As bwl_portion_fits(), and the zone as bwl_charge_each() asks it: who is beyond its portion may
 * not use the reserve.
 */
static void judge_zone(struct judge *j)
{
	const struct bwl_zone *z = &j->base->zone[j->peer->meta.zone];
	const struct bwl_limit *portion = bwl_portion_limit(&j->v->gen, j->peer);
	struct bwl_limit l = z->limit;
	char what[64], a[BWL_UNIT_BUF];
	struct bwl_left left;

	if (portion) {
		bwl_limit_left(j->v->pins, &portion->rate, NULL, portion->volume.state,
			       j->v->now_ns, &left);
		if (left.debt + j->a->len > portion->rate.burst_bytes)
			l.rate.burst_bytes /= 2;
		step(j, "portion", BWL_R_NONE, "weight %u, %s: %s",
		     portion->volume.weight ? portion->volume.weight : 1,
		     bwl_format_rate(bwl_rate_decode(&portion->rate), a),
		     l.rate.burst_bytes == z->limit.rate.burst_bytes
			     ? "within it, so all of the zone's burst is there"
			     : "beyond it, so half of the zone's burst is kept for others");
	}
	snprintf(what, sizeof(what), "zone %.31s", z->name);
	judge_limit(j, what, &l, l.volume.state, BWL_R_ZONE_RATE, false, 0);
}

/* As bwl_inner_mtu(): the largest IP packet that goes out whole. */
static uint32_t inner_mtu(const struct judge *j)
{
	uint32_t more = 0;

	if (j->peer && j->peer->meta.path != BWL_PATH_CLEAR) {
		more = j->v->pins->tunnel[j->q->peer].overhead;
		more = more ? more : BWL_ESP_MAX;
	}
	return j->base->mtu > more ? j->base->mtu - more : 0;
}

/* Modes shape and mark: how long a packet may wait for its time, ns. */
static uint32_t may_wait(const struct judge *j)
{
	const struct bwl_peer *p = j->peer;

	if (!bwl_mode_paces(p->meta.mode) || j->lapsed || !bwl_paces(j->v->pins, j->q->peer))
		return 0;
	return bwl_horizon(j->base->horizon_ns, bwl_rate_decode(&p->grant.rate));
}

static void judge_limits(struct judge *j)
{
	const struct bwl_peer *p = j->peer;
	bool soft = !bwl_mode_enforces(p->meta.mode);
	const struct bwl_limit *l;
	char what[64];

	l = j->port ? bwl_gen_tenant(&j->v->gen, p, (uint32_t)(j->port - j->base->port)) : NULL;
	if (l) {
		snprintf(what, sizeof(what), "%.31s to this peer", j->port->name);
		judge_limit(j, what, l, l->volume.state, BWL_R_PORT_RATE, soft, 0);
	}
	judge_limit(j, "peer limit", &p->grant, bwl_grant_state(j->q->peer), BWL_R_PEER_RATE, soft,
		    may_wait(j));
	if (j->lapsed && p->grant.volume.floor && p->grant.volume.floor < j->v->gen.nsubs) {
		l = &j->v->gen.sub[p->grant.volume.floor];
		judge_limit(j, "floor", l, l->volume.state, BWL_R_FLOOR_RATE, false, 0);
	}
	l = class_limit(j, j->a->class_);
	if (l) {
		snprintf(what, sizeof(what), "class %s", bwl_class_name(j->a->class_));
		judge_limit(j, what, l, l->volume.state, BWL_R_CLASS_RATE, soft, 0);
	}
	if (p->meta.zone)
		judge_zone(j);
	if (j->port)
		judge_limit(j, "port limit", &j->port->limit, j->port->limit.volume.state,
			    BWL_R_PORT_RATE, false, 0);
	judge_limit(j, "node limit", &j->base->node, j->base->node.volume.state, BWL_R_NODE_RATE,
		    false, 0);
}

/* Is the peer's SA in a device, which gets its packets in the clear? */
static bool is_in_device(const struct judge *j)
{
	return j->peer->meta.path != BWL_PATH_CLEAR &&
	       j->v->pins->tunnel[j->q->peer].offload == BWL_OFFLOAD_PACKET;
}

/* As bwl_device_sees(), as far as a question says what the packet is. */
static bool device_sees(const struct ctl_question *q)
{
	bool ike = q->proto == IPPROTO_UDP && (q->dport == 500 || q->dport == 4500);

	return !q->fragment && !ike && q->proto != IPPROTO_ESP && q->proto != IPPROTO_AH;
}

static void judge_tunnel(struct judge *j)
{
	const struct bwl_pins *p = j->v->pins;
	const struct bwl_tunnel *t = &p->tunnel[j->q->peer];
	bool sa = t->flags & BWL_TUN_SA;
	unsigned int carried_by;

	step(j, "path", p->ctl->tunnel && sa ? BWL_R_NONE : BWL_R_NO_SA, "%s: %s",
	     bwl_path_name(j->peer->meta.path),
	     !p->ctl->tunnel ? "there is no tunnel device"
	     : sa            ? "there is an SA"
			     : "there is no SA");
	if (sa && is_in_device(j) && !device_sees(j->q)) {
		step(j, "device", BWL_R_DEVICE,
		     "its policies do not see fragments, ESP, AH and key exchange");
		return;
	}
	if (j->peer->meta.path != BWL_PATH_OFFLOAD)
		return;
	carried_by = bwl_carried_by_now(p, j->q->peer, j->v->now_ns);
	step(j, "carrier", BWL_R_NONE, "%s: %s", carried_by == BWL_CARRIED_XDP ? "XDP" : "TC",
	     bwl_carried_by_text(carried_by));
}

static void judge_path(struct judge *j)
{
	const struct bwl_nexthop *n = &j->base->nexthop[j->peer->meta.nexthop % BWL_MAX_NEXTHOPS];
	const struct bwl_dev *dev = &j->v->pins->dev[n->port % BWL_MAX_PORTS];
	bool v4 = j->q->family == 4 && n->has4;
	char via[INET6_ADDRSTRLEN], mac[BWL_MAC_BUF];
	uint8_t fixed[6];

	if (j->peer->meta.path != BWL_PATH_CLEAR) {
		judge_tunnel(j);
		return;
	}
	if (!v4 && !n->has6) {
		step(j, "next hop", BWL_R_NO_NEXTHOP, "the peer has no via of this family");
		return;
	}
	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? (const void *)&n->via4 : n->via6, via, sizeof(via));
	memcpy(fixed, n->mac_head, 2);
	memcpy(fixed + 2, n->mac_tail, 4);
	if (!dev->ifindex || !(dev->kind & BWL_PORT_UPLINK))
		step(j, "next hop", BWL_R_NO_NEXTHOP, "%s, but its uplink is not attached", via);
	else
		step(j, "next hop", BWL_R_NONE, "%s through %.15s, in the clear%s%s", via,
		     dev->name, bwl_mac_is_one(fixed) ? ", to " : "",
		     bwl_mac_is_one(fixed) ? bwl_mac_format(fixed, mac) : "");
}

/* As bwl_mtu_fits() of a packet with DF. */
static void judge_size(struct judge *j)
{
	bool clear = j->peer->meta.path == BWL_PATH_CLEAR;
	uint32_t mtu = inner_mtu(j), most = mtu;
	unsigned int r;

	if (j->q->family == 6 && most < BWL_IP6_MTU)
		most = BWL_IP6_MTU < j->base->mtu ? BWL_IP6_MTU : j->base->mtu;
	r = j->a->len > most + ETH_HEADER ? BWL_R_TOO_BIG : BWL_R_NONE;
	if (clear)
		step(j, "size", r, "%u bytes, the uplink's MTU allows %u", j->a->len,
		     most + ETH_HEADER);
	else
		step(j, "size", r, "%u bytes, the tunnel's MTU of %u (uplink %u) allows %u%s",
		     j->a->len, mtu, j->base->mtu, most + ETH_HEADER,
		     j->q->family == 4 ? " with DF" : "");
}

/* As bwl_classify() and bwl_parse_chain(): no fragment is free, and none is put together here. */
static void judge_fragments(struct judge *j)
{
	bool other = j->a->class_ != BWL_C_OTHER && class_limit(j, BWL_C_OTHER);

	if (is_in_device(j)) {
		step(j, "fragments", BWL_R_NONE, "none passes: the SA is in a device (%s)",
		     bwl_reason_name(BWL_R_DEVICE));
		return;
	}
	step(j, "fragments", BWL_R_NONE, "each is judged and charged by itself, in class other%s%s",
	     other ? ", which has a limit of its own (PROTO `fragment`)" : "",
	     j->q->family == 6 ? "; the first must hold all headers" : "");
}

void ctl_explain(const struct bwl_view *v, const struct ctl_question *q, struct ctl_answer *ret)
{
	struct judge j = { .v = v, .q = q, .a = ret, .base = v->gen.base };

	*ret = (struct ctl_answer){ .reason = BWL_R_NONE,
				    .port = BWL_MAX_PORTS,
				    .steps = bwl_list_new(step_columns, q->json) };
	ret->len = q->len;
	if (!judge_switches(&j))
		return;
	if (!judge_port(&j) && q->port)
		return;
	if (ends_here(q)) {
		step(&j, "destination", BWL_R_LOCAL_PROTO,
		     "ends at the DPU: no peer can have this address");
		return;
	}
	judge_class(&j);
	if (!judge_grant(&j))
		return;
	if (!ret->len)
		ret->len = inner_mtu(&j) + ETH_HEADER;
	if (ret->len < j.base->min_charge)
		ret->len = j.base->min_charge;
	judge_path(&j);
	judge_size(&j);
	judge_fragments(&j);
	judge_limits(&j);
	if (ret->reason == BWL_R_NONE)
		ret->reason = j.monitored ? BWL_R_PASS_MONITOR
			      : j.lapsed  ? BWL_R_PASS_FLOOR
					  : BWL_R_PASS;
}
