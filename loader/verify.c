// SPDX-License-Identifier: GPL-2.0-or-later
/* verify: compares what the kernel reports with what should be there. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bwl/model.h>
#include <bwl/next_hops.h>
#include "bwlimit.skel.h"
#include "hook/iif_rules.h"
#include "fallback.h"
#include "host_rights.h"
#include "record.h"
#include "suspend.h"
#include "verify.h"
#include "bwl/plural.h"

#define REPAIR "bwlimit-load attach repairs it"
#define NAMES 3 /* names that a line shows of a list of peers */

struct ports {
	struct bwl_report *r;
	struct bwl_pins *p;
	uint32_t ctl_id;
	struct bwlimit *built; /* this binary's programs; NULL: they could not be loaded */
};

static void check_attach_point(const struct ports *c, const struct bwl_netdev *d,
			       const struct bwl_attach_point *s)
{
	struct bwl_hook_at at = { c->p->dir, d, s->hook, s->prog, c->ctl_id };
	bool xdp = s->hook == BWL_HOOK_XDP;
	struct bwl_hook_state st;
	struct bwl_err e = { 0 };
	char want[17] = "", why[BWL_WHY_LEN];

	if (bwl_hook_query(&at, &st, &e)) {
		bwl_check(c->r, "program", BWL_FAIL, "run bwlimit-load verify as root", "%s: %s",
			  d->name, e.text);
		return;
	}
	bwl_note_get(&at, why);
	if (c->built)
		bwl_hook_tag(bwl_load_prog(c->built, s->prog), want);
	if (!st.attached)
		bwl_check(c->r, "program", xdp ? BWL_WARN : BWL_FAIL, REPAIR,
			  "%s: %s is not attached%s", d->name, s->prog,
			  xdp ? " (it only drops early; TC enforces)" : "");
	else if (*want && strcmp(want, st.tag))
		bwl_check(c->r, "program", BWL_FAIL, "bwlimit-load upgrade",
			  "%s: %s has tag %s, this version's is %s", d->name, s->prog, st.tag,
			  want);
	else if (!st.first)
		bwl_check(c->r, "program", BWL_FAIL,
			  "remove it, or run bwlimit-load attach to move bwlimit's in front",
			  "%s: foreign program %u runs before %s", d->name, st.foreign_id, s->prog);
	else if (!st.link_id)
		bwl_check(
			c->r, "program", BWL_WARN,
			"bwlimit-load attach with --tc tcx or --xdp auto, if the kernel has it",
			"%s: %s by %s, tag %s, without a bpf_link: anyone with CAP_NET_ADMIN can remove it%s%s",
			d->name, s->prog, st.how, st.tag, *why ? "; " : "", why);
	else if (*why)
		bwl_check(c->r, "program", BWL_WARN, "bwlimit-load probe",
			  "%s: %s by %s, tag %s, link %u: %s", d->name, s->prog, st.how, st.tag,
			  st.link_id, why);
	else
		bwl_check(c->r, "program", BWL_OK, "", "%s: %s by %s, tag %s, link %u", d->name,
			  s->prog, st.how, st.tag, st.link_id);
}

/*
 * Reasons, with what merged packets hold, are what the device has received, if that counts frames
 * as on a wire, and if TC alone sees merged packets. The devices here pass on the packets of
 * another kernel, and count a GSO packet as one.
 */
