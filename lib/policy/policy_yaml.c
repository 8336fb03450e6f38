// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes a policy from the strings of a policy file. */
#include <netinet/in.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy_key.h"
#include "bwl/units.h"

static void take_vlans(struct bwl_conv *c, const struct bwl_text_port *t, struct bwl_pol_port *x)
{
	unsigned back = bwl_conv_down(c, "vlans"), in = c->w.n;
	int r = 0;

	if (t->vlans_count > BWL_MAX_VLANS)
		r = bwl_fail(c->e, E2BIG, "at most %d VLAN tags", BWL_MAX_VLANS);
	if (!bwl_conv_ok(c, r, in)) {
		c->w.n = back;
		return;
	}
	for (unsigned i = 0; i < t->vlans_count; i++) {
		unsigned long v;

		bwl_place_index(&c->w, i);
		if (!bwl_conv_ok(c, bwl_conv_number(c, t->vlans[i], 1, 4094, &v), in))
			v = 0;
		x->vlans[x->nvlans++] = v;
	}
	c->w.n = back;
}

static void take_port(struct bwl_conv *c, const struct bwl_text_port *t, struct bwl_pol_port *x)
{
	unsigned back = c->w.n;

	bwl_conv_name(c, "dev", t->dev, "the device of this host port", x->name, 16);
	bwl_conv_prefixes(c, "sources", t->sources, t->sources_count, &x->sources, &x->nsources);
	take_vlans(c, t, x);
	if (t->mac) {
		bwl_conv_down(c, "mac");
		x->has_mac = bwl_conv_ok(c, bwl_mac_parse(t->mac, x->mac, c->e), back);
	}
	bwl_conv_down(c, "limit");
	bwl_conv_limit(c, t->limit, &x->limit);
	c->w.n = back;
}

static int take_proto(struct bwl_conv *c, const char *s, uint8_t *ret)
{
	unsigned long v = *s == 't' ? IPPROTO_TCP : IPPROTO_UDP;
	int r = 0;

	if (strcmp(s, "tcp") && strcmp(s, "udp"))
		r = bwl_conv_number(c, s, 0, 255, &v);
	*ret = v;
	return r ? bwl_hint(c->e, "proto is tcp, udp or the number of an IP protocol") : 0;
}

static void take_service(struct bwl_conv *c, const struct bwl_text_service *t,
			 struct bwl_pol_service *s)
{
	unsigned back = c->w.n;
	unsigned long v;

	if (t->class_) {
		bwl_conv_down(c, "class");
		bwl_conv_ok(c, bwl_class_parse(t->class_, &s->class_, c->e), back);
	} else {
		bwl_conv_missing(c, "class", "the traffic class of this service");
	}
	if (t->proto) {
		bwl_conv_down(c, "proto");
		bwl_conv_ok(c, take_proto(c, t->proto, &s->proto), back);
	} else {
		bwl_conv_missing(c, "proto", "tcp, udp or the number of an IP protocol");
	}
	if (t->port) {
		bwl_conv_down(c, "port");
		if (bwl_conv_ok(c, bwl_conv_number(c, t->port, 1, 65535, &v), back))
			s->port = v;
	}
}

static int take_control(struct bwl_conv *c, const char *s)
{
	static const char *const names[] = {
#define X(e, name) [BWL_CONTROL_##e] = name,
		BWL_CONTROLS(X)
#undef X
	};
	char all[128] = "";

	for (unsigned i = 0; i < _BWL_CONTROL_MAX; i++) {
		if (!strcmp(s, names[i])) {
			c->p->control |= 1U << i;
			return 0;
		}
		if (i)
			strcat(all, i + 1 < _BWL_CONTROL_MAX ? ", " : " or ");
		strcat(all, names[i]);
	}
	return bwl_fail(c->e, EINVAL, "'%.64s' is not an underlay protocol: %s", s, all);
}

static void take_heartbeat(struct bwl_conv *c, const char *s)
{
	int r = 0;

	if (!s) {
		bwl_conv_missing(c, "heartbeat", "a time such as 60s, or explicitly `none`");
		return;
	}
	c->p->heartbeat_none = !strcmp(s, "none");
	if (!c->p->heartbeat_none && bwl_parse_time(s, &c->p->heartbeat_ns, c->e))
		r = bwl_hint(c->e, "heartbeat is a time of at least 1ms, or none");
	bwl_conv_down(c, "heartbeat");
	bwl_conv_ok(c, r, 0);
}

