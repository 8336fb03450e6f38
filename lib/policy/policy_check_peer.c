// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks one peer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy_check.h"
#include "bwl/units.h"

static bool sure(const struct bwl_check *c, size_t i, const char *key)
{
	return bwl_sure(c->rep, "peers/%zu/%s/", i, key);
}

static bool has_port(const struct bwl_check *c, const char *name)
{
	/* the missing port may be one that could not be read */
	return bwl_check_has_port(c->p, name, c->p->nports) ||
	       !bwl_sure(c->rep, "host_ports/*/dev/");
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
static void check_tenants(struct bwl_check *c, size_t i, const char *who)
{
	const struct bwl_pol_peer *x = &c->p->peers[i];
	char what[32];

	for (size_t k = 0; k < x->ntenants; k++) {
		const struct bwl_pol_tenant *t = &x->tenants[k];
		bool may = !x->nfrom || !sure(c, i, "from") ||
			   !bwl_sure(c->rep, "host_ports/*/dev/");

		bwl_check_peer_at(c, i, "ports", t->port);
		bwl_place_key(&c->w, ""); /* its name, not its value */
		for (size_t f = 0; f < x->nfrom; f++)
			may |= !strcmp(x->from[f], t->port);
		if (!has_port(c, t->port))
			BWL_BAD(c, ENOENT,
				"%s: unknown host port %s: ports must name devices of host_ports",
				who, t->port);
		else if (!may)
			BWL_BAD(c, EINVAL,
				"%s: host port %s has a limit, and from does not list it", who,
				t->port);
		bwl_check_peer_at(c, i, "ports", t->port);
		bwl_check_words(what, sizeof(what), "port", " ", t->port);
		bwl_check_limit(c, &t->limit, who, what, false);
	}
	bwl_check_at(c, "peers", i, "ports", x->line);
	if (x->ntenants && !strcmp(x->name, "self"))
		BWL_BAD(c, EINVAL, "%s: ports must be left out: no host port uses the grant `self`",
			who);
	if (x->ntenants && !x->grant.present && sure(c, i, "grant"))
		BWL_BAD(c, EINVAL,
			"%s: grant is missing: ports need it, because what all of them send is charged to it",
			who);
}

static void check_grant(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];

	bwl_check_peer_at(c, i, "grant", "mode");
	if (x->mode >= _BWL_MODE_MAX)
		BWL_BAD(c, EINVAL, "%s: mode is police, shape, mark or monitor", who);
	bwl_check_peer_at(c, i, "grant", "mark");
	if (x->mode == BWL_MODE_MARK && (x->mark_pct < 1 || x->mark_pct > 100))
		BWL_BAD(c, ERANGE, "%s: mark is 1 to 100 per cent of the burst", who);
	if (x->mode == BWL_MODE_SHAPE && x->grant.present && x->grant.rate_bps != BWL_NO_RATE &&
	    !x->grant.burst)
		x->grant.burst = bwl_default_burst_shape(x->grant.rate_bps);
	bwl_check_at(c, "peers", i, "grant", x->line);
	bwl_check_limit(c, &x->grant, who, "grant",
			!bwl_grant_is_empty(&x->grant, x->mode) || !sure(c, i, "grant/mode"));
	check_horizon(c, x, who);
	if (!bwl_peer_enforced(x))
		bwl_policy_warn(c->p, c->file, x->line,
				"%s: mode %s: its limits are counted, not enforced", who,
				bwl_mode_name(x->mode));
}

static void check_accept(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];

	bwl_check_at(c, "peers", i, "accept", x->line);
	if (x->accept.present && x->accept_none)
		BWL_BAD(c, EINVAL, "%s: accept cannot be both none and a limit", who);
	bwl_check_limit(c, &x->accept, who, "accept", false);
	if (!x->accept.has_volume)
		return;
	if (!x->grant.present && sure(c, i, "grant"))
		BWL_BAD(c, EINVAL,
			"%s: grant is missing: a volume of accept needs it, because nothing arrives without one",
			who);
	if (x->accept.rate_bps == BWL_NO_RATE && x->grant.rate_bps != BWL_NO_RATE &&
	    sure(c, i, "accept/rate"))
		BWL_BAD(c, EINVAL,
			"%s: accept: rate is missing: a volume of accept needs it, or the rate would be unlimited",
			who);
}