static void check_counts(struct bwl_report *r, const struct bwl_netdev *d, unsigned kind)
{
	static const char *const whole[] = { "veth", "netkit", "tun", "virtio_net" };
	struct bwl_netdev_xdp x;
	size_t i;

	if (kind == BWL_PORT_MANAGEMENT || bwl_netdev_xdp(d->name, d->ifindex, &x, NULL))
		return;
	for (i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		if (!strcmp(x.driver, whole[i]))
			bwl_check(
				r, "port-counts", BWL_OK, "",
				"%s (%s) counts a GSO packet of the other end as one frame: its own counters may be below the reasons with merged frames",
				d->name, x.driver);
	if (x.generic && x.merges)
		bwl_check(
			r, "port-counts", BWL_OK, "",
			"%s: XDP runs in generic form, behind GRO: what it drops it counts as one frame, merged or not",
			d->name);
}

/* `up` raises host ports alone. */
static void check_up(struct bwl_report *r, const struct bwl_netdev *d, unsigned kind)
{
	char next[96];

	if (d->up && (d->carrier || kind != BWL_PORT_UPLINK))
		return;
	if (d->up)
		snprintf(next, sizeof(next),
			 "look at its cable, its module and the switch: ethtool %s", d->name);
	else if (kind == BWL_PORT_HOST)
		snprintf(next, sizeof(next), "bwlimit-load up");
	else
		snprintf(next, sizeof(next), "ip link set %s up", d->name);
	bwl_check(r, "port-up", BWL_WARN, next, "%s %s %s",
		  kind == BWL_PORT_UPLINK ? "uplink" : "port", d->name,
		  d->up ? "has no carrier" : "is down");
}

static void check_port(const struct ports *c, const struct bwl_netdev *d, uint32_t id)
{
	const struct bwl_dev *known = &c->p->dev[id];
	const struct bwl_attach_point *s;
	unsigned n = bwl_attach_points(known->kind, &s), k;
	uint32_t foreign;
	bool paced;
	char next[160];

	for (k = 0; k < n; k++)
		check_attach_point(c, d, &s[k]);
	if (known->kind != BWL_PORT_MANAGEMENT &&
	    bwl_programs_foreign_xdp(c->p, d, known->kind, c->ctl_id, &foreign)) {
		snprintf(
			next, sizeof(next),
			"ip link set %s xdp off; beneath libxdp's dispatcher xdp-loader unload %s --id %u",
			d->name, d->name, foreign);
		bwl_check(c->r, "foreign-xdp", BWL_FAIL, next,
			  "%s: foreign XDP program %u runs before everything", d->name, foreign);
	}
	if (d->master && known->kind != BWL_PORT_MANAGEMENT) {
		snprintf(next, sizeof(next), "ip link set %s nomaster", d->name);
		bwl_check(c->r, "port-master", BWL_FAIL, next,
			  "port %s belongs to a bridge or bond", d->name);
	}
	if (c->p->ifport[d->ifindex].v != id + 1)
		bwl_check(c->r, "port-known", BWL_FAIL, REPAIR,
			  "port %s is not known to the programs", d->name);
	if (known->mtu != d->mtu && known->kind != BWL_PORT_MANAGEMENT)
		bwl_check(c->r, "port-mtu", BWL_WARN,
			  "bwlimit-load attach, then apply the policy again",
			  "port %s has an MTU of %u but had %u when it was attached", d->name,
			  d->mtu, known->mtu);
	if (known->kind == BWL_PORT_UPLINK && known->flags & BWL_DEV_FQ &&
	    (bwl_netdev_is_paced(d->ifindex, &paced, NULL) || !paced))
		bwl_check(
			c->r, "uplink-fq", BWL_FAIL, "bwlimit-load attach --pace",
			"uplink %s has no fq any more: packets of mode shape leave up to the horizon early",
			d->name);
	check_counts(c->r, d, known->kind);
	check_up(c->r, d, known->kind);
}

/*
 * Finds interface indexes registered as ports that are none: their traffic would count as the
 * port's.
 */
static void check_strangers(const struct ports *c)
{
	uint32_t i, id;

	for (i = 0; i < BWL_MAX_IFINDEX; i++) {
		id = c->p->ifport[i].v;
		if (id && (id > BWL_MAX_PORTS || c->p->dev[id - 1].ifindex != i))
			bwl_check(c->r, "port-stranger", BWL_FAIL, REPAIR,
				  "interface %u is known to the programs but is not a port", i);
	}
}

/* now: the port's device, whatever it is called; NULL: it is gone. */
static void check_present(const struct ports *c, const struct bwl_netdev *now,
			  const struct bwl_netdev *d, size_t n, uint32_t id)
{
	const char *name = c->p->dev[id].name;
	char next[96];
	size_t k;

	if (now && strcmp(now->name, name)) {
		snprintf(next, sizeof(next), "ip link set %s name %s", now->name, name);
		bwl_check(
			c->r, "port-present", BWL_FAIL, next,
			"port %s is called %s now: its limits go on, but nothing of it reaches the DPU itself",
			name, now->name);
	}
	if (now)
		return;
	for (k = 0; k < n && strcmp(d[k].name, name); k++)
		;
	bwl_check(c->r, "port-present", BWL_FAIL, REPAIR, "port %s is gone%s", name,
		  k < n ? ", and another device has its name" : "");
}

static void check_ports(const struct ports *c, const struct bwl_netdev *d, size_t n)
{
	struct bwl_netdev port;
	uint32_t i;
	size_t k;

	for (i = 0; i < BWL_MAX_PORTS; i++) {
		if (!c->p->dev[i].ifindex)
			continue;
		for (k = 0; k < n && d[k].ifindex != c->p->dev[i].ifindex; k++)
			;
		check_present(c, k < n ? &d[k] : NULL, d, n, i);
		if (k == n)
			continue;
		port = d[k];
		snprintf(port.name, sizeof(port.name), "%.15s", c->p->dev[i].name);
		check_port(c, &port, i);
	}
	check_strangers(c);
}

static void check_heartbeat(struct bwl_report *r, const struct bwl_pins *p, const struct bwl_gen *g,
			    uint64_t now)
{
	uint64_t beat = p->ctl->heartbeat_ns;
	const char *todo, *why = bwl_why_silent(p, g->base, now, &todo);
	char buf[BWL_UNIT_BUF];

	if (!g->base->heartbeat_ns)
		bwl_check(r, "heartbeat", BWL_WARN, "set `heartbeat` to a time",
			  "the policy has `heartbeat: none`: grants outlive a dead controller");
	else if (now >= beat && why)
		bwl_check(r, "heartbeat", BWL_WARN, todo, "floors apply: %s", why);
	else if (now >= beat)
		bwl_check(r, "heartbeat", BWL_WARN, "bwlimit-ctl heartbeat",
			  "the heartbeat has %s: floors apply", beat ? "stopped" : "never come");
	else
		bwl_check(r, "heartbeat", BWL_OK, "", "the heartbeat holds for %s",
			  bwl_human_time((double)(beat - now) / 1e9, buf));
}

/* Absent: what is there is enforced. There, and not attached: nothing of it passes. */
static void check_policy_ports(struct bwl_report *r, struct bwl_pins *p, const struct bwl_gen *g)
{
	struct bwl_netdev d;
	uint64_t awaited;
	unsigned i;

	bwl_ports_awaited(p, &awaited);
	for (i = 0; i < BWL_MAX_PORTS; i++) {
		if (awaited & 1ULL << i && bwl_netdev_get(p->dev[i].name, &d, NULL))
			bwl_check(
				r, "port-awaited", BWL_WARN,
				"make it appear, or take it out of the policy; attached by bwlimit-await.service",
				"%s %s of the policy is absent: it is awaited",
				p->dev[i].kind == BWL_PORT_HOST ? "host port" : "uplink",
				p->dev[i].name);
		else if (g->base->port[i].flags && !p->dev[i].ifindex)
			bwl_check(r, "policy-port", BWL_FAIL, "bwlimit-load attach",
				  "port %s of the policy is not attached", g->base->port[i].name);
		if (!g->base->port[i].flags && p->dev[i].ifindex &&
		    p->dev[i].kind != BWL_PORT_MANAGEMENT)
			bwl_check(r, "policy-port", BWL_WARN, "add it to the policy",
				  "port %s is attached but not in the policy: closed",
				  p->dev[i].name);
	}
}

/*
 * Peers of path offload: how many XDP carries, and why it does not carry the first of the others.
 */
static void check_offload(struct bwl_report *r, struct bwl_pins *p, const struct bwl_gen *g,
			  uint64_t now)
{
	unsigned wanted = 0, carried = 0, why = BWL_CARRIED_XDP, x;
	const struct bwl_peer *body;
	uint32_t id, first = 0;

	for (id = 1; id < p->schema.max_peers; id++) {
		body = bwl_body(p, g, id);
		if (!body || body->meta.path != BWL_PATH_OFFLOAD)
			continue;
		wanted++;
		x = bwl_carried_by_now(p, id, now);
		carried += x == BWL_CARRIED_XDP;
		if (x == BWL_CARRIED_XDP || first)
			continue;
		first = id;
		why = x;
	}
	if (first)
		bwl_check(r, "offload-carried", BWL_WARN,
			  "bwlimit-ctl peer show NAME; docs/bluefield.md",
			  "XDP carries %u of %u peer%s of path offload; TC carries %.31s: %s",
			  carried, wanted, BWL_S(wanted), p->name[first].name,
			  bwl_carried_by_text(why));
	else if (wanted)
		bwl_check(r, "offload-carried", BWL_OK, "",
			  "XDP carries all %u peer%s of path offload", wanted, BWL_S(wanted));
}

/* Peers whose own limits are only counted: everything is in force, and yet they limit nothing. */
static void check_enforced(struct bwl_report *r, struct bwl_pins *p, const struct bwl_gen *g)
{
	char names[NAMES * (BWL_NAME_LEN + 2)] = "", one[BWL_NAME_LEN];
	const struct bwl_view v = { .pins = p, .gen = *g, .now_ns = bwl_now_ns() };
	const struct bwl_peer *body;
	bool bare = false;
	unsigned n = 0;
	size_t at = 0;

	for (uint32_t id = 1; id < p->schema.max_peers; id++) {
		body = bwl_body(p, g, id);
		if (!body || bwl_enforced(&v, id, body))
			continue;
		bare |= bwl_is_bare(body);
		if (n++ < NAMES && bwl_peer_name(p, id, one))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? ", " : "", one);
	}
	if (n)
		bwl_check(r, "enforced", BWL_WARN, BWL_ENFORCE_HINT(bare),
			  "mode monitor: limits of %u peer%s are counted, not enforced: %s%s", n,
			  BWL_S(n), names, n > NAMES ? ", …" : "");
	else
		bwl_check(r, "enforced", BWL_OK, "", "the limits of every peer are enforced");
}

