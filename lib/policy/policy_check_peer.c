/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks one peer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy_check.h"
#include "bwl/units.h"

static int check_via(struct bwl_check *c, const uint8_t *addr, uint8_t family, const char *who)
{
	struct bwl_pfx x = { .family = family, .len = family == 4 ? 32 : 128 };
	enum bwl_range u;
	char text[64];

	memcpy(x.addr, addr, family == 4 ? 4 : 16);
	u = bwl_pfx_range(&x);
	if (u == BWL_USABLE || u == BWL_LINK_LOCAL)
		return 0;
	return bwl_fail(c->e, EINVAL, "%s: via %s is %s: give the address of a router", who,
			bwl_pfx_format(&x, text, sizeof(text)), bwl_range_text[u]);
}

static int check_path(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];
	bool need4 = false, need6 = false;
	struct bwl_pfx remote;
	int r;

	bwl_check_at(c, "peers", i, "path", x->line);
	if (x->path >= _BWL_PATH_MAX)
		return bwl_fail(c->e, EINVAL, "%s: path is xfrm, offload or clear", who);
	if (x->path == BWL_PATH_CLEAR && *x->ipsec_remote)
		return bwl_fail(c->e, EINVAL,
				"%s: path clear and ipsec exclude each other: remove one", who);
	if (x->path != BWL_PATH_CLEAR && !*x->ipsec_remote)
		return bwl_fail(c->e, EINVAL,
				"%s: ipsec is missing: path %s needs ipsec: { remote: ADDRESS }",
				who, bwl_path_name(x->path));
	bwl_check_at(c, "peers", i, "ipsec", x->line);
	if (*x->ipsec_remote && (bwl_pfx_parse(x->ipsec_remote, &remote, NULL) ||
				 strchr(x->ipsec_remote, '/') || bwl_pfx_range(&remote)))
		return bwl_fail(c->e, EINVAL, "%s: ipsec remote '%s' is not the address of a DPU",
				who, x->ipsec_remote);
	r = bwl_check_peer_ipsec(c, i, who);
	if (r)
		return r;
	bwl_check_at(c, "peers", i, "uplink", x->line);
	if (*x->uplink && !bwl_check_has_uplink(c->p, x->uplink))
		return bwl_fail(c->e, ENOENT, "%s: unknown uplink %s: it must be one of uplinks",
				who, x->uplink);
	bwl_check_at(c, "peers", i, "via", x->line);
	r = x->has_via4 ? check_via(c, x->via4, 4, who) : 0;
	if (!r && x->has_via6)
		r = check_via(c, x->via6, 6, who);
	if (r || x->path != BWL_PATH_CLEAR)
		return r;
	if (!strcmp(x->name, "self")) {
		bwl_check_at(c, "peers", i, "next_hop_mac", x->line);
		return bwl_mac_is_one(x->next_hop_mac)
			       ? bwl_fail(c->e, EINVAL,
					  "%s: next_hop_mac needs a next hop: remove it", who)
			       : 0;
	}
	for (size_t a = 0; a < x->naddresses; a++) {
		need4 |= x->addresses[a].family == 4;
		need6 |= x->addresses[a].family == 6;
	}
	bwl_check_at(c, "peers", i, NULL, x->line);
	if (!x->has_via4 && !x->has_via6)
		return bwl_fail(c->e, EINVAL,
				"%s: via is missing: path clear needs the address of a next hop",
				who);
	if (need4 && !x->has_via4)
		return bwl_fail(c->e, EINVAL,
				"%s: via is missing: its IPv4 addresses need an IPv4 next hop",
				who);
	if (need6 && !x->has_via6)
		return bwl_fail(c->e, EINVAL,
				"%s: via6 is missing: its IPv6 addresses need an IPv6 next hop",
				who);
	return 0;
}

/* An explicit horizon is kept, even if TCP suffers from it: a warning only. */
static void check_horizon(struct bwl_check *c, const struct bwl_pol_peer *x, const char *who)
{
	char a[BWL_UNIT_BUF], b[BWL_UNIT_BUF];

	if (!bwl_mode_paces(x->mode) || !x->grant.present || x->grant.rate_bps == BWL_NO_RATE ||
	    !c->p->horizon_ns || c->p->horizon_ns / 8e9 * x->grant.rate_bps >= BWL_GSO_BURST)
		return;
	bwl_policy_warn(
		c->p, c->file, x->line,
		"%s: the horizon of %s is less than one GSO packet at %s: TCP must retransmit; `horizon: auto` fits every rate",
		who, bwl_format_time(c->p->horizon_ns, a), bwl_format_rate(x->grant.rate_bps, b));
}