/* A file of another version has other keys: its only error is the version. */
static void take_version(struct bwl_conv *c, const char *s)
{
	int r = -EINVAL;

	if (!s) {
		bwl_conv_missing(c, "version", "this program reads version: 1");
		return;
	}
	if (!strcmp(s, "1"))
		return;
	bwl_fail(c->e, EINVAL, "version '%.64s' is not known: this program reads version: 1", s);
	if (c->rep->all) {
		c->rep->all->n = 0;
		c->rep->all->more = false;
		c->rep->r = 0;
	}
	bwl_conv_down(c, "version");
	bwl_conv_ok(c, r, 0);
	c->rep->r = r;
}

static void take_top(struct bwl_conv *c)
{
	const struct bwl_text_policy *t = c->t;

	take_version(c, t->version);
	if (c->rep->r)
		return;
	bwl_conv_name(c, "node", t->node, "the name of this tray", c->p->node, sizeof(c->p->node));
	take_heartbeat(c, t->heartbeat);
	bwl_conv_keys(c, bwl_top_keys, t, c->p);
	bwl_conv_down(c, "node_limit");
	bwl_conv_limit(c, t->node_limit, &c->p->node_limit);
	c->w.n = 0;
	bwl_conv_tamper(c, t->tamper);
	bwl_conv_ipsec(c, t->ipsec);
}

static void *array(size_t n, size_t size)
{
	return bwl_must(calloc(n ? n : 1, size));
}

static void at_item(struct bwl_conv *c, const char *section, unsigned i)
{
	c->w.n = 0;
	bwl_place_key(&c->w, section);
	bwl_place_index(&c->w, i);
}

static void take_uplinks(struct bwl_conv *c)
{
	for (unsigned i = 0; i < c->t->uplinks_count && !c->rep->r; i++) {
		const char *s = c->t->uplinks[i];
		char *to = c->p->uplinks[c->p->nuplinks++];
		int r = 0;

		at_item(c, "uplinks", i);
		if (strlen(s) < sizeof(c->p->uplinks[0]))
			strcpy(to, s);
		else
			r = bwl_fail(c->e, EINVAL,
				     "'%.64s' is not a valid device name: at most 15 characters",
				     s);
		bwl_conv_ok(c, r, 0);
	}
}

static void take_zone(struct bwl_conv *c, const char *name, const struct bwl_text_limit *t,
		      struct bwl_pol_zone *z)
{
	strcpy(z->name, name);
	bwl_conv_down(c, "zones");
	bwl_conv_down(c, name);
	bwl_conv_limit(c, t, &z->limit);
	if (t)
		bwl_conv_keys(c, bwl_zone_keys, t, z);
	c->w.n = 0;
}

static void take_lists(struct bwl_conv *c)
{
	const struct bwl_text_policy *t = c->t;
	struct bwl_policy *p = c->p;

	p->uplinks = array(t->uplinks_count, sizeof(*p->uplinks));
	p->ports = array(t->host_ports_count, sizeof(*p->ports));
	p->zones = array(c->scan->nzones, sizeof(*p->zones));
	p->services = array(t->services_count, sizeof(*p->services));
	take_uplinks(c);
	for (unsigned i = 0; i < t->uplink_control_count && !c->rep->r; i++) {
		at_item(c, "uplink_control", i);
		bwl_conv_ok(c, take_control(c, t->uplink_control[i]), 0);
	}
	for (unsigned i = 0; i < t->host_ports_count && !c->rep->r; i++) {
		at_item(c, "host_ports", i);
		take_port(c, &t->host_ports[i], &p->ports[p->nports++]);
	}
	c->w.n = 0;
	for (size_t i = 0; t->zones && i < c->scan->nzones && !c->rep->r; i++)
		take_zone(c, c->scan->zones[i], t->zones->limit[i], &p->zones[p->nzones++]);
	for (unsigned i = 0; i < t->services_count && !c->rep->r; i++) {
		at_item(c, "services", i);
		take_service(c, &t->services[i], &p->services[p->nservices++]);
	}
}

static void take_peers(struct bwl_conv *c)
{
	size_t silent = 0;

	for (unsigned i = 0; i < c->t->peers_count && !c->rep->r; i++) {
		struct bwl_pol_peer *x = bwl_policy_add_peer(c->p);

		at_item(c, "peers", i);
		if (silent < c->scan->nsilent && c->scan->silent[silent] == i) {
			x->accept_none = true;
			silent++;
		}
		bwl_conv_peer(c, &c->t->peers[i], x);
	}
}

