// SPDX-License-Identifier: GPL-2.0-or-later
/* A policy in memory: creating, growing and freeing it, and limits that follow from others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy_key.h"
#include "bwl/units.h"

struct bwl_policy *bwl_policy_new(void)
{
	struct bwl_policy *p = bwl_must(calloc(1, sizeof(*p)));

	bwl_keys_defaults(bwl_top_keys, p);
	bwl_ipsec_defaults(&p->ipsec);
	return p;
}

struct bwl_pol_peer *bwl_policy_add_peer(struct bwl_policy *p)
{
	struct bwl_pol_peer *peer;

	/* room is always the next power of two */
	if (!(p->npeers & (p->npeers - 1)))
		p->peers = bwl_must(
			reallocarray(p->peers, p->npeers ? 2 * p->npeers : 1, sizeof(*p->peers)));
	peer = &p->peers[p->npeers++];
	memset(peer, 0, sizeof(*peer));
	peer->expiry_ns = BWL_NEVER_NS;
	peer->mark_pct = 50;
	return peer;
}

struct bwl_pol_peer *bwl_policy_peer(const struct bwl_policy *p, const char *name)
{
	for (size_t i = 0; i < p->npeers; i++)
		if (!strcmp(p->peers[i].name, name))
			return &p->peers[i];
	return NULL;
}

const struct bwl_pol_tenant *bwl_policy_tenant(const struct bwl_pol_peer *p, const char *port)
{
	for (size_t i = 0; i < p->ntenants; i++)
		if (!strcmp(p->tenants[i].port, port))
			return &p->tenants[i];
	return NULL;
}

struct bwl_pol_tenant *bwl_policy_add_tenant(struct bwl_pol_peer *p, const char *port)
{
	struct bwl_pol_tenant *t;

	p->tenants = bwl_must(reallocarray(p->tenants, p->ntenants + 1, sizeof(*p->tenants)));
	t = &p->tenants[p->ntenants++];
	memset(t, 0, sizeof(*t));
	snprintf(t->port, sizeof(t->port), "%s", port);
	return t;
}

const struct bwl_pol_zone *bwl_policy_zone_of(const struct bwl_policy *p,
					      const struct bwl_pol_peer *q)
{
	for (size_t i = 0; *q->zone && i < p->nzones; i++)
		if (!strcmp(p->zones[i].name, q->zone))
			return &p->zones[i];
	return NULL;
}

void bwl_policy_free(struct bwl_policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nports; i++)
		free(p->ports[i].sources);
	for (size_t i = 0; i < p->npeers; i++) {
		free(p->peers[i].addresses);
		free(p->peers[i].tenants);
		free(p->peers[i].ipsec_id);
		free(p->peers[i].ipsec_ppk);
	}
	bwl_policy_drop_warnings(p);
	free(p->uplinks);
	free(p->ports);
	free(p->zones);
	free(p->peers);
	free(p->services);
	free(p);
}

struct bwl_lim bwl_default_accept(const struct bwl_lim *grant)
{
	struct bwl_lim a = { .present = grant->present };
	uint64_t burst = grant->burst ? grant->burst : bwl_default_burst(grant->rate_bps);

	if (!grant->present || grant->rate_bps == BWL_NO_RATE)
		return a;
	a.rate_bps = grant->rate_bps + (grant->rate_bps + 999) / 1000;
	if (a.rate_bps > BWL_RATE_MAX_BPS)
		a.rate_bps = BWL_RATE_MAX_BPS;
	a.burst = burst + (a.rate_bps + 1599) / 1600; /* 5 ms */
	if (a.burst > BWL_MAX_BURST)
		a.burst = BWL_MAX_BURST;
	return a;
}

struct bwl_lim bwl_portion(const struct bwl_lim *zone, uint32_t weight, uint64_t weights)
{
	uint64_t burst = zone->burst ? zone->burst : bwl_default_burst(zone->rate_bps);
	unsigned __int128 part = weight ? weight : 1;

	return (struct bwl_lim){
		.present = true,
		.rate_bps = (uint64_t)(part * zone->rate_bps * 99 / 100 / weights),
		.burst = (uint64_t)(part * burst / 4 / weights),
	};
}

uint64_t bwl_weights(const struct bwl_policy *p, const struct bwl_pol_zone *z)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->npeers; i++)
		if (!strcmp(p->peers[i].zone, z->name))
			sum += p->peers[i].weight ? p->peers[i].weight : 1;
	return sum;
}

int bwl_policy_wall_ok(const struct bwl_policy *p, struct bwl_err *e)
{
	enum bwl_wall wall = p->until_line ? bwl_wall_state() : BWL_WALL_OK;

	if (wall == BWL_WALL_OK)
		return 0;
	bwl_fail(
		e, EAGAIN,
		"line %u: `until:` needs a correct wall clock, and the wall clock %s: if it is slow, the grant would last too long",
		p->until_line,
		wall == BWL_WALL_OLD ? "is before the build date of this program"
				     : "is not synchronised");
	return bwl_hint(
		e,
		"wait for NTP or PTP (timedatectl), grant for a duration instead (`grant NAME … for 2h`), or use --trust-clock");
}