/* Limits of single host ports to the peer. */
static int check_tenants(struct bwl_check *c, size_t i, const char *who)
{
	const struct bwl_pol_peer *x = &c->p->peers[i];
	char what[32];
	int r;

	for (size_t k = 0; k < x->ntenants; k++) {
		const struct bwl_pol_tenant *t = &x->tenants[k];
		bool may = !x->nfrom;

		bwl_check_at(c, "peers", i, "ports", x->line);
		bwl_place_key(c->w, t->port);
		if (!bwl_check_has_port(c->p, t->port, c->p->nports))
			return bwl_fail(
				c->e, ENOENT,
				"%s: unknown host port %s: ports must name devices of host_ports",
				who, t->port);
		for (size_t f = 0; f < x->nfrom; f++)
			may |= !strcmp(x->from[f], t->port);
		if (!may)
			return bwl_fail(c->e, EINVAL,
					"%s: host port %s has a limit, and from does not list it",
					who, t->port);
		bwl_check_words(what, sizeof(what), "port", " ", t->port);
		r = bwl_check_limit(c, &t->limit, who, what, false);
		if (r)
			return r;
	}
	bwl_check_at(c, "peers", i, "ports", x->line);
	if (x->ntenants && !strcmp(x->name, "self"))
		return bwl_fail(c->e, EINVAL,
				"%s: ports must be left out: no host port uses the grant `self`",
				who);
	if (x->ntenants && !x->grant.present)
		return bwl_fail(
			c->e, EINVAL,
			"%s: grant is missing: ports need it, because what all of them send is charged to it",
			who);
	return 0;
}

static int check_limits_of_peer(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];
	bool classes = false;
	int r;

	bwl_check_at(c, "peers", i, "grant", x->line);
	if (x->mode >= _BWL_MODE_MAX)
		return bwl_fail(c->e, EINVAL, "%s: mode is police, shape, mark or monitor", who);
	if (x->mode == BWL_MODE_MARK && (x->mark_pct < 1 || x->mark_pct > 100))
		return bwl_fail(c->e, ERANGE, "%s: mark is 1 to 100 per cent of the burst", who);
	if (x->mode == BWL_MODE_SHAPE && x->grant.present && x->grant.rate_bps != BWL_NO_RATE &&
	    !x->grant.burst)
		x->grant.burst = bwl_default_burst_shape(x->grant.rate_bps);
	r = bwl_check_limit(c, &x->grant, who, "grant", x->mode == BWL_MODE_MONITOR);
	if (r)
		return r;
	check_horizon(c, x, who);
	bwl_check_at(c, "peers", i, "accept", x->line);
	if (x->accept.present && x->accept_none)
		return bwl_fail(c->e, EINVAL, "%s: accept cannot be both none and a limit", who);
	r = bwl_check_limit(c, &x->accept, who, "accept", false);
	if (r)
		return r;
	if (x->accept.has_volume && !x->grant.present)
		return bwl_fail(
			c->e, EINVAL,
			"%s: grant is missing: a volume of accept needs it, because nothing arrives without one",
			who);
	if (x->accept.has_volume && x->accept.rate_bps == BWL_NO_RATE &&
	    x->grant.rate_bps != BWL_NO_RATE)
		return bwl_fail(
			c->e, EINVAL,
			"%s: accept: rate is missing: a volume of accept needs it, or the rate would be unlimited",
			who);
	bwl_check_at(c, "peers", i, "floor", x->line);
	r = bwl_check_limit(c, &x->floor, who, "floor", false);
	if (r)
		return r;
	if (x->floor.present && x->grant.present && x->grant.rate_bps != BWL_NO_RATE &&
	    (x->floor.rate_bps == BWL_NO_RATE || x->floor.rate_bps > x->grant.rate_bps))
		return bwl_fail(
			c->e, EINVAL,
			"%s: floor exceeds the grant's rate: it is what remains when the grant ends",
			who);
	for (unsigned k = 0; k < _BWL_CLASS_MAX; k++) {
		if (!x->class_[k].present)
			continue;
		bwl_check_at(c, "peers", i, "classes", x->line);
		bwl_place_key(c->w, bwl_class_name(k));
		r = bwl_check_limit(c, &x->class_[k], who, bwl_class_name(k), false);
		if (r)
			return r;
		classes = true;
	}
	bwl_check_at(c, "peers", i, "classes", x->line);
	if (classes && !x->grant.present)
		return bwl_fail(
			c->e, EINVAL,
			"%s: grant is missing: classes need it, because a class is only what the host claims",
			who);
	return check_tenants(c, i, who);
}