static void convert(struct bwl_conv *c)
{
	take_top(c);
	if (!c->rep->r)
		take_lists(c);
	if (!c->rep->r)
		take_peers(c);
}

static void check(struct bwl_conv *c)
{
	struct bwl_report *t = c->rep, quiet = { 0 };
	char **warnings = c->p->warnings;
	size_t nwarnings = c->p->nwarnings;

	/* keep the warnings of convert() in front */
	c->p->warnings = NULL;
	c->p->nwarnings = 0;
	/* lines are looked up only when wanted: it takes as long as reading */
	if (!t->all)
		bwl_check_policy(c->p, c->file, &quiet);
	if (t->all || quiet.r || c->p->nwarnings) {
		bwl_scan_lines(t->text, t->len, c->p);
		bwl_check_policy(c->p, c->file, t);
	}
	if (nwarnings) {
		char **all = bwl_must(
			reallocarray(warnings, nwarnings + c->p->nwarnings, sizeof(*all)));

		if (c->p->nwarnings)
			memcpy(all + nwarnings, c->p->warnings, c->p->nwarnings * sizeof(*all));
		free(c->p->warnings);
		c->p->warnings = all;
		c->p->nwarnings += nwarnings;
	}
}

static void parse(struct bwl_conv *c, const char *text, size_t len)
{
	struct bwl_prescan scan = { 0 };
	struct bwl_text_policy *t = NULL;
	char *copy = NULL, *mended = NULL;
	int r = 0;

	c->rep->text = text;
	c->rep->len = len;
	if (c->rep->all)
		r = bwl_shape_check(c->rep, &mended, &len);
	text = mended ? mended : text;
	if (!r)
		r = bwl_prescan(&text, len, &copy, &scan, c->e);
	if (!r)
		r = bwl_text_load(text, len, &scan, &t, c->e);
	if (r && mended)
		c->e->line = c->e->column = 0; /* that would be in the mended text */
	bwl_tell_path(c->rep, "", false, r);
	if (!r) {
		c->t = t;
		c->scan = &scan;
		c->p = bwl_policy_new();
		convert(c);
	}
	bwl_text_free(t, &scan);
	if (!r && !c->rep->r)
		check(c);
	bwl_prescan_done(&scan);
	free(copy);
	free(mended);
}

static void read_all(struct bwl_conv *c, const char *text, size_t len)
{
	const char *nul;
	int r;

	if (len > BWL_POLICY_BYTES_MAX) {
		r = bwl_fail(c->e, EFBIG, "too large for a policy: at most 512 MiB");
	} else if ((nul = memchr(text, 0, len))) {
		r = bwl_fail(c->e, EINVAL, "a NUL byte: policy files are text in UTF-8");
		for (c->e->line = 1; text < nul; text++)
			c->e->line += *text == '\n';
	} else {
		parse(c, text, len);
		return;
	}
	bwl_tell_path(c->rep, "", false, r);
}

/* t has all errors that are wanted. Without any *ret is the policy. */
static void read_policy(const char *name, const char *text, size_t len, uint64_t now_boot_ns,
			int64_t now_wall_s, struct bwl_policy **ret, struct bwl_report *t)
{
	struct bwl_conv c = {
		.now_boot_ns = now_boot_ns,
		.now_wall_s = now_wall_s,
		.file = name,
		.rep = t,
		.e = &t->e,
	};

	read_all(&c, text, len);
	bwl_report_end(t);
	if (t->r || (t->all && t->all->n))
		bwl_policy_free(c.p);
	else
		*ret = c.p;
}

int bwl_policy_parse(const char *name, const char *text, size_t len, uint64_t now_boot_ns,
		     int64_t now_wall_s, struct bwl_policy **ret, struct bwl_err *e)
{
	struct bwl_report t = { 0 };

	read_policy(name, text, len, now_boot_ns, now_wall_s, ret, &t);
	if (t.r && name)
		strncpy(t.last.file, name, sizeof(t.last.file) - 1);
	if (t.r && e)
		*e = t.last;
	return t.r;
}

int bwl_policy_parse_all(const char *name, const char *text, size_t len, uint64_t now_boot_ns,
			 int64_t now_wall_s, struct bwl_policy **ret, struct bwl_errors *all)
{
	struct bwl_report t = { .all = all };

	all->n = 0;
	all->more = false;
	read_policy(name, text, len, now_boot_ns, now_wall_s, ret, &t);
	for (size_t i = 0; name && i < all->n; i++)
		strncpy(all->list[i].file, name, sizeof(all->list[i].file) - 1);
	return all->n ? -all->list[0].code : t.r;
}