static void check_limits_of_peer(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];
	bool classes = false;

	check_grant(c, i, who);
	check_accept(c, i, who);
	bwl_check_at(c, "peers", i, "floor", x->line);
	bwl_check_limit(c, &x->floor, who, "floor", false);
	if (x->floor.present && x->grant.present && x->grant.rate_bps != BWL_NO_RATE &&
	    (x->floor.rate_bps == BWL_NO_RATE || x->floor.rate_bps > x->grant.rate_bps) &&
	    sure(c, i, "floor/rate") && sure(c, i, "grant/rate"))
		BWL_BAD(c, EINVAL,
			"%s: floor exceeds the grant's rate: it is what remains when the grant ends",
			who);
	for (unsigned k = 0; k < _BWL_CLASS_MAX; k++) {
		if (!x->class_[k].present)
			continue;
		bwl_check_peer_at(c, i, "classes", bwl_class_name(k));
		bwl_check_limit(c, &x->class_[k], who, bwl_class_name(k), false);
		classes = true;
	}
	bwl_check_at(c, "peers", i, "classes", x->line);
	if (classes && !x->grant.present && sure(c, i, "grant"))
		BWL_BAD(c, EINVAL,
			"%s: grant is missing: classes need it, because a class is only what the host claims",
			who);
	check_tenants(c, i, who);
}

static void check_weight(struct bwl_check *c, size_t i, const struct bwl_pol_zone *z,
			 const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];

	bwl_check_at(c, "peers", i, "weight", x->line);
	if (z && z->weighted) {
		if (x->weight > BWL_WEIGHT_MAX)
			BWL_BAD(c, ERANGE, "%s: weight is 1 to %d", who, BWL_WEIGHT_MAX);
		x->weight = x->weight == 1 ? 0 : x->weight;
	} else if (x->weight && z) {
		if (bwl_sure(c->rep, "zones/%s/share/", z->name))
			BWL_BAD(c, EINVAL,
				"%s: weight needs a zone with `share: weighted`: zone %s has none",
				who, x->zone);
	} else if (x->weight && sure(c, i, "zone")) {
		BWL_BAD(c, EINVAL, "%s: weight needs a zone with `share: weighted`: it is in none",
			who);
	}
}

static void check_zone(struct bwl_check *c, size_t i, const char *who)
{
	const struct bwl_pol_peer *x = &c->p->peers[i];
	struct bwl_pol_zone key, *k = &key;
	const struct bwl_pol_zone **z = NULL;

	if (*x->zone) {
		bwl_check_at(c, "peers", i, "zone", x->line);
		memcpy(key.name, x->zone, sizeof(key.name));
		z = bsearch(&k, c->zones, c->p->nzones, sizeof(*c->zones), bwl_check_zone_cmp);
		if (!z && bwl_sure(c->rep, "zones//"))
			BWL_BAD(c, ENOENT, "%s: unknown zone %s: it must be one of zones", who,
				x->zone);
		if (!z)
			return;
	}
	check_weight(c, i, z ? *z : NULL, who);
}

/* Registers the name; false if another peer has it. */
static bool claim_name(struct bwl_check *c, size_t i, size_t *ret_other)
{
	const char *name = c->p->peers[i].name;
	size_t at = bwl_check_hash(name, strlen(name)) & c->names_mask;

	for (; c->names[at]; at = (at + 1) & c->names_mask) {
		if (!strcmp(c->p->peers[c->names[at] - 1].name, name)) {
			*ret_other = c->names[at] - 1;
			return false;
		}
	}
	c->names[at] = i + 1;
	return true;
}

