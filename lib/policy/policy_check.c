// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks a policy by itself, wherever it came from. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "policy_key.h"

#define DEV_DOMAIN "1 to 15 of A-Z a-z 0-9 . _ -, not starting with -"

static void check_uplinks(struct bwl_check *c)
{
	struct bwl_policy *p = c->p;

	bwl_check_at(c, "uplinks", SIZE_MAX, NULL, 0);
	if (!p->nuplinks)
		BWL_BAD(c, EINVAL, "uplinks is missing or empty: give at least one device");
	for (size_t i = 0; i < p->nuplinks; i++) {
		bwl_check_at(c, "uplinks", i, NULL, 0);
		if (!bwl_check_name(p->uplinks[i], 15))
			BWL_BAD(c, EINVAL, "'%s' is not a valid device name: " DEV_DOMAIN,
				p->uplinks[i]);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(p->uplinks[i], p->uplinks[j]))
				BWL_BAD(c, EEXIST, "uplink %s is listed twice", p->uplinks[i]);
	}
}

static void check_vlans(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_port *x = &c->p->ports[i];

	for (size_t v = 0; v < x->nvlans; v++) {
		bwl_check_at(c, "host_ports", i, "vlans", x->line);
		bwl_place_index(&c->w, v);
		if (x->vlans[v] < 1 || x->vlans[v] > 4094)
			BWL_BAD(c, ERANGE, "%s: a VLAN tag is 1 to 4094", who);
		for (size_t j = 0; j < v; j++)
			if (x->vlans[j] == x->vlans[v])
				BWL_BAD(c, EEXIST, "%s: VLAN %u is listed twice", who, x->vlans[v]);
	}
}

static void check_sources(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_port *x = &c->p->ports[i];
	unsigned nsrc[2] = { 0 };

	bwl_check_at(c, "host_ports", i, "sources", x->line);
	if (!x->nsources)
		BWL_BAD(c, EINVAL,
			"%s: sources is missing or empty: give the prefixes that it may send from",
			who);
	for (size_t s = 0; s < x->nsources; s++)
		nsrc[x->sources[s].family == 6]++;
	if (nsrc[0] > BWL_MAX_SOURCES || nsrc[1] > BWL_MAX_SOURCES)
		BWL_BAD(c, E2BIG, "%s: at most %d sources of each address family", who,
			BWL_MAX_SOURCES);
	bwl_check_at(c, "host_ports", i, NULL, x->line);
	bwl_check_prefixes(c, x->sources, x->nsources, "sources", who);
}

static void check_port(struct bwl_check *c, size_t i)
{
	struct bwl_pol_port *x = &c->p->ports[i];
	char who[64];

	if (*x->name)
		bwl_check_words(who, sizeof(who), "host port", " ", x->name);
	else
		snprintf(who, sizeof(who), "host port number %zu", i + 1);
	bwl_check_at(c, "host_ports", i, "dev", x->line);
	if (!bwl_check_name(x->name, 15))
		BWL_BAD(c, EINVAL, "'%s' is not a valid device name: " DEV_DOMAIN, x->name);
	if (bwl_check_has_port(c->p, x->name, i))
		BWL_BAD(c, EEXIST, "%s is listed twice", who);
	if (bwl_check_has_uplink(c->p, x->name))
		BWL_BAD(c, EEXIST, "%s is an uplink as well", who);
	check_sources(c, i, who);
	check_vlans(c, i, who);
	bwl_check_at(c, "host_ports", i, "mac", x->line);
	if (x->has_mac && !bwl_mac_is_one(x->mac))
		BWL_BAD(c, EINVAL, "%s: mac must be a unicast address", who);
	bwl_check_at(c, "host_ports", i, "limit", x->line);
	bwl_check_limit(c, &x->limit, who, "limit", false);
}