static int check_zone(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];
	struct bwl_pol_zone key, *k = &key;
	const struct bwl_pol_zone **z = NULL;

	if (*x->zone) {
		bwl_check_at(c, "peers", i, "zone", x->line);
		memcpy(key.name, x->zone, sizeof(key.name));
		z = bsearch(&k, c->zones, c->p->nzones, sizeof(*c->zones), bwl_check_zone_cmp);
		if (!z)
			return bwl_fail(c->e, ENOENT,
					"%s: unknown zone %s: it must be one of zones", who,
					x->zone);
	}
	bwl_check_at(c, "peers", i, "weight", x->line);
	if (*x->zone && (*z)->weighted) {
		if (x->weight > BWL_WEIGHT_MOST)
			return bwl_fail(c->e, ERANGE, "%s: weight is 1 to %d", who,
					BWL_WEIGHT_MOST);
		x->weight = x->weight == 1 ? 0 : x->weight;
		return 0;
	}
	if (!x->weight)
		return 0;
	return *x->zone
		       ? bwl_fail(
				 c->e, EINVAL,
				 "%s: weight needs a zone with `share: weighted`: zone %s has none",
				 who, x->zone)
		       : bwl_fail(c->e, EINVAL,
				  "%s: weight needs a zone with `share: weighted`: it is in none",
				  who);
}

static uint64_t hash(const void *data, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (const uint8_t *b = data; n--; b++)
		h = (h ^ *b) * 0x100000001b3ULL;
	return h ^ (h >> 32);
}

/* Registers the name; false if another peer has it. */
static bool claim_name(struct bwl_check *c, size_t i, size_t *ret_other)
{
	const char *name = c->p->peers[i].name;
	size_t at = hash(name, strlen(name)) & c->names_mask;

	for (; c->names[at]; at = (at + 1) & c->names_mask) {
		if (!strcmp(c->p->peers[c->names[at] - 1].name, name)) {
			*ret_other = c->names[at] - 1;
			return false;
		}
	}
	c->names[at] = i + 1;
	return true;
}

/* Do a and b go to the same address by different MACs? The kernel has one MAC per address. */
static bool is_torn(const struct bwl_hop *a, const struct bwl_hop *b)
{
	return !strcmp(a->uplink, b->uplink) && bwl_mac_is_one(a->mac) && bwl_mac_is_one(b->mac) &&
	       memcmp(a->mac, b->mac, sizeof(a->mac)) &&
	       ((a->has_via4 && b->has_via4 && !memcmp(a->via4, b->via4, 4)) ||
		(a->has_via6 && b->has_via6 && !memcmp(a->via6, b->via6, 16)));
}

static int claim_nexthop(struct bwl_check *c, size_t at, const char *who)
{
	const struct bwl_pol_peer *x = &c->p->peers[at];
	struct bwl_hop h;
	size_t i;

	memset(&h, 0, sizeof(h)); /* including padding: it is hashed and compared */
	if (!*x->uplink && !c->p->nuplinks)
		return 0; /* already reported */
	strcpy(h.uplink, *x->uplink ? x->uplink : c->p->uplinks[0]);
	memcpy(h.mac, x->next_hop_mac, sizeof(h.mac));
	if (x->path == BWL_PATH_CLEAR) {
		h.has_via4 = x->has_via4;
		h.has_via6 = x->has_via6;
		memcpy(h.via4, x->via4, sizeof(h.via4));
		memcpy(h.via6, x->via6, sizeof(h.via6));
	} else {
		strcpy(h.remote, x->ipsec_remote);
	}
	if (!memcmp(&c->last_hop, &h, sizeof(h)))
		return 0; /* most peers have the same next hop as the one before them in the file */
	c->last_hop = h;
	i = hash(&h, sizeof(h)) % BWL_NEXTHOP_HASH;
	for (; *c->nexthops[i].uplink; i = (i + 1) % BWL_NEXTHOP_HASH)
		if (!memcmp(&c->nexthops[i], &h, sizeof(h)))
			return 0;
	for (size_t k = 0; bwl_mac_is_one(h.mac) && k < BWL_NEXTHOP_HASH; k++) {
		if (!is_torn(&c->nexthops[k], &h))
			continue;
		bwl_check_at(c, "peers", at, "next_hop_mac", x->line);
		return bwl_fail(
			c->e, EINVAL,
			"%s: next_hop_mac differs from that of another peer with the same via",
			who);
	}
	c->nexthops[i] = h;
	if (++c->nnexthops < BWL_MAX_NEXTHOPS)
		return 0;
	return bwl_fail(
		c->e, E2BIG,
		"%s: more than %d different next hops (uplink, via, via6, next_hop_mac or ipsec remote)",
		who, BWL_MAX_NEXTHOPS - 1);
}

