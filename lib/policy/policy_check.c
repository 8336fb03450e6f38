// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether a policy makes sense by itself, wherever it came from. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "policy_check.h"
#include "bwl/units.h"

#define DEV_DOMAIN "1 to 15 of A-Z a-z 0-9 . _ -, not starting with -"

bool bwl_check_name(const char *s, size_t max)
{
	size_t n = strlen(s);

	return n && n <= max && s[0] != '-' &&
	       strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

void bwl_check_at(struct bwl_check *c, const char *section, size_t index, const char *key, unsigned line)
{
	c->w->n = 0;
	bwl_where_key(c->w, section);
	if (index != SIZE_MAX)
		bwl_where_index(c->w, index);
	if (key)
		bwl_where_key(c->w, key);
	c->line = line;
}

void bwl_check_words(char *buf, size_t size, const char *a, const char *sep, const char *b)
{
	char *end = stpncpy(buf, a, size - 1);

	if (*b && end < buf + size - 1)
		end = stpncpy(end, sep, buf + size - 1 - end);
	if (*b && end < buf + size - 1)
		end = stpncpy(end, b, buf + size - 1 - end);
	*end = '\0';
}

static int check_present_limit(struct bwl_check *c, const struct bwl_lim *l, const char *who,
			       bool may_be_empty)
{
	char a[BWL_UNIT_BUF];

	if (l->rate_bps == BWL_NO_RATE && !l->has_volume && !may_be_empty)
		return bwl_fail(c->e, EINVAL, "%s limits nothing: say rate, volume or both", who);
	if (l->rate_bps != BWL_NO_RATE &&
	    (l->rate_bps < BWL_RATE_MIN_BPS || l->rate_bps > BWL_RATE_MAX_BPS))
		return bwl_fail(c->e, ERANGE, "%s: rate %s: a rate is 1kbit to 100tbit", who,
				bwl_format_rate(l->rate_bps, a));
	if (l->burst && (l->burst < BWL_MIN_BURST || l->burst > BWL_MAX_BURST)) {
		bwl_where_key(c->w, "burst");
		return bwl_fail(c->e, ERANGE, "%s: burst %s: a burst is %llub (one full frame) to 1tb",
				who, bwl_format_size(l->burst, a), BWL_MIN_BURST);
	}
	if (l->burst && l->rate_bps == BWL_NO_RATE) {
		bwl_where_key(c->w, "burst");
		return bwl_fail(c->e, EINVAL, "%s: a burst without a rate means nothing: say rate", who);
	}
	if (l->burst && l->burst < BWL_GSO_BURST)
		bwl_policy_warn(c->p, c->file, c->line,
				"%s: burst %s is less than one GSO packet: TCP of hosts that use GSO stalls; 72kb carries them all",
				who, bwl_format_size(l->burst, a));
	if (l->has_volume && l->volume > BWL_MAX_VOLUME)
		return bwl_fail(c->e, ERANGE, "%s: a volume is 0 to 4096pb", who);
	if (l->has_volume && l->window_ns && l->window_ns < BWL_WINDOW_MIN_NS) {
		bwl_where_key(c->w, "volume");
		return bwl_fail(c->e, ERANGE, "%s: window %s: the window of a volume is 11s to 36500d",
				who, bwl_format_time(l->window_ns, a));
	}
	return 0;
}

/* Of "peer x" the "grant". The place is where w stands; more keys are appended to it. */
int bwl_check_limit(struct bwl_check *c, const struct bwl_lim *l, const char *who, const char *what,
		       bool may_be_empty)
{
	char full[96];

	if (!l->present)
		return 0;
	bwl_check_words(full, sizeof(full), who, ": ", what);
	return check_present_limit(c, l, full, may_be_empty);
}

const char *const bwl_range_text[] = {
	"", "multicast", "broadcast", "loopback", "link-local", "not an address of anyone",
};

/* A prefix wholly inside a range that no packet may go to; one that covers it is fine. */
enum bwl_range bwl_check_range(const struct bwl_pfx *x)
{
	const uint8_t *a = x->addr;

	if (x->family == 4) {
		if (x->len >= 4 && (a[0] & 0xf0) == 0xe0)
			return BWL_MULTICAST;
		if (x->len == 32 && !memcmp(a, "\xff\xff\xff\xff", 4))
			return BWL_BROADCAST;
		if (x->len >= 8 && a[0] == 127)
			return BWL_LOOPBACK;
		if (x->len >= 16 && a[0] == 169 && a[1] == 254)
			return BWL_LINK_LOCAL;
		if (x->len >= 8 && a[0] == 0)
			return BWL_UNSPECIFIED;
		return BWL_USABLE;
	}
	if (x->len >= 8 && a[0] == 0xff)
		return BWL_MULTICAST;
	if (x->len >= 10 && a[0] == 0xfe && (a[1] & 0xc0) == 0x80)
		return BWL_LINK_LOCAL;
	if (x->len == 128 && !memcmp(a, &in6addr_loopback, 16))
		return BWL_LOOPBACK;
	if (x->len == 128 && !memcmp(a, &in6addr_any, 16))
		return BWL_UNSPECIFIED;
	return BWL_USABLE;
}

int bwl_check_prefixes(struct bwl_check *c, const struct bwl_pfx *list, size_t n, const char *key,
			  const char *who)
{
	char text[64];

	for (size_t i = 0; i < n; i++) {
		enum bwl_range u = bwl_check_range(&list[i]);

		if (u == BWL_USABLE)
			continue;
		bwl_where_key(c->w, key);
		bwl_where_index(c->w, i);
		return bwl_fail(c->e, EINVAL, "%s: %s is %s: unicast prefixes only", who,
				bwl_pfx_format(&list[i], text, sizeof(text)), bwl_range_text[u]);
	}
	return 0;
}

bool bwl_check_has_uplink(const struct bwl_policy *p, const char *name)
{
	for (size_t i = 0; i < p->nuplinks; i++)
		if (!strcmp(p->uplinks[i], name))
			return true;
	return false;
}

bool bwl_check_has_port(const struct bwl_policy *p, const char *name, size_t before)
{
	for (size_t i = 0; i < before; i++)
		if (!strcmp(p->ports[i].name, name))
			return true;
	return false;
}

static int check_uplinks(struct bwl_check *c)
{
	struct bwl_policy *p = c->p;

	bwl_check_at(c, "uplinks", SIZE_MAX, NULL, 0);
	if (!p->nuplinks)
		return bwl_fail(c->e, EINVAL, "uplinks: name at least one device");
	for (size_t i = 0; i < p->nuplinks; i++) {
		bwl_check_at(c, "uplinks", i, NULL, 0);
		if (!bwl_check_name(p->uplinks[i], 15))
			return bwl_fail(c->e, EINVAL, "'%s' is not the name of a device: " DEV_DOMAIN,
					p->uplinks[i]);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(p->uplinks[i], p->uplinks[j]))
				return bwl_fail(c->e, EEXIST, "uplink %s is listed twice",
						p->uplinks[i]);
	}
	return 0;
}