/* The words "service N: " are those of the error. */
static int check_service(struct bwl_check *c, size_t i, uint8_t seen[3][65536 / 8])
{
	const struct bwl_pol_service *s = &c->p->services[i];
	bool ported = s->proto == IPPROTO_TCP || s->proto == IPPROTO_UDP;
	unsigned row = s->proto == IPPROTO_TCP ? 0 : ported ? 1 : 2;
	unsigned bit = ported ? s->port : s->proto;

	if (ported && !s->port)
		return bwl_fail(c->e, EINVAL, "service %zu: port is missing: 1 to 65535", i + 1);
	if (!ported && s->port)
		return bwl_fail(c->e, EINVAL, "service %zu: only tcp and udp have ports", i + 1);
	if (seen[row][bit / 8] & (1 << bit % 8))
		return bwl_fail(c->e, EEXIST,
				"service %zu: this protocol and port are listed twice", i + 1);
	seen[row][bit / 8] |= 1 << bit % 8;
	return 0;
}

static void check_services(struct bwl_check *c)
{
	uint8_t seen[3][65536 / 8] = { 0 }; /* TCP, UDP, other protocols */

	for (size_t i = 0; i < c->p->nservices; i++) {
		bwl_check_at(c, "services", i, "class", 0);
		if (c->p->services[i].class_ >= _BWL_CLASS_MAX)
			BWL_BAD(c, EINVAL, "service %zu: class is missing", i + 1);
		bwl_check_at(c, "services", i, NULL, 0);
		if (bwl_sure(c->rep, "services/%zu/proto/", i) &&
		    bwl_sure(c->rep, "services/%zu/port/", i))
			bwl_check_tell(c, check_service(c, i, seen));
	}
}

static void check_zone(struct bwl_check *c, const struct bwl_pol_zone *z)
{
	bool known = bwl_sure(c->rep, "zones/%s/rate/", z->name);

	if (!bwl_check_name(z->name, 31)) {
		bwl_check_at(c, "zones", SIZE_MAX, z->name, z->line);
		bwl_place_key(&c->w, ""); /* its name, not its value */
		BWL_BAD(c, EINVAL, "'%s' is not a valid zone name: " BWL_NAME_DOMAIN, z->name);
		bwl_doubt(c->rep, "zones//");
	}
	bwl_check_at(c, "zones", SIZE_MAX, z->name, z->line);
	if (!z->limit.present)
		BWL_BAD(c, EINVAL, "zone %s: the limit is missing: give rate, volume or both",
			z->name);
	else if (z->weighted && z->limit.rate_bps == BWL_NO_RATE && known &&
		 bwl_sure(c->rep, "zones/%s/share/", z->name))
		BWL_BAD(c, EINVAL, "zone %s: rate is missing: `share: weighted` needs it", z->name);
	bwl_check_limit(c, &z->limit, "zone", z->name, false);
}

static void check_zones(struct bwl_check *c)
{
	struct bwl_policy *p = c->p;

	bwl_check_at(c, "zones", SIZE_MAX, NULL, 0);
	if (p->nzones >= BWL_MAX_ZONES) /* never in a file: bwl_prescan_name() */
		BWL_BAD(c, E2BIG, "more than %d zones", BWL_MAX_ZONES - 1);
	for (size_t i = 0; i < p->nzones && !c->rep->r; i++) {
		check_zone(c, &p->zones[i]);
		c->zones[i] = &p->zones[i];
	}
	if (c->rep->r)
		return;
	qsort(c->zones, p->nzones, sizeof(*c->zones), bwl_check_zone_cmp);
	for (size_t i = 1; i < p->nzones; i++) {
		if (bwl_check_zone_cmp(&c->zones[i - 1], &c->zones[i]))
			continue;
		bwl_check_at(c, "zones", SIZE_MAX, c->zones[i]->name, c->zones[i]->line);
		BWL_BAD(c, EEXIST, "duplicate zone %s", c->zones[i]->name);
	}
}

static void check_name(struct bwl_check *c)
{
	bwl_check_at(c, "node", SIZE_MAX, NULL, 0);
	if (!bwl_check_name(c->p->node, 31))
		BWL_BAD(c, EINVAL, "node: '%s' is not a valid name: " BWL_NAME_DOMAIN, c->p->node);
}