/* Each portion is a limit, so it must be within the range of one. */
static int check_portion(struct bwl_check *c, size_t i, const struct bwl_pol_zone *z,
			 uint64_t weights)
{
	const struct bwl_pol_peer *x = &c->p->peers[i];
	struct bwl_lim portion = bwl_portion(&z->limit, x->weight, weights);
	char who[64], a[BWL_UNIT_BUF];

	bwl_check_words(who, sizeof(who), "peer", " ", x->name);
	bwl_check_at(c, "peers", i, "weight", x->line);
	if (portion.rate_bps < BWL_RATE_MIN_BPS || portion.burst < BWL_MIN_BURST)
		return bwl_fail(
			c->e, ERANGE,
			"%s: its portion of zone %s, %u of %llu, is less than 1kbit with a burst of %llub (one full frame): give the zone a larger %s",
			who, z->name, x->weight ? x->weight : 1, (unsigned long long)weights,
			BWL_MIN_BURST, portion.burst < BWL_MIN_BURST ? "burst" : "rate");
	if (portion.burst < BWL_GSO_BURST)
		bwl_policy_warn(
			c->p, c->file, x->line,
			"%s: its portion of zone %s is a burst of %s, less than one GSO packet, which never fits into it: give the zone a larger burst",
			who, z->name, bwl_format_size(portion.burst, a));
	return 0;
}

int bwl_check_portions(struct bwl_check *c)
{
	const struct bwl_pol_zone *z = c->p->zones;
	uint64_t weights;
	int r;

	for (; z < c->p->zones + c->p->nzones; z++) {
		if (!z->weighted || z->limit.rate_bps == BWL_NO_RATE)
			continue;
		weights = bwl_weights(c->p, z);
		for (size_t i = 0; i < c->p->npeers; i++)
			if (!strcmp(c->p->peers[i].zone, z->name) &&
			    (r = bwl_check_next(c, check_portion(c, i, z, weights))))
				return r;
	}
	return 0;
}

int bwl_check_peer(struct bwl_check *c, size_t i)
{
	struct bwl_pol_peer *x = &c->p->peers[i];
	size_t other;
	char who[64];
	int r;

	bwl_check_words(who, sizeof(who), "peer", " ", x->name);
	bwl_check_at(c, "peers", i, "name", x->line);
	if (!bwl_check_name(x->name, 31))
		return bwl_fail(c->e, EINVAL, "'%s' is not a valid peer name: " BWL_NAME_DOMAIN,
				x->name);
	if (!claim_name(c, i, &other)) {
		unsigned line = c->p->peers[other].line;

		bwl_fail(c->e, EEXIST, "duplicate %s", who);
		return line ? bwl_hint(c->e, "the first one is in line %u", line) : -EEXIST;
	}
	bwl_check_at(c, "peers", i, "addresses", x->line);
	if (!x->naddresses)
		return bwl_fail(c->e, EINVAL,
				"%s: addresses is missing or empty: give at least one prefix", who);
	bwl_check_at(c, "peers", i, NULL, x->line);
	r = bwl_check_prefixes(c, x->addresses, x->naddresses, "addresses", who);
	if (r)
		return r;
	r = check_zone(c, i, who);
	if (r)
		return r;
	for (size_t f = 0; f < x->nfrom; f++) {
		bwl_check_at(c, "peers", i, "from", x->line);
		bwl_place_index(c->w, f);
		if (!bwl_check_has_port(c->p, x->from[f], c->p->nports))
			return bwl_fail(
				c->e, ENOENT,
				"%s: unknown host port %s: from must list devices of host_ports",
				who, x->from[f]);
	}
	r = check_path(c, i, who);
	if (r)
		return r;
	r = claim_nexthop(c, i, who);
	if (r)
		return r;
	return check_limits_of_peer(c, i, who);
}