/* If `next_hop_mac` is given, nobody on the link may move the next hop elsewhere. */
static void check_next_hops(struct bwl_report *r, const struct bwl_pins *p, const struct bwl_gen *g)
{
	struct bwl_fixed_hop *list;
	size_t n = bwl_next_hops(p, g, &list), bad = 0;

	for (size_t i = 0; i < n; i++) {
		char addr[INET6_ADDRSTRLEN];
		struct bwl_err e = { 0 };

		if (list[i].ifindex && !bwl_netdev_hop_check(&list[i], &e))
			continue;
		bad++;
		inet_ntop(list[i].family, list[i].addr, addr, sizeof(addr));
		if (list[i].ifindex)
			bwl_check(r, "next-hop", BWL_FAIL,
				  "systemctl start bwlimitd, or bwlimit-ctl policy apply FILE",
				  "%s", e.text);
		else
			bwl_check(
				r, "next-hop", BWL_FAIL, "add a route through its uplink",
				"no route to %s through its uplink: its next hop cannot be made permanent",
				addr);
	}
	if (n && !bad)
		bwl_check(r, "next-hop", BWL_OK, "", "%zu next hop%s permanent", n,
			  n == 1 ? " is" : "s are");
	free(list);
}

static void check_policy(struct bwl_report *r, struct bwl_pins *p)
{
	uint64_t now = bwl_now_ns(), pending = bwl_pending_ns(p, now);
	char buf[BWL_UNIT_BUF], hex[65] = "";
	struct bwl_err e = { 0 };
	struct bwl_gen g;
	unsigned i;

	if (p->ctl->stop == BWL_UNJUDGED)
		bwl_check(
			r, "stop-switch", BWL_WARN, "journalctl -u bwlimitd",
			"nothing passes: bwlimitd has not yet compared the journal of closures with the TPM's counter");
	else if (p->ctl->stop == BWL_CLOSED || p->ctl->stop == BWL_CLOSED_UNJUDGED)
		bwl_check(r, "stop-switch", BWL_WARN, "bwlimit-load up",
			  "nothing passes: the host ports were not opened yet");
	else if (p->ctl->stop == BWL_UPGRADING)
		bwl_check(r, "stop-switch", BWL_FAIL, "bwlimit-load upgrade",
			  "an upgrade was started but not finished: nothing passes");
	else
		bwl_check(r, "stop-switch", p->ctl->stop ? BWL_FAIL : BWL_OK,
			  "bwlimit-ctl stop --off", "the stop switch is %s",
			  p->ctl->stop ? "on: nothing passes" : "off");
	bwl_check(r, "drill", p->ctl->drill ? BWL_FAIL : BWL_OK,
		  "detach, then attach without --drill", "these maps were made by %s",
		  p->ctl->drill ? "quickstart or a test" : "a plain attach");
	if (bwl_gen_open(p, bwl_active_slot(p), &g, &e)) {
		bwl_check(r, "policy", BWL_FAIL, "bwlimit-ctl policy apply FILE", "%s", e.text);
		return;
	}
	for (i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", g.base->digest[i]);
	bwl_check(r, "policy", BWL_OK, "", "policy of node %s in force: %u peer%s, digest %s",
		  g.base->node_name, g.base->npeers, BWL_S(g.base->npeers),
		  strspn(hex, "0") == 64 ? "none (edited since it was applied)" : hex);
	if (pending)
		bwl_check(
			r, "policy-trial", BWL_WARN, "bwlimit-ctl policy confirm",
			"grants end in %s, and the policy before returns, unless this one is confirmed; until then the desired policy and signed documents wait",
			bwl_human_time((double)(pending - now) / 1e9, buf));
	if (bwl_is_trial_over(p, now))
		bwl_check(
			r, "policy-trial", BWL_FAIL, "bwlimit-ctl policy rollback",
			"the policy was not confirmed in time: floors apply until the one before returns");
	check_heartbeat(r, p, &g, now);
	check_policy_ports(r, p, &g);
	check_enforced(r, p, &g);
	check_offload(r, p, &g, now);
	check_next_hops(r, p, &g);
	bwl_verify_tunnel(r, p, &g, now);
	bwl_gen_close(&g);
}

/* Puts all results into r. */
static int run_checks(struct bwl_report *r, const struct bwl_attach *a, struct bwl_pins *p,
		      struct bwl_err *e)
{
	struct ports c = { .r = r, .p = p, .ctl_id = bwl_map_id(p->fd[BWL_PIN_ctl]) };
	struct bwl_netdev *d = NULL;
	struct bwl_err load = { 0 };
	size_t n = 0;
	int err;

	err = bwl_netdev_list(&d, &n, e);
	if (err)
		return err;
	bwl_check(r, "maps", BWL_OK, "", "maps in %s are of this program's schema", p->dir);
	if (bwl_load_again(p, &c.built, &load))
		bwl_check(r, "program-tags", BWL_FAIL, "run bwlimit-load verify as root",
			  "tags cannot be compared: %s", load.text);
	check_ports(&c, d, n);
	bwl_verify_around(r, p, a, d, n);
	bwl_verify_host(r);
	bwl_suspend_check(r, p, c.built);
	bwl_record_check(r, p, d, n, c.built);
	check_policy(r, p);
	bwl_verify_journal(r, p);
	if (c.built)
		bwlimit__destroy(c.built);
	free(d);
	return 0;
}

static json_t *document(const struct bwl_report *r)
{
	json_t *o = bwl_doc("verify");

	json_object_set_new(o, "ok", json_boolean(!r->failed));
	json_object_set_new(o, "failed_count", json_integer(r->failed));
	json_object_set_new(o, "warned_count", json_integer(r->warned));
	json_object_set_new(o, "checks", r->checks);
	return o;
}

static int verify(struct bwl_attach *a, struct bwl_pins *p, bool quiet, struct bwl_err *e)
{
	struct bwl_report r = { .quiet = quiet, .json = a->json, .checks = json_array() };
	int err = run_checks(&r, a, p, e);
	json_t *o = document(&r);

	if (!err)
		bwl_verify_keep(p->dir, o);
	if (!err && a->json)
		bwl_doc_print(json_incref(o));
	else if (!err)
		bwl_put(stdout, "%u failed, %u warning%s\n", r.failed, r.warned, BWL_S(r.warned));
	json_decref(o);
	return err ? err : (int)r.failed;
}

int bwl_verify(struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_pins *p = NULL;
	int r = bwl_pins_open(a->dir, false, &p, e);

	if (!r)
		r = verify(a, p, false, e);
	bwl_pins_close(p);
	return r;
}

int bwl_up(struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_pins *p = NULL;
	struct bwl_netdev d;
	unsigned i;
	int r;

	r = bwl_pins_open(a->dir, true, &p, e);
	if (!r)
		r = bwl_pins_lock(p, e); /* nothing changes between the check and the opening */
	if (!r)
		r = verify(a, p, true, e);
	if (r > 0)
		bwl_warn("host ports are left as they are");
	if (!r)
		bwl_attach_open(p);
	for (i = 0; !r && i < BWL_MAX_PORTS; i++) {
		if (!p->dev[i].ifindex || p->dev[i].kind != BWL_PORT_HOST)
			continue;
		r = bwl_port_device(&p->dev[i], &d, e);
		if (!r)
			r = bwl_note_close(p->dir, &d, false, e);
		if (!r)
			r = bwl_netdev_set_up(d.ifindex, true, e);
		if (!r)
			bwl_port_opened(p, i);
	}
	bwl_pins_close(p);
	return r;
}