/* Each portion is a limit, so it must be within the range of one. */
static void check_portion(struct bwl_check *c, size_t i, const struct bwl_pol_zone *z,
			  uint64_t weights)
{
	const struct bwl_pol_peer *x = &c->p->peers[i];
	struct bwl_lim portion = bwl_portion(&z->limit, x->weight, weights);
	char who[64], a[BWL_UNIT_BUF];

	bwl_check_words(who, sizeof(who), "peer", " ", x->name);
	bwl_check_at(c, "peers", i, "weight", x->line);
	if (portion.rate_bps < BWL_RATE_MIN_BPS || portion.burst < BWL_MIN_BURST)
		BWL_BAD(c, ERANGE,
			"%s: its portion of zone %s, %u of %llu, is less than 1kbit with a burst of %llub (one full frame): give the zone a larger %s",
			who, z->name, x->weight ? x->weight : 1, (unsigned long long)weights,
			BWL_MIN_BURST, portion.burst < BWL_MIN_BURST ? "burst" : "rate");
	else if (portion.burst < BWL_GSO_BURST)
		bwl_policy_warn(
			c->p, c->file, x->line,
			"%s: its portion of zone %s is a burst of %s, less than one GSO packet, which never fits into it: give the zone a larger burst",
			who, z->name, bwl_format_size(portion.burst, a));
}

void bwl_check_portions(struct bwl_check *c)
{
	const struct bwl_pol_zone *z = c->p->zones;
	uint64_t weights;

	/* each portion depends on every member */
	if (!bwl_sure(c->rep, "peers/*/zone/") || !bwl_sure(c->rep, "peers/*/weight/"))
		return;
	for (; z < c->p->zones + c->p->nzones; z++) {
		if (!z->weighted || z->limit.rate_bps == BWL_NO_RATE ||
		    !bwl_sure(c->rep, "zones/%s/rate/", z->name) ||
		    !bwl_sure(c->rep, "zones/%s/burst/", z->name) ||
		    !bwl_sure(c->rep, "zones/%s/share/", z->name))
			continue;
		weights = bwl_weights(c->p, z);
		for (size_t i = 0; i < c->p->npeers && !c->rep->r; i++)
			if (!strcmp(c->p->peers[i].zone, z->name))
				check_portion(c, i, z, weights);
	}
}

static void check_name(struct bwl_check *c, size_t i, const char *who)
{
	const struct bwl_pol_peer *x = &c->p->peers[i];
	size_t other;
	unsigned line;

	bwl_check_at(c, "peers", i, "name", x->line);
	if (!bwl_check_name(x->name, 31)) {
		BWL_BAD(c, EINVAL, "'%s' is not a valid peer name: " BWL_NAME_DOMAIN, x->name);
	} else if (!claim_name(c, i, &other)) {
		line = c->p->peers[other].line;
		bwl_fail(c->e, EEXIST, "duplicate %s", who);
		bwl_check_tell(c, line ? bwl_hint(c->e, "the first one is in line %u", line)
				       : -EEXIST);
	}
}

void bwl_check_peer(struct bwl_check *c, size_t i)
{
	struct bwl_pol_peer *x = &c->p->peers[i];
	char who[64];

	if (*x->name)
		bwl_check_words(who, sizeof(who), "peer", " ", x->name);
	else
		snprintf(who, sizeof(who), "peer number %zu", i + 1);
	check_name(c, i, who);
	bwl_check_at(c, "peers", i, "addresses", x->line);
	if (!x->naddresses)
		BWL_BAD(c, EINVAL, "%s: addresses is missing or empty: give at least one prefix",
			who);
	bwl_check_at(c, "peers", i, NULL, x->line);
	bwl_check_prefixes(c, x->addresses, x->naddresses, "addresses", who);
	check_zone(c, i, who);
	for (size_t f = 0; f < x->nfrom; f++) {
		bwl_check_at(c, "peers", i, "from", x->line);
		bwl_place_index(&c->w, f);
		if (!has_port(c, x->from[f]))
			BWL_BAD(c, ENOENT,
				"%s: unknown host port %s: from must list devices of host_ports",
				who, x->from[f]);
	}
	bwl_check_path(c, i, who);
	bwl_check_nexthop(c, i, who);
	check_limits_of_peer(c, i, who);
}