static int check_port(struct bwl_check *c, size_t i)
{
	struct bwl_pol_port *x = &c->p->ports[i];
	unsigned nsrc[2] = { 0 };
	char who[64];
	int r;

	bwl_check_words(who, sizeof(who), "host port", " ", x->name);
	bwl_check_at(c, "host_ports", i, "dev", x->line);
	if (!bwl_check_name(x->name, 15))
		return bwl_fail(c->e, EINVAL, "'%s' is not the name of a device: " DEV_DOMAIN, x->name);
	if (bwl_check_has_port(c->p, x->name, i))
		return bwl_fail(c->e, EEXIST, "%s is listed twice", who);
	if (bwl_check_has_uplink(c->p, x->name))
		return bwl_fail(c->e, EEXIST, "%s is an uplink as well", who);
	bwl_check_at(c, "host_ports", i, NULL, x->line);
	if (!x->nsources)
		return bwl_fail(c->e, EINVAL,
				"%s: sources: list the prefixes it may send from; anything else is dropped",
				who);
	r = bwl_check_prefixes(c, x->sources, x->nsources, "sources", who);
	if (r)
		return r;
	for (size_t s = 0; s < x->nsources; s++)
		nsrc[x->sources[s].family == 6]++;
	bwl_check_at(c, "host_ports", i, "sources", x->line);
	if (nsrc[0] > BWL_MAX_SOURCES || nsrc[1] > BWL_MAX_SOURCES)
		return bwl_fail(c->e, E2BIG, "%s: at most %d sources of each address family", who,
				BWL_MAX_SOURCES);
	for (size_t v = 0; v < x->nvlans; v++) {
		bwl_check_at(c, "host_ports", i, "vlans", x->line);
		bwl_where_index(c->w, v);
		if (x->vlans[v] < 1 || x->vlans[v] > 4094)
			return bwl_fail(c->e, ERANGE, "%s: a VLAN tag is 1 to 4094", who);
		for (size_t j = 0; j < v; j++)
			if (x->vlans[j] == x->vlans[v])
				return bwl_fail(c->e, EEXIST, "%s: VLAN %u is listed twice", who,
						x->vlans[v]);
	}
	bwl_check_at(c, "host_ports", i, "mac", x->line);
	if (x->has_mac && (x->mac[0] & 1 || !memcmp(x->mac, "\0\0\0\0\0", 6)))
		return bwl_fail(c->e, EINVAL, "%s: mac is no unicast address", who);
	bwl_check_at(c, "host_ports", i, "limit", x->line);
	return bwl_check_limit(c, &x->limit, who, "limit", false);
}

