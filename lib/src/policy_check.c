// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether a policy makes sense by itself, wherever it came from. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "policy_text.h"
#include "bwl/units.h"

#define NAME_DOMAIN "1 to 31 of A-Z a-z 0-9 . _ -, not starting with -"
#define DEV_DOMAIN "1 to 15 of A-Z a-z 0-9 . _ -, not starting with -"

struct check {
	struct bwl_policy *p;
	const char *file;
	struct bwl_where *w;
	struct bwl_err *e;
	unsigned line;			/* of the item being looked at */
	const struct bwl_pol_zone **zones;	/* by name */
	uint32_t *names;		/* hash of peers: index + 1 */
	size_t names_mask;
	struct bwl_pol_peer **nexthops; /* hash */
	size_t nnexthops;
};

#define NEXTHOP_SLOTS (4 * BWL_MAX_NEXTHOPS)

static bool name_ok(const char *s, size_t max)
{
	size_t n = strlen(s);

	return n && n <= max && s[0] != '-' &&
	       strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

static void at(struct check *c, const char *section, size_t index, const char *key, unsigned line)
{
	c->w->n = 0;
	bwl_where_key(c->w, section);
	if (index != SIZE_MAX)
		bwl_where_index(c->w, index);
	if (key)
		bwl_where_key(c->w, key);
	c->line = line;
}

/* "a: b", or "a" when b is empty: printf would be half of the time of a check. */
static void two_words(char *buf, size_t size, const char *a, const char *sep, const char *b)
{
	char *end = stpncpy(buf, a, size - 1);

	if (*b && end < buf + size - 1)
		end = stpncpy(end, sep, buf + size - 1 - end);
	if (*b && end < buf + size - 1)
		end = stpncpy(end, b, buf + size - 1 - end);
	*end = '\0';
}

static int check_present_limit(struct check *c, const struct bwl_lim *l, const char *who,
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
static int check_limit(struct check *c, const struct bwl_lim *l, const char *who, const char *what,
		       bool may_be_empty)
{
	char full[96];

	if (!l->present)
		return 0;
	two_words(full, sizeof(full), who, ": ", what);
	return check_present_limit(c, l, full, may_be_empty);
}

enum unusable { USABLE, MULTICAST, BROADCAST, LOOPBACK, LINK_LOCAL, UNSPECIFIED };
static const char *const unusable_text[] = {
	"", "multicast", "broadcast", "loopback", "link-local", "not an address of anyone",
};

/* A prefix wholly inside a range that no packet may go to; one that covers it is fine. */
static enum unusable unusable(const struct bwl_pfx *x)
{
	const uint8_t *a = x->addr;

	if (x->family == 4) {
		if (x->len >= 4 && (a[0] & 0xf0) == 0xe0)
			return MULTICAST;
		if (x->len == 32 && !memcmp(a, "\xff\xff\xff\xff", 4))
			return BROADCAST;
		if (x->len >= 8 && a[0] == 127)
			return LOOPBACK;
		if (x->len >= 16 && a[0] == 169 && a[1] == 254)
			return LINK_LOCAL;
		if (x->len >= 8 && a[0] == 0)
			return UNSPECIFIED;
		return USABLE;
	}
	if (x->len >= 8 && a[0] == 0xff)
		return MULTICAST;
	if (x->len >= 10 && a[0] == 0xfe && (a[1] & 0xc0) == 0x80)
		return LINK_LOCAL;
	if (x->len == 128 && !memcmp(a, &in6addr_loopback, 16))
		return LOOPBACK;
	if (x->len == 128 && !memcmp(a, &in6addr_any, 16))
		return UNSPECIFIED;
	return USABLE;
}

static int check_prefixes(struct check *c, const struct bwl_pfx *list, size_t n, const char *key,
			  const char *who)
{
	char text[64];

	for (size_t i = 0; i < n; i++) {
		enum unusable u = unusable(&list[i]);

		if (u == USABLE)
			continue;
		bwl_where_key(c->w, key);
		bwl_where_index(c->w, i);
		return bwl_fail(c->e, EINVAL, "%s: %s is %s: unicast prefixes only", who,
				bwl_pfx_format(&list[i], text, sizeof(text)), unusable_text[u]);
	}
	return 0;
}

static int check_via(struct check *c, const uint8_t *addr, uint8_t family, const char *who)
{
	struct bwl_pfx x = { .family = family, .len = family == 4 ? 32 : 128 };
	enum unusable u;
	char text[64];

	memcpy(x.addr, addr, family == 4 ? 4 : 16);
	u = unusable(&x);
	if (u == USABLE || u == LINK_LOCAL)
		return 0;
	return bwl_fail(c->e, EINVAL, "%s: via %s is %s: the address of a router", who,
			bwl_pfx_format(&x, text, sizeof(text)), unusable_text[u]);
}

static bool has_uplink(const struct bwl_policy *p, const char *name)
{
	for (size_t i = 0; i < p->nuplinks; i++)
		if (!strcmp(p->uplinks[i], name))
			return true;
	return false;
}

static bool has_port(const struct bwl_policy *p, const char *name, size_t before)
{
	for (size_t i = 0; i < before; i++)
		if (!strcmp(p->ports[i].name, name))
			return true;
	return false;
}

static int check_uplinks(struct check *c)
{
	struct bwl_policy *p = c->p;

	at(c, "uplinks", SIZE_MAX, NULL, 0);
	if (!p->nuplinks)
		return bwl_fail(c->e, EINVAL, "uplinks: name at least one device");
	for (size_t i = 0; i < p->nuplinks; i++) {
		at(c, "uplinks", i, NULL, 0);
		if (!name_ok(p->uplinks[i], 15))
			return bwl_fail(c->e, EINVAL, "'%s' is not the name of a device: " DEV_DOMAIN,
					p->uplinks[i]);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(p->uplinks[i], p->uplinks[j]))
				return bwl_fail(c->e, EEXIST, "uplink %s is listed twice",
						p->uplinks[i]);
	}
	return 0;
}

static int check_port(struct check *c, size_t i)
{
	struct bwl_pol_port *x = &c->p->ports[i];
	unsigned nsrc[2] = { 0 };
	char who[64];
	int r;

	two_words(who, sizeof(who), "host port", " ", x->name);
	at(c, "host_ports", i, "dev", x->line);
	if (!name_ok(x->name, 15))
		return bwl_fail(c->e, EINVAL, "'%s' is not the name of a device: " DEV_DOMAIN, x->name);
	if (has_port(c->p, x->name, i))
		return bwl_fail(c->e, EEXIST, "%s is listed twice", who);
	if (has_uplink(c->p, x->name))
		return bwl_fail(c->e, EEXIST, "%s is an uplink as well", who);
	at(c, "host_ports", i, NULL, x->line);
	if (!x->nsources)
		return bwl_fail(c->e, EINVAL,
				"%s: sources: list the prefixes it may send from; anything else is dropped",
				who);
	r = check_prefixes(c, x->sources, x->nsources, "sources", who);
	if (r)
		return r;
	for (size_t s = 0; s < x->nsources; s++)
		nsrc[x->sources[s].family == 6]++;
	at(c, "host_ports", i, "sources", x->line);
	if (nsrc[0] > BWL_MAX_SOURCES || nsrc[1] > BWL_MAX_SOURCES)
		return bwl_fail(c->e, E2BIG, "%s: at most %d sources of each address family", who,
				BWL_MAX_SOURCES);
	for (size_t v = 0; v < x->nvlans; v++) {
		at(c, "host_ports", i, "vlans", x->line);
		bwl_where_index(c->w, v);
		if (x->vlans[v] < 1 || x->vlans[v] > 4094)
			return bwl_fail(c->e, ERANGE, "%s: a VLAN tag is 1 to 4094", who);
		for (size_t j = 0; j < v; j++)
			if (x->vlans[j] == x->vlans[v])
				return bwl_fail(c->e, EEXIST, "%s: VLAN %u is listed twice", who,
						x->vlans[v]);
	}
	at(c, "host_ports", i, "mac", x->line);
	if (x->has_mac && (x->mac[0] & 1 || !memcmp(x->mac, "\0\0\0\0\0", 6)))
		return bwl_fail(c->e, EINVAL, "%s: mac is no unicast address", who);
	at(c, "host_ports", i, "limit", x->line);
	return check_limit(c, &x->limit, who, "limit", false);
}

static int check_services(struct check *c)
{
	uint8_t seen[3][65536 / 8] = { 0 };	/* TCP, UDP, other protocols */

	for (size_t i = 0; i < c->p->nservices; i++) {
		const struct bwl_pol_service *s = &c->p->services[i];
		bool ported = s->proto == IPPROTO_TCP || s->proto == IPPROTO_UDP;
		unsigned row = s->proto == IPPROTO_TCP ? 0 : ported ? 1 : 2;
		unsigned bit = ported ? s->port : s->proto;

		at(c, "services", i, NULL, 0);
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

static int check_path(struct check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];
	bool need4 = false, need6 = false;
	struct bwl_pfx remote;
	int r;

	at(c, "peers", i, "path", x->line);
	if (x->path >= _BWL_PATH_MAX)
		return bwl_fail(c->e, EINVAL, "%s: path is xfrm, offload or clear", who);
	if (x->path == BWL_PATH_CLEAR && *x->ipsec_remote)
		return bwl_fail(c->e, EINVAL, "%s: path is clear, yet ipsec is given: keep one", who);
	if (x->path != BWL_PATH_CLEAR && !*x->ipsec_remote)
		return bwl_fail(c->e, EINVAL, "%s: path %s needs ipsec: { remote: ADDRESS }", who,
				bwl_path_name(x->path));
	at(c, "peers", i, "ipsec", x->line);
	if (*x->ipsec_remote &&
	    (bwl_pfx_parse(x->ipsec_remote, &remote, NULL) || strchr(x->ipsec_remote, '/') ||
	     unusable(&remote)))
		return bwl_fail(c->e, EINVAL, "%s: ipsec remote '%s' is not the address of a DPU", who,
				x->ipsec_remote);
	at(c, "peers", i, "uplink", x->line);
	if (*x->uplink && !has_uplink(c->p, x->uplink))
		return bwl_fail(c->e, ENOENT, "%s: uplink %s is not one of uplinks", who, x->uplink);
	at(c, "peers", i, "via", x->line);
	r = x->has_via4 ? check_via(c, x->via4, 4, who) : 0;
	if (!r && x->has_via6)
		r = check_via(c, x->via6, 6, who);
	if (r || x->path != BWL_PATH_CLEAR || !strcmp(x->name, "self"))
		return r;
	for (size_t a = 0; a < x->naddresses; a++) {
		need4 |= x->addresses[a].family == 4;
		need6 |= x->addresses[a].family == 6;
	}
	at(c, "peers", i, NULL, x->line);
	if (!x->has_via4 && !x->has_via6)
		return bwl_fail(c->e, EINVAL,
				"%s: path clear needs via, the next hop: the DPU resolves no address that a host chose",
				who);
	if (need4 && !x->has_via4)
		return bwl_fail(c->e, EINVAL, "%s has IPv4 addresses: via must be an IPv4 address", who);
	if (need6 && !x->has_via6)
		return bwl_fail(c->e, EINVAL, "%s has IPv6 addresses: say via6, their next hop", who);
	return 0;
}

static int check_limits_of_peer(struct check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];
	bool classes = false;
	int r;

	at(c, "peers", i, "grant", x->line);
	if (x->mode >= _BWL_MODE_MAX)
		return bwl_fail(c->e, EINVAL, "%s: mode is police, shape, mark or monitor", who);
	if (x->mode == BWL_MARK && (x->mark_pct < 1 || x->mark_pct > 100))
		return bwl_fail(c->e, ERANGE, "%s: mark is 1 to 100 per cent of the burst", who);
	r = check_limit(c, &x->grant, who, "grant", x->mode == BWL_MONITOR);
	if (r)
		return r;
	at(c, "peers", i, "accept", x->line);
	if (x->accept.present && x->accept_none)
		return bwl_fail(c->e, EINVAL, "%s: accept is both none and a limit", who);
	if (x->accept.present && x->accept.has_volume)
		return bwl_fail(c->e, EINVAL, "%s: accept has no volume: only rate and burst", who);
	r = check_limit(c, &x->accept, who, "accept", false);
	if (r)
		return r;
	at(c, "peers", i, "floor", x->line);
	r = check_limit(c, &x->floor, who, "floor", false);
	if (r)
		return r;
	if (x->floor.present && x->grant.present && x->grant.rate_bps != BWL_NO_RATE &&
	    (x->floor.rate_bps == BWL_NO_RATE || x->floor.rate_bps > x->grant.rate_bps))
		return bwl_fail(c->e, EINVAL,
				"%s: floor is above the grant's rate: it is what remains when the grant is gone",
				who);
	for (unsigned k = 0; k < _BWL_CLASS_MAX; k++) {
		if (!x->class_[k].present)
			continue;
		at(c, "peers", i, "classes", x->line);
		bwl_where_key(c->w, bwl_class_name(k));
		r = check_limit(c, &x->class_[k], who, bwl_class_name(k), false);
		if (r)
			return r;
		classes = true;
	}
	at(c, "peers", i, "classes", x->line);
	if (classes && !x->grant.present)
		return bwl_fail(c->e, EINVAL,
				"%s has classes and no grant: a class is the host's claim, so the peer's own limit stands above it",
				who);
	return 0;
}

static int zone_cmp(const void *a, const void *b)
{
	return strcmp((*(const struct bwl_pol_zone *const *)a)->name,
		      (*(const struct bwl_pol_zone *const *)b)->name);
}

static uint64_t hash(const void *data, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (const uint8_t *b = data; n--; b++)
		h = (h ^ *b) * 0x100000001b3ULL;
	return h ^ (h >> 32);
}

/* Takes the name in; false when another peer has it. */
static bool claim_name(struct check *c, size_t i, size_t *ret_other)
{
	const char *name = c->p->peers[i].name;
	size_t at_slot = hash(name, strlen(name)) & c->names_mask;

	for (; c->names[at_slot]; at_slot = (at_slot + 1) & c->names_mask) {
		if (!strcmp(c->p->peers[c->names[at_slot] - 1].name, name)) {
			*ret_other = c->names[at_slot] - 1;
			return false;
		}
	}
	c->names[at_slot] = i + 1;
	return true;
}

static bool same_nexthop(const struct bwl_pol_peer *a, const struct bwl_pol_peer *b)
{
	return !strcmp(a->uplink, b->uplink) && a->has_via4 == b->has_via4 &&
	       a->has_via6 == b->has_via6 && !memcmp(a->via4, b->via4, 4) &&
	       !memcmp(a->via6, b->via6, 16);
}

/* The data plane keeps each (uplink, via, via6) once. False: too many. */
static bool claim_nexthop(struct check *c, struct bwl_pol_peer *x)
{
	uint64_t h = hash(x->via4, 4) ^ 3 * hash(x->via6, 16) ^ 5 * hash(x->uplink, strlen(x->uplink));
	size_t i = h % NEXTHOP_SLOTS;

	if (!x->has_via4 && !x->has_via6)
		return true;
	for (; c->nexthops[i]; i = (i + 1) % NEXTHOP_SLOTS)
		if (same_nexthop(c->nexthops[i], x))
			return true;
	c->nexthops[i] = x;
	return ++c->nnexthops < BWL_MAX_NEXTHOPS;
}

static int check_peer(struct check *c, size_t i)
{
	struct bwl_pol_peer *x = &c->p->peers[i];
	bool self = !strcmp(x->name, "self");
	size_t other;
	char who[64];
	int r;

	two_words(who, sizeof(who), "peer", " ", x->name);
	at(c, "peers", i, "name", x->line);
	if (!name_ok(x->name, 31))
		return bwl_fail(c->e, EINVAL, "'%s' is not a name of a peer: " NAME_DOMAIN, x->name);
	if (!claim_name(c, i, &other)) {
		unsigned line = c->p->peers[other].line;

		bwl_fail(c->e, EEXIST, "%s is here for the second time", who);
		return line ? bwl_hint(c->e, "the first one is in line %u", line) : -EEXIST;
	}
	at(c, "peers", i, "addresses", x->line);
	if (self && x->naddresses)
		return bwl_fail(c->e, EINVAL,
				"%s is the DPU's own traffic, to wherever it goes: it has no addresses", who);
	if (!self && !x->naddresses)
		return bwl_fail(c->e, EINVAL, "%s: addresses: at least one prefix", who);
	at(c, "peers", i, NULL, x->line);
	r = check_prefixes(c, x->addresses, x->naddresses, "addresses", who);
	if (r)
		return r;
	if (*x->zone) {
		struct bwl_pol_zone key, *k = &key;

		at(c, "peers", i, "zone", x->line);
		memcpy(key.name, x->zone, sizeof(key.name));
		if (!bsearch(&k, c->zones, c->p->nzones, sizeof(*c->zones), zone_cmp))
			return bwl_fail(c->e, ENOENT, "%s: zone %s is not one of zones", who, x->zone);
	}
	for (size_t f = 0; f < x->nfrom; f++) {
		at(c, "peers", i, "from", x->line);
		bwl_where_index(c->w, f);
		if (!has_port(c->p, x->from[f], c->p->nports))
			return bwl_fail(c->e, ENOENT, "%s: from %s is not one of host_ports", who,
					x->from[f]);
	}
	r = check_path(c, i, who);
	if (r)
		return r;
	if (!claim_nexthop(c, x))
		return bwl_fail(c->e, E2BIG,
				"%s: more than %d different next hops (uplink, via, via6 together)", who,
				BWL_MAX_NEXTHOPS - 1);
	return check_limits_of_peer(c, i, who);
}

static int check_zones(struct check *c)
{
	struct bwl_policy *p = c->p;
	int r;

	at(c, "zones", SIZE_MAX, NULL, 0);
	if (p->nzones >= BWL_MAX_ZONES)
		return bwl_fail(c->e, E2BIG, "more than %d zones", BWL_MAX_ZONES - 1);
	for (size_t i = 0; i < p->nzones; i++) {
		at(c, "zones", SIZE_MAX, p->zones[i].name, p->zones[i].line);
		if (!name_ok(p->zones[i].name, 31))
			return bwl_fail(c->e, EINVAL, "'%s' is not a name of a zone: " NAME_DOMAIN,
					p->zones[i].name);
		if (!p->zones[i].limit.present)
			return bwl_fail(c->e, EINVAL, "zone %s has no limit: say rate, volume or both",
					p->zones[i].name);
		r = check_limit(c, &p->zones[i].limit, "zone", p->zones[i].name, false);
		if (r)
			return r;
		c->zones[i] = &p->zones[i];
	}
	qsort(c->zones, p->nzones, sizeof(*c->zones), zone_cmp);
	for (size_t i = 1; i < p->nzones; i++) {
		at(c, "zones", SIZE_MAX, c->zones[i]->name, c->zones[i]->line);
		if (!zone_cmp(&c->zones[i - 1], &c->zones[i]))
			return bwl_fail(c->e, EEXIST, "zone %s is here for the second time",
					c->zones[i]->name);
	}
	return 0;
}

static int check_node(struct check *c)
{
	struct bwl_policy *p = c->p;

	at(c, "node", SIZE_MAX, NULL, 0);
	if (!name_ok(p->node, 31))
		return bwl_fail(c->e, EINVAL, "node: '%s' is not a name: " NAME_DOMAIN, p->node);
	at(c, "heartbeat", SIZE_MAX, NULL, 0);
	if (p->heartbeat_none ? p->heartbeat_ns != 0 : p->heartbeat_ns < 1000000)
		return bwl_fail(c->e, ERANGE, "heartbeat: a time of at least 1ms, or none");
	at(c, "min_charge", SIZE_MAX, NULL, 0);
	if (p->min_charge > 65535)
		return bwl_fail(c->e, ERANGE, "min_charge: 0 to 65535 bytes");
	if (p->min_charge < 60)
		bwl_policy_warn(p, c->file, 0,
				"min_charge %u: frames on the wire are padded to 60 bytes, so small ones are undercharged",
				p->min_charge);
	at(c, "uplink_control", SIZE_MAX, NULL, 0);
	if (p->control >> _BWL_CTL_MAX)
		return bwl_fail(c->e, EINVAL, "uplink_control has bits without a name");
	at(c, "node_limit", SIZE_MAX, NULL, 0);
	return check_limit(c, &p->node_limit, "node_limit", "", false);
}

static int check_all(struct check *c)
{
	struct bwl_policy *p = c->p;
	int r;

	if ((r = check_node(c)) || (r = check_uplinks(c)))
		return r;
	at(c, "host_ports", SIZE_MAX, NULL, 0);
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
		if ((r = check_peer(c, i)))
			return r;
	c->w->n = 0;
	c->line = 0;
	return bwl_policy_check_overlaps(p, c->file, c->w, c->e);
}

int bwl_policy_check_at(struct bwl_policy *p, const char *file, struct bwl_where *w,
			struct bwl_err *e)
{
	struct check c = { .p = p, .file = file, .w = w, .e = e };
	int r;

	bwl_policy_drop_warnings(p);
	for (c.names_mask = 15; c.names_mask < 2 * p->npeers; c.names_mask = 2 * c.names_mask + 1)
		;
	c.names = calloc(c.names_mask + 1, sizeof(*c.names));
	c.zones = calloc(BWL_MAX_ZONES, sizeof(*c.zones));
	c.nexthops = calloc(NEXTHOP_SLOTS, sizeof(*c.nexthops));
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
