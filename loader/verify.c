/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify and status: what the kernel says is there, compared with what should be. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/units.h>
#include "verify.h"

int bwl_verify_ports(struct bwl_load *l, struct bwl_err *e)
{
	const struct bwl_slot *s;
	struct bwl_hook_state st;
	struct bwl_netdev d;
	unsigned n, i, k;
	int r;

	for (i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *dev = &l->pins->dev[i];

		if (!dev->ifindex || bwl_netdev_get(dev->name, &d, NULL))
			continue;
		n = bwl_port_slots(dev->kind, &s);
		for (k = 0; k < n; k++) {
			r = bwl_hook_query(l->dir, &d, s[k].hook, s[k].prog, &st, e);
			if (r)
				return r;
			if (s[k].hook == BWL_HOOK_XDP)
				continue;	/* an early drop only; TC enforces */
			if (!st.attached || !st.first) {
				bwl_fail(e, EEXIST, "%s: %s is %s", d.name, s[k].prog,
					 st.attached ? "behind a foreign program" : "not attached");
				return bwl_hint(e, "bwlimit-load verify");
			}
		}
	}
	return 0;
}

struct report {
	json_t *checks;
	bool json;
	unsigned failed, warned;
};

enum outcome { OK, WARN, FAIL };

static void check(struct report *r, enum outcome o, const char *what, const char *next, ...)
	__attribute__((format(printf, 3, 5)));

static void check(struct report *r, enum outcome o, const char *what, const char *next, ...)
{
	static const char *const words[] = { "ok", "warn", "FAIL" };
	char text[512];
	va_list ap;

	va_start(ap, next);
	vsnprintf(text, sizeof(text), what, ap);
	va_end(ap);
	r->failed += o == FAIL;
	r->warned += o == WARN;
	if (r->json)
		json_array_append_new(r->checks, json_pack("{s:s, s:s, s:s}", "result", words[o],
							   "check", text, "next", o == OK ? "" : next));
	else if (o == OK)
		printf("%-4s  %s\n", words[o], text);
	else
		printf("%-4s  %s\n      %s\n", words[o], text, next);
}

static int sysctl_value(const char *path)
{
	FILE *f = fopen(path, "re");
	int v = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &v) != 1)
		v = -1;
	fclose(f);
	return v;
}

static void check_forwarding(struct report *r, const struct bwl_netdev *d, size_t n)
{
	char path[128];
	size_t i;
	int v = sysctl_value("/proc/sys/net/ipv4/ip_forward");

	check(r, v ? FAIL : OK, "IPv4 forwarding by the kernel is %s", "sysctl -w net.ipv4.ip_forward=0",
	      v ? "on" : "off");
	v = sysctl_value("/proc/sys/net/ipv6/conf/all/forwarding");
	check(r, v > 0 ? FAIL : OK, "IPv6 forwarding by the kernel is %s",
	      "sysctl -w net.ipv6.conf.all.forwarding=0", v > 0 ? "on" : "off");
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/forwarding", d[i].name);
		if (sysctl_value(path) > 0)
			check(r, FAIL, "%s forwards by itself", "sysctl -w net.ipv4.conf.DEV.forwarding=0",
			      d[i].name);
		snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/forwarding", d[i].name);
		if (sysctl_value(path) > 0)
			check(r, FAIL, "%s forwards IPv6 by itself",
			      "sysctl -w net.ipv6.conf.DEV.forwarding=0", d[i].name);
	}
}

static const struct bwl_netdev *dev_named(const struct bwl_netdev *d, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(d[i].name, name))
			return &d[i];
	return NULL;
}

static void tag_text(int prog_fd, char tag[17])
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	int i;

	tag[0] = '\0';
	if (prog_fd < 0 || bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return;
	for (i = 0; i < 8; i++)
		snprintf(tag + 2 * i, 3, "%02x", info.tag[i]);
}

static void pinned_tag(const char *dir, const char *prog, char tag[17])
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/progs/%s", dir, prog);
	fd = bpf_obj_get(path);
	tag_text(fd, tag);
	if (fd >= 0)
		close(fd);
}