static int check_services(struct bwl_check *c)
{
	uint8_t seen[3][65536 / 8] = { 0 };	/* TCP, UDP, other protocols */

	for (size_t i = 0; i < c->p->nservices; i++) {
		const struct bwl_pol_service *s = &c->p->services[i];
		bool ported = s->proto == IPPROTO_TCP || s->proto == IPPROTO_UDP;
		unsigned row = s->proto == IPPROTO_TCP ? 0 : ported ? 1 : 2;
		unsigned bit = ported ? s->port : s->proto;

		bwl_check_at(c, "services", i, NULL, 0);
		if (s->class_ >= _BWL_CLASS_MAX)
			return bwl_fail(c->e, EINVAL, "service %zu has no class", i + 1);
		if (ported && !s->port)
			return bwl_fail(c->e, EINVAL, "service %zu: port: 1 to 65535", i + 1);
		if (!ported && s->port)
			return bwl_fail(c->e, EINVAL, "service %zu: only tcp and udp have ports", i + 1);
		if (seen[row][bit / 8] & (1 << bit % 8))
			return bwl_fail(c->e, EEXIST,
					"service %zu: this protocol and port are listed twice", i + 1);
		seen[row][bit / 8] |= 1 << bit % 8;
	}
	return 0;
}

int bwl_check_zone_cmp(const void *a, const void *b)
{
	return strcmp((*(const struct bwl_pol_zone *const *)a)->name,
		      (*(const struct bwl_pol_zone *const *)b)->name);
}

static int check_zones(struct bwl_check *c)
{
	struct bwl_policy *p = c->p;
	int r;

	bwl_check_at(c, "zones", SIZE_MAX, NULL, 0);
	if (p->nzones >= BWL_MAX_ZONES)
		return bwl_fail(c->e, E2BIG, "more than %d zones", BWL_MAX_ZONES - 1);
	for (size_t i = 0; i < p->nzones; i++) {
		bwl_check_at(c, "zones", SIZE_MAX, p->zones[i].name, p->zones[i].line);
		if (!bwl_check_name(p->zones[i].name, 31))
			return bwl_fail(c->e, EINVAL, "'%s' is not a name of a zone: " BWL_NAME_DOMAIN,
					p->zones[i].name);
		if (!p->zones[i].limit.present)
			return bwl_fail(c->e, EINVAL, "zone %s has no limit: say rate, volume or both",
					p->zones[i].name);
		r = bwl_check_limit(c, &p->zones[i].limit, "zone", p->zones[i].name, false);
		if (r)
			return r;
		c->zones[i] = &p->zones[i];
	}
	qsort(c->zones, p->nzones, sizeof(*c->zones), bwl_check_zone_cmp);
	for (size_t i = 1; i < p->nzones; i++) {
		bwl_check_at(c, "zones", SIZE_MAX, c->zones[i]->name, c->zones[i]->line);
		if (!bwl_check_zone_cmp(&c->zones[i - 1], &c->zones[i]))
			return bwl_fail(c->e, EEXIST, "zone %s is here for the second time",
					c->zones[i]->name);
	}
	return 0;
}