static void check_heartbeat(struct bwl_check *c)
{
	const struct bwl_policy *p = c->p;

	bwl_check_at(c, "heartbeat", SIZE_MAX, NULL, 0);
	if (p->heartbeat_none ? p->heartbeat_ns != 0 : p->heartbeat_ns < 1000000)
		BWL_BAD(c, ERANGE, "heartbeat: a time of at least 1ms, or none");
}

static void check_node(struct bwl_check *c)
{
	struct bwl_policy *p = c->p;

	bwl_check_at(c, "lease", SIZE_MAX, NULL, 0);
	if (p->lease_ns && p->heartbeat_none && bwl_sure(c->rep, "heartbeat/")) {
		bwl_fail(c->e, EINVAL,
			 "lease needs a heartbeat: without one the data plane cannot end it");
		bwl_check_tell(c, bwl_hint(c->e, "set heartbeat to a time such as 60s"));
	}
	bwl_check_at(c, "min_charge", SIZE_MAX, NULL, 0);
	if (p->min_charge < 60)
		bwl_policy_warn(
			p, c->file, 0,
			"min_charge %u: frames on the wire are padded to 60 bytes, so small ones are undercharged",
			p->min_charge);
	bwl_check_at(c, "uplink_control", SIZE_MAX, NULL, 0);
	if (p->control >> _BWL_CONTROL_MAX)
		BWL_BAD(c, EINVAL, "uplink_control has unknown bits");
	bwl_check_at(c, "node_limit", SIZE_MAX, NULL, 0);
	bwl_check_limit(c, &p->node_limit, "node_limit", "", false);
}

static void check_port_count(struct bwl_check *c)
{
	bwl_check_at(c, "host_ports", SIZE_MAX, NULL, 0);
	if (!c->p->nports)
		BWL_BAD(c, EINVAL, "host_ports is missing or empty: give at least one");
	if (c->p->nports + c->p->nuplinks > BWL_MAX_PORTS)
		BWL_BAD(c, E2BIG, "more than %d host ports and uplinks", BWL_MAX_PORTS);
}

static void check_all(struct bwl_check *c)
{
	struct bwl_policy *p = c->p;

	check_name(c);
	check_heartbeat(c);
	bwl_check_keys(c, bwl_top_keys, NULL, p);
	check_node(c);
	check_uplinks(c);
	bwl_check_ipsec(c);
	check_port_count(c);
	for (size_t i = 0; i < p->nports && !c->rep->r; i++)
		check_port(c, i);
	check_zones(c);
	if (!c->rep->r)
		check_services(c);
	for (size_t i = 0; i < p->npeers && !c->rep->r; i++)
		bwl_check_peer(c, i);
	if (!c->rep->r)
		bwl_check_portions(c);
	c->line = 0;
	if (!c->rep->r)
		bwl_policy_check_overlaps(c);
}

/* Of a hash of n that is at most half full. */
static size_t hash_mask(size_t n)
{
	size_t mask = 15;

	while (mask < 2 * n)
		mask = 2 * mask + 1;
	return mask;
}

void bwl_check_policy(struct bwl_policy *p, const char *file, struct bwl_report *t)
{
	struct bwl_check c = { .p = p, .file = file, .rep = t, .e = &t->e };

	bwl_policy_drop_warnings(p);
	c.names_mask = hash_mask(p->npeers);
	c.nexthops_mask = hash_mask(p->npeers < BWL_MAX_NEXTHOPS ? p->npeers : BWL_MAX_NEXTHOPS);
	c.names = calloc(c.names_mask + 1, sizeof(*c.names));
	c.zones = calloc(BWL_MAX_ZONES, sizeof(*c.zones));
	c.nexthops = calloc(c.nexthops_mask + 1, sizeof(*c.nexthops));
	if (c.names && c.zones && c.nexthops)
		check_all(&c);
	else
		BWL_BAD(&c, ENOMEM, "out of memory");
	free(c.names);
	free(c.zones);
	free(c.nexthops);
}

int bwl_policy_check(struct bwl_policy *p, const char *file, struct bwl_err *e)
{
	struct bwl_report t = { 0 };

	bwl_check_policy(p, file, &t);
	if (t.r && e) {
		*e = t.last;
		if (file)
			strncpy(e->file, file, sizeof(e->file) - 1);
	}
	return t.r;
}
