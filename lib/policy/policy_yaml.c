/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a policy from the strings of a policy file. */
#include <netinet/in.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy_key.h"
#include "bwl/units.h"

static int take_port(struct bwl_conv *c, const struct bwl_text_port *t, struct bwl_pol_port *x)
{
	unsigned back = c->w.n;
	unsigned long v;
	int r;

	if (!t->dev)
		return bwl_conv_missing(c, "dev", "the device of this host port");
	r = bwl_conv_name(c, "dev", t->dev, x->name, 16);
	if (!r)
		r = bwl_conv_prefixes(c, "sources", t->sources, t->sources_count, &x->sources,
				      &x->nsources);
	if (r)
		return r;
	bwl_conv_down(c, "vlans");
	if (t->vlans_count > BWL_MAX_VLANS)
		return bwl_fail(c->e, E2BIG, "at most %d VLAN tags", BWL_MAX_VLANS);
	for (unsigned i = 0; i < t->vlans_count; i++) {
		bwl_place_index(&c->w, i);
		r = bwl_conv_number(c, t->vlans[i], 1, 4094, &v);
		if (r)
			return r;
		x->vlans[x->nvlans++] = v;
		c->w.n--;
	}
	c->w.n = back;
	if (t->mac) {
		bwl_conv_down(c, "mac");
		r = bwl_mac_parse(t->mac, x->mac, c->e);
		if (r)
			return r;
		x->has_mac = true;
		c->w.n = back;
	}
	bwl_conv_down(c, "limit");
	r = bwl_conv_limit(c, t->limit, &x->limit);
	if (!r)
		c->w.n = back;
	return r;
}

static int take_service(struct bwl_conv *c, const struct bwl_text_service *t,
			struct bwl_pol_service *s)
{
	unsigned back = c->w.n;
	unsigned long v;
	int r;