static int check_node(struct bwl_check *c)
{
	struct bwl_policy *p = c->p;

	bwl_check_at(c, "node", SIZE_MAX, NULL, 0);
	if (!bwl_check_name(p->node, 31))
		return bwl_fail(c->e, EINVAL, "node: '%s' is not a name: " BWL_NAME_DOMAIN, p->node);
	bwl_check_at(c, "heartbeat", SIZE_MAX, NULL, 0);
	if (p->heartbeat_none ? p->heartbeat_ns != 0 : p->heartbeat_ns < 1000000)
		return bwl_fail(c->e, ERANGE, "heartbeat: a time of at least 1ms, or none");
	bwl_check_at(c, "lease", SIZE_MAX, NULL, 0);
	if (p->lease_ns && (p->lease_ns < BWL_LEASE_LEAST_NS || p->lease_ns > BWL_LEASE_MOST_NS))
		return bwl_fail(c->e, ERANGE, "lease: a time of 1s to 366d");
	if (p->lease_ns && p->heartbeat_none) {
		bwl_fail(c->e, EINVAL, "lease: there is no heartbeat, by which the data plane would end it");
		return bwl_hint(c->e, "set heartbeat to a time such as 60s");
	}
	bwl_check_at(c, "min_charge", SIZE_MAX, NULL, 0);
	if (p->min_charge > 65535)
		return bwl_fail(c->e, ERANGE, "min_charge: 0 to 65535 bytes");
	bwl_check_at(c, "horizon", SIZE_MAX, NULL, 0);
	if (p->horizon_ns && (p->horizon_ns < 1000000 || p->horizon_ns > 1000000000))
		return bwl_fail(c->e, ERANGE, "horizon: 1ms to 1s, or auto");
	if (p->min_charge < 60)
		bwl_policy_warn(p, c->file, 0,
				"min_charge %u: frames on the wire are padded to 60 bytes, so small ones are undercharged",
				p->min_charge);
	bwl_check_at(c, "uplink_control", SIZE_MAX, NULL, 0);
	if (p->control >> _BWL_CTL_MAX)
		return bwl_fail(c->e, EINVAL, "uplink_control has bits without a name");
	bwl_check_at(c, "node_limit", SIZE_MAX, NULL, 0);
	return bwl_check_limit(c, &p->node_limit, "node_limit", "", false);
}

static int check_all(struct bwl_check *c)
{
	struct bwl_policy *p = c->p;
	int r;

	if ((r = check_node(c)) || (r = check_uplinks(c)) || (r = bwl_check_ipsec(c)))
		return r;
	bwl_check_at(c, "host_ports", SIZE_MAX, NULL, 0);
	if (!p->nports)
		return bwl_fail(c->e, EINVAL, "host_ports: list at least one");
	if (p->nports + p->nuplinks > BWL_MAX_PORTS)
		return bwl_fail(c->e, E2BIG, "more than %d host ports and uplinks", BWL_MAX_PORTS);
	for (size_t i = 0; i < p->nports; i++)
		if ((r = check_port(c, i)))
			return r;
	if ((r = check_zones(c)) || (r = check_services(c)))
		return r;
	for (size_t i = 0; i < p->npeers; i++)
		if ((r = bwl_check_peer(c, i)))
			return r;
	c->w->n = 0;
	c->line = 0;
	return bwl_policy_check_overlaps(p, c->file, c->w, c->e);
}

int bwl_policy_check_at(struct bwl_policy *p, const char *file, struct bwl_where *w,
			struct bwl_err *e)
{
	struct bwl_check c = { .p = p, .file = file, .w = w, .e = e };
	int r;

	bwl_policy_drop_warnings(p);
	for (c.names_mask = 15; c.names_mask < 2 * p->npeers; c.names_mask = 2 * c.names_mask + 1)
		;
	c.names = calloc(c.names_mask + 1, sizeof(*c.names));
	c.zones = calloc(BWL_MAX_ZONES, sizeof(*c.zones));
	c.nexthops = calloc(BWL_NEXTHOP_SLOTS, sizeof(*c.nexthops));
	if (c.names && c.zones && c.nexthops)
		r = check_all(&c);
	else
		r = bwl_fail(e, ENOMEM, "out of memory");
	free(c.names);
	free(c.zones);
	free(c.nexthops);
	if (r && e) {
		if (!e->line)
			e->line = c.line;
		if (file)
			strncpy(e->file, file, sizeof(e->file) - 1);
	}
	return r;
}

int bwl_policy_check(struct bwl_policy *p, const char *file, struct bwl_err *e)
{
	struct bwl_where w = { 0 };

	return bwl_policy_check_at(p, file, &w, e);
}