static void check_slot(struct report *r, const char *dir, const struct bwl_netdev *d,
		       const struct bwl_slot *s)
{
	struct bwl_hook_state st;
	struct bwl_err e = { 0 };
	char want[17];

	if (bwl_hook_query(dir, d, s->hook, s->prog, &st, &e)) {
		check(r, FAIL, "%s: %s", "run verify as root", d->name, e.text);
		return;
	}
	if (!st.attached) {
		check(r, s->hook == BWL_HOOK_XDP ? WARN : FAIL, "%s: %s is not attached%s",
		      "bwlimit-load attach repairs it", d->name, s->prog,
		      s->hook == BWL_HOOK_XDP ? " (it only drops early; TC enforces)" : "");
		return;
	}
	pinned_tag(dir, s->prog, want);
	if (strcmp(want, st.tag))
		check(r, FAIL, "%s: %s has tag %s, attach pinned %s", "bwlimit-load attach repairs it",
		      d->name, s->prog, st.tag, want);
	else if (!st.first)
		check(r, FAIL, "%s: a foreign program runs before %s", "remove it: bpftool net show",
		      d->name, s->prog);
	else if (!st.link_id)
		check(r, WARN, "%s: %s by %s, tag %s, without a bpf_link: anyone with CAP_NET_ADMIN can remove it",
		      "a kernel with tcx (6.6) has links", d->name, s->prog, st.how, st.tag);
	else
		check(r, OK, "%s: %s by %s, tag %s, link %u", "", d->name, s->prog, st.how, st.tag,
		      st.link_id);
}

static void check_ports(struct report *r, struct bwl_pins *p, const struct bwl_netdev *d, size_t n)
{
	const struct bwl_netdev *dev;
	const struct bwl_slot *s;
	unsigned i, k, m;

	for (i = 0; i < BWL_MAX_PORTS; i++) {
		if (!p->dev[i].ifindex)
			continue;
		dev = dev_named(d, n, p->dev[i].name);
		if (!dev || dev->ifindex != p->dev[i].ifindex) {
			check(r, FAIL, "port %s is gone or was made anew", "bwlimit-load attach repairs it",
			      p->dev[i].name);
			continue;
		}
		m = bwl_port_slots(p->dev[i].kind, &s);
		for (k = 0; k < m; k++)
			check_slot(r, p->dir, dev, &s[k]);
		if (dev->master)
			check(r, FAIL, "port %s belongs to a bridge or bond", "ip link set DEV nomaster",
			      dev->name);
		if (p->ifport[dev->ifindex].v != i + 1)
			check(r, FAIL, "port %s is not known to the programs", "bwlimit-load attach repairs it",
			      dev->name);
	}
}

/* Every other device that is up could carry a host's traffic past the programs. */
static void check_uncovered(struct report *r, struct bwl_pins *p, const struct bwl_attach *a,
			    const struct bwl_netdev *d, size_t n)
{
	unsigned k, bad = 0;
	bool known;
	size_t i;

	for (i = 0; i < n; i++) {
		known = d[i].loopback || !d[i].up;
		for (k = 0; k < BWL_MAX_PORTS; k++)
			known |= p->dev[k].ifindex == d[i].ifindex;
		for (k = 0; k < a->nmanagement; k++)
			known |= !strcmp(a->management[k], d[i].name);
		if (known)
			continue;
		bad++;
		check(r, FAIL, "device %s is up and neither a port nor named as management",
		      "set it down, attach it, or say --management DEV", d[i].name);
	}
	if (!bad)
		check(r, OK, "every other device is down, loopback or management", "");
}