	if (!t->class_)
		return bwl_conv_missing(c, "class", "the traffic class of this service");
	if (!t->proto)
		return bwl_conv_missing(c, "proto", "tcp, udp or the number of an IP protocol");
	bwl_conv_down(c, "class");
	r = bwl_class_parse(t->class_, &s->class_, c->e);
	if (r)
		return r;
	c->w.n = back;
	if (!strcmp(t->proto, "tcp") || !strcmp(t->proto, "udp")) {
		s->proto = t->proto[0] == 't' ? IPPROTO_TCP : IPPROTO_UDP;
	} else {
		bwl_conv_down(c, "proto");
		r = bwl_conv_number(c, t->proto, 0, 255, &v);
		if (r) {
			bwl_hint(c->e, "proto is tcp, udp or the number of an IP protocol");
			return r;
		}
		s->proto = v;
		c->w.n = back;
	}
	if (t->port) {
		bwl_conv_down(c, "port");
		r = bwl_conv_number(c, t->port, 1, 65535, &v);
		if (r)
			return r;
		s->port = v;
		c->w.n = back;
	}
	return 0;
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

static int take_heartbeat(struct bwl_conv *c, const char *s)
{
	int r;

	if (!s)
		return bwl_conv_missing(c, "heartbeat", "a time such as 60s, or explicitly `none`");
	bwl_conv_down(c, "heartbeat");
	if (!strcmp(s, "none")) {
		c->p->heartbeat_none = true;
	} else {
		r = bwl_parse_time(s, &c->p->heartbeat_ns, c->e);
		if (r) {
			bwl_hint(c->e, "heartbeat is a time of at least 1ms, or none");
			return r;
		}
	}
	c->w.n = 0;
	return 0;
}

static int take_version(struct bwl_conv *c, const char *s)
{
	if (!s)
		return bwl_conv_missing(c, "version", "this program reads version: 1");
	bwl_conv_down(c, "version");
	if (strcmp(s, "1"))
		return bwl_fail(c->e, EINVAL,
				"version '%.64s' is not known: this program reads version: 1", s);
	return 0;
}

static int take_node(struct bwl_conv *c, const char *s)
{
	if (!s)
		return bwl_conv_missing(c, "node", "the name of this tray");
	return bwl_conv_name(c, "node", s, c->p->node, sizeof(c->p->node));
}

static int take_node_limit(struct bwl_conv *c, const struct bwl_text_limit *t)
{
	bwl_conv_down(c, "node_limit");
	return bwl_conv_limit(c, t, &c->p->node_limit);
}

static int take_top(struct bwl_conv *c)
{
	const struct bwl_text_policy *t = c->t;
	int r = take_version(c, t->version); /* a file of another version has other keys */

	c->w.n = r ? c->w.n : 0;
	if (r || (r = bwl_conv_next(c, take_node(c, t->node), 0)) ||
	    (r = bwl_conv_next(c, take_heartbeat(c, t->heartbeat), 0)) ||
	    (r = bwl_conv_next(c, bwl_conv_keys(c, bwl_top_keys, t, c->p), 0)) ||
	    (r = bwl_conv_next(c, take_node_limit(c, t->node_limit), 0)) ||
	    (r = bwl_conv_next(c, bwl_conv_tamper(c, t->tamper), 0)))
		return r;
	return bwl_conv_next(c, bwl_conv_ipsec(c, t->ipsec), 0);
}

static void *array(size_t n, size_t size)
{
	return calloc(n ? n : 1, size);
}

static void at_item(struct bwl_conv *c, const char *section, unsigned i)
{
	bwl_conv_down(c, section);
	bwl_place_index(&c->w, i);
}

static int take_uplink(struct bwl_conv *c, const char *s)
{
	if (strlen(s) >= sizeof(c->p->uplinks[0]))
		return bwl_fail(c->e, EINVAL,
				"'%.64s' is not a valid device name: at most 15 characters", s);
	strcpy(c->p->uplinks[c->p->nuplinks++], s);
	return 0;
}

static int take_zone(struct bwl_conv *c, const struct bwl_text_limit *t, struct bwl_pol_zone *z)
{
	int r = bwl_conv_limit(c, t, &z->limit);

	return r || !t ? r : bwl_conv_keys(c, bwl_zone_keys, t, z);
}

static int take_lists(struct bwl_conv *c)
{
	const struct bwl_text_policy *t = c->t;
	struct bwl_policy *p = c->p;
	int r;

	p->uplinks = array(t->uplinks_count, sizeof(*p->uplinks));
	p->ports = array(t->host_ports_count, sizeof(*p->ports));
	p->zones = array(c->scan->nzones, sizeof(*p->zones));
	p->services = array(t->services_count, sizeof(*p->services));
	if (!p->uplinks || !p->ports || !p->zones || !p->services)
		return bwl_fail(c->e, ENOMEM, "out of memory");
	for (unsigned i = 0; i < t->uplinks_count; i++) {
		at_item(c, "uplinks", i);
		if ((r = bwl_conv_next(c, take_uplink(c, t->uplinks[i]), 0)))
			return r;
	}
	for (unsigned i = 0; i < t->uplink_control_count; i++) {
		at_item(c, "uplink_control", i);
		if ((r = bwl_conv_next(c, take_control(c, t->uplink_control[i]), 0)))
			return r;
	}
	for (unsigned i = 0; i < t->host_ports_count; i++) {
		at_item(c, "host_ports", i);
		r = take_port(c, &t->host_ports[i], &p->ports[p->nports++]);
		if ((r = bwl_conv_next(c, r, 0)))
			return r;
	}
	for (size_t i = 0; t->zones && i < c->scan->nzones; i++) {
		struct bwl_pol_zone *z = &p->zones[p->nzones++];

		bwl_conv_down(c, "zones");
		bwl_conv_down(c, c->scan->zones[i]);
		strcpy(z->name, c->scan->zones[i]);
		if ((r = bwl_conv_next(c, take_zone(c, t->zones->limit[i], z), 0)))
			return r;
	}
	for (unsigned i = 0; i < t->services_count; i++) {
		at_item(c, "services", i);
		r = take_service(c, &t->services[i], &p->services[p->nservices++]);
		if ((r = bwl_conv_next(c, r, 0)))
			return r;
	}
	return 0;
}

static int take_peers(struct bwl_conv *c)
{
	size_t silent = 0;

	for (unsigned i = 0; i < c->t->peers_count; i++) {
		struct bwl_pol_peer *x = bwl_policy_add_peer(c->p);
		int r;

		at_item(c, "peers", i);
		if (silent < c->scan->nsilent && c->scan->silent[silent] == i) {
			x->accept_none = true;
			silent++;
		}
		if ((r = bwl_conv_next(c, bwl_conv_peer(c, &c->t->peers[i], x), 0)))
			return r;
	}
	return 0;
}

static int convert(struct bwl_conv *c)
{
	int r = take_top(c);

	if (!r)
		r = take_lists(c);
	if (!r)
		r = take_peers(c);
	if (r && c->e && !c->all)
		bwl_conv_prefix_error(c);
	return r;
}

static int check(struct bwl_conv *c, const char *text, size_t len)
{
	struct bwl_err ignored;
	char **warnings = c->p->warnings;
	size_t nwarnings = c->p->nwarnings;
	int r;

	if (c->all) {
		c->checking = true;
		bwl_scan_lines(text, len, c->p);
		return bwl_policy_check_at(c->p, c->file, &c->w, c->e, c);
	}

	/* keep the warnings of convert() in front */
	c->p->warnings = NULL;
	c->p->nwarnings = 0;
	r = bwl_policy_check_at(c->p, c->file, &c->w, c->e ? c->e : &ignored, NULL);
	if (r || c->p->nwarnings) {
		/* lines are looked up only when wanted: it takes as long as reading */
		bwl_scan_lines(text, len, c->p);
		r = bwl_policy_check_at(c->p, c->file, &c->w, c->e ? c->e : &ignored, NULL);
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
	return r;
}

static int parse(const char *text, size_t len, struct bwl_conv *c)
{
	struct bwl_prescan scan = { 0 };
	struct bwl_text_policy *t = NULL;
	char *copy = NULL;
	int r;

	r = bwl_prescan(&text, len, &copy, &scan, c->e);
	if (!r)
		r = bwl_text_load(text, len, &scan, &t, c->all, c->e);
	if (!r) {
		c->text = text;
		c->len = len;
		c->t = t;
		c->scan = &scan;
		c->p = bwl_policy_new();
		r = convert(c);
		if (!r) {
			bwl_text_free(t, &scan);
			t = NULL;
			r = check(c, text, len);
		}
		if (r)
			bwl_scan_locate(text, len, &c->w, BWL_AT_VALUE, c->e);
	}
	bwl_text_free(t, &scan);
	bwl_prescan_done(&scan);
	free(copy);
	return r;
}

static int read_all(struct bwl_conv *c, const char *text, size_t len)
{
	const char *nul;
	int r;

	if (len > BWL_POLICY_BYTES_MOST)
		return bwl_fail(c->e, EFBIG, "too large for a policy: at most 512 MiB");
	nul = memchr(text, 0, len);
	if (!nul)
		return parse(text, len, c);
	r = bwl_fail(c->e, EINVAL, "a NUL byte: policy files are text in UTF-8");
	if (c->e)
		for (c->e->line = 1; text < nul; text++)
			c->e->line += *text == '\n';
	return r;
}

int bwl_policy_parse(const char *name, const char *text, size_t len, uint64_t now_boot_ns,
		     int64_t now_wall_s, struct bwl_policy **ret, struct bwl_err *e)
{
	struct bwl_conv c = {
		.now_boot_ns = now_boot_ns,
		.now_wall_s = now_wall_s,
		.file = name,
		.e = e,
	};
	int r = read_all(&c, text, len);

	if (!r) {
		*ret = c.p;
		return 0;
	}
	bwl_policy_free(c.p);
	if (e && name)
		strncpy(e->file, name, sizeof(e->file) - 1);
	return r;
}

int bwl_policy_parse_all(const char *name, const char *text, size_t len, uint64_t now_boot_ns,
			 int64_t now_wall_s, struct bwl_policy **ret, struct bwl_errors *all)
{
	struct bwl_err e = { 0 };
	struct bwl_conv c = {
		.now_boot_ns = now_boot_ns,
		.now_wall_s = now_wall_s,
		.file = name,
		.e = &e,
		.all = all,
	};
	int r;

	all->n = all->nshape = 0;
	all->more = false;
	r = read_all(&c, text, len);
	if (r && !all->more)
		bwl_errors_add(all, &c.w, r, &e);
	bwl_errors_sort(all);
	for (size_t i = 0; name && i < all->n; i++)
		strncpy(all->list[i].file, name, sizeof(e.file) - 1);
	if (!r && !all->n) {
		*ret = c.p;
		return 0;
	}
	bwl_policy_free(c.p);
	return all->n ? -all->list[0].code : r;
}