static void check_policy(struct report *r, struct bwl_pins *p)
{
	uint64_t now = bwl_now_ns(), pending = bwl_pending_ns(p, now), beat = p->ctl->heartbeat_ns;
	char buf[BWL_UNIT_BUF], hex[65] = "";
	struct bwl_err e = { 0 };
	struct bwl_gen g;
	unsigned i;

	check(r, p->ctl->stop ? FAIL : OK, "the stop switch is %s", "bwlimit-ctl stop --off",
	      p->ctl->stop ? "on: nothing passes" : "off");
	check(r, p->ctl->drill ? FAIL : OK, "these maps were made by %s",
	      "detach, then attach without --drill",
	      p->ctl->drill ? "quickstart or a test" : "a plain attach");
	if (bwl_gen_open(p, bwl_active_slot(p, now), &g, &e)) {
		check(r, FAIL, "%s", "bwlimit-ctl policy apply FILE", e.text);
		return;
	}
	for (i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", g.base->digest[i]);
	check(r, OK, "policy of node %s in force: %u peers, digest %s", "", g.base->node_name,
	      g.base->npeers, strspn(hex, "0") == 64 ? "none (edited since it was applied)" : hex);
	if (pending)
		check(r, WARN, "it returns to the one before in %s unless confirmed",
		      "bwlimit-ctl policy confirm", bwl_human_time((double)(pending - now) / 1e9, buf));
	if (!g.base->heartbeat_ns)
		check(r, WARN, "the policy says heartbeat: none: grants outlive a dead controller",
		      "set heartbeat to a time");
	else if (now >= beat)
		check(r, WARN, "the heartbeat has %s: floors apply", "bwlimit-ctl heartbeat",
		      beat ? "stopped" : "never come");
	else
		check(r, OK, "the heartbeat holds for %s", "",
		      bwl_human_time((double)(beat - now) / 1e9, buf));
	for (i = 0; i < BWL_MAX_PORTS; i++) {
		if (g.base->port[i].flags && !p->dev[i].ifindex)
			check(r, FAIL, "port %s of the policy is not attached", "bwlimit-load attach",
			      g.base->port[i].name);
		if (!g.base->port[i].flags && p->dev[i].ifindex)
			check(r, WARN, "port %s is attached but not in the policy: closed",
			      "add it to the policy", p->dev[i].name);
	}
	bwl_gen_close(&g);
}

int bwl_verify(const struct bwl_attach *a, struct bwl_err *e)
{
	struct report r = { .json = a->json, .checks = json_array() };
	struct bwl_netdev *d = NULL;
	struct bwl_pins *p = NULL;
	size_t n = 0;
	int err;

	err = bwl_pins_open(a->dir, false, &p, e);
	if (!err)
		err = bwl_netdev_list(&d, &n, e);
	if (!err) {
		check(&r, OK, "maps in %s are of this program's schema", "", p->dir);
		check_ports(&r, p, d, n);
		check_uncovered(&r, p, a, d, n);
		check_forwarding(&r, d, n);
		check_policy(&r, p);
		if (a->json) {
			json_t *o = json_pack("{s:b, s:i, s:i, s:O}", "ok", !r.failed, "failed", r.failed,
					      "warnings", r.warned, "checks", r.checks);

			json_dumpf(o, stdout, JSON_INDENT(2));
			putchar('\n');
			json_decref(o);
		} else {
			printf("%u failed, %u warnings\n", r.failed, r.warned);
		}
	}
	json_decref(r.checks);
	free(d);
	bwl_pins_close(p);
	return err ? err : (int)r.failed;
}

static json_t *status_port(const struct bwl_pins *p, unsigned id)
{
	json_t *progs = json_array();
	const struct bwl_dev *dev = &p->dev[id];
	struct bwl_hook_state st;
	struct bwl_netdev d = { 0 };
	const struct bwl_slot *s;
	bool there = !bwl_netdev_get(dev->name, &d, NULL);
	unsigned i, n = bwl_port_slots(dev->kind, &s);

	for (i = 0; there && i < n; i++) {
		if (bwl_hook_query(p->dir, &d, s[i].hook, s[i].prog, &st, NULL))
			continue;
		json_array_append_new(progs, json_pack("{s:s, s:s, s:b, s:b, s:i, s:i, s:s}",
						       "program", s[i].prog, "hook", st.how,
						       "attached", st.attached, "first", st.first,
						       "prog_id", st.prog_id, "link_id", st.link_id,
						       "tag", st.tag));
	}
	return json_pack("{s:i, s:s, s:s, s:i, s:b, s:b, s:o}", "id", id, "device", dev->name, "kind",
			 dev->kind == BWL_PORT_HOST ? "host" : "uplink", "ifindex", dev->ifindex,
			 "present", there, "up", d.up, "programs", progs);
}

int bwl_status(const struct bwl_attach *a, struct bwl_err *e)
{
	json_t *ports = json_array(), *v, *q, *o;
	struct bwl_pins *p;
	size_t i, k;
	int r;

	r = bwl_pins_open(a->dir, false, &p, e);
	if (r)
		return r;
	for (i = 0; i < BWL_MAX_PORTS; i++)
		if (p->dev[i].ifindex)
			json_array_append_new(ports, status_port(p, (unsigned)i));
	o = json_pack("{s:s, s:i, s:i, s:b, s:b, s:O}", "pins", p->dir, "abi", p->schema.abi, "max_peers",
		      p->schema.max_peers, "stopped", p->ctl->stop != 0, "policy",
		      bwl_active_slot(p, bwl_now_ns()) != BWL_NO_SLOT, "ports", ports);
	if (a->json) {
		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		printf("pins %s, room for %u peers, %s, %s\n", p->dir, p->schema.max_peers,
		       p->ctl->stop ? "STOPPED" : "running",
		       bwl_active_slot(p, bwl_now_ns()) != BWL_NO_SLOT ? "a policy is in force" : "no policy");
		json_array_foreach(ports, i, v) {
			printf("%-12s %-6s ifindex %-5lld %s\n", json_string_value(json_object_get(v, "device")),
			       json_string_value(json_object_get(v, "kind")),
			       json_integer_value(json_object_get(v, "ifindex")),
			       json_is_true(json_object_get(v, "up")) ? "up" : "DOWN");
			json_array_foreach(json_object_get(v, "programs"), k, q)
				printf("    %-14s %-12s tag %s link %lld%s\n",
				       json_string_value(json_object_get(q, "program")),
				       json_string_value(json_object_get(q, "hook")),
				       json_string_value(json_object_get(q, "tag")),
				       json_integer_value(json_object_get(q, "link_id")),
				       json_is_true(json_object_get(q, "first")) ? "" : "  NOT FIRST");
		}
	}
	json_decref(o);
	json_decref(ports);
	bwl_pins_close(p);
	return 0;
}
