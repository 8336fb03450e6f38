/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random policies. */
#ifndef BWL_TEST_POLICY_RANDOM_H
#define BWL_TEST_POLICY_RANDOM_H

#include "policy_text.h"
#include <stdlib.h>

static struct bwl_lim random_limit(uint64_t *s, bool volume)
{
	struct bwl_lim l = { .present = true };

	if (test_random(s) % 4)
		l.rate_bps = BWL_MIN_BURST + test_random_scale(s, 46);
	if (l.rate_bps && test_random(s) % 2)
		l.burst = BWL_MIN_BURST + test_random_scale(s, 39);
	if (!l.rate_bps || (volume && test_random(s) % 2)) {
		l.has_volume = true;
		l.volume = test_random_scale(s, 62);
		l.window_ns = test_random(s) % 2 ? BWL_WINDOW_MIN_NS + test_random_scale(s, 50) : 0;
	}
	return l;
}

static void random_peer(uint64_t *s, struct bwl_policy *p, unsigned i)
{
	static const char *const zones[] = { "", "z0", "z1" };
	struct bwl_pol_peer *x = bwl_policy_add_peer(p);

	snprintf(x->name, sizeof(x->name), i % 7 ? "p%u" : ".%u_X-y", i);
	x->naddresses = 2;
	x->addresses = calloc(2, sizeof(struct bwl_pfx));
	x->addresses[0] = (struct bwl_pfx){ 4, 24 + test_random(s) % 9, { 192, 1, i } };
	x->addresses[1] = (struct bwl_pfx){ 6, 64 + test_random(s) % 65, { 0xfd, 1, i } };
	strcpy(x->zone, zones[test_random(s) % 3]);
	if (*x->zone && bwl_policy_zone_of(p, x)->weighted)
		x->weight = test_random(s) % 100;
	if (test_random(s) % 2)
		strcpy(x->from[x->nfrom++], "h1");
	x->contained = test_random(s) % 2;
	x->path = test_random(s) % _BWL_PATH_MAX;
	if (x->path != BWL_PATH_CLEAR)
		snprintf(x->ipsec_remote, sizeof(x->ipsec_remote),
			 test_random(s) % 2 ? "203.0.113.%u" : "fd77::%u", i);
	x->has_via4 = x->has_via6 = x->path == BWL_PATH_CLEAR || test_random(s) % 2;
	if (x->has_via4) {
		memcpy(x->via4, "\x0a\x09\x09\x01", 4);
		if (strcmp(x->name, "self"))
			memcpy(x->next_hop_mac, "\x02\0\x5e\xff\x09\x01", 6);
		memcpy(x->via6, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
	}
	if (test_random(s) % 2)
		strcpy(x->uplink, test_random(s) % 2 ? "p1" : "p0");
	if (test_random(s) % 8) {
		x->grant = random_limit(s, true);
		x->mode = test_random(s) % _BWL_MODE_MAX;
		if (x->mode == BWL_MODE_MARK)
			x->mark_pct = 1 + test_random(s) % 100;
		if (test_random(s) % 2)
			x->expiry_ns = NOW_BOOT + 1 + test_random_scale(s, 61);
		for (unsigned k = 0; k < _BWL_CLASS_MAX; k++)
			if (test_random(s) % 4 == 0)
				x->class_[k] = random_limit(s, true);
		if (test_random(s) % 2)
			bwl_policy_add_tenant(x, "h1")->limit = random_limit(s, true);
		if (!x->nfrom && test_random(s) % 2)
			bwl_policy_add_tenant(x, "h0")->limit = random_limit(s, true);
		if (x->grant.rate_bps > 2 * BWL_MIN_BURST && test_random(s) % 2)
			x->floor = (struct bwl_lim){ .rate_bps = x->grant.rate_bps / 2,
						     .present = true };
	}
	x->accept_none = test_random(s) % 4 == 0;
	if (!x->accept_none && test_random(s) % 2) {
		x->accept = random_limit(s, x->grant.present);
		if (!x->grant.present) {
			x->accept.has_volume = false;
			x->accept.volume = x->accept.window_ns = 0;
		}
		if (!x->accept.rate_bps && (!x->accept.has_volume || x->grant.rate_bps))
			x->accept = (struct bwl_lim){ 0 };
	}
}

static struct bwl_policy *random_policy(uint64_t *s)
{
	struct bwl_policy *p = bwl_policy_new();

	strcpy(p->node, "n.1_x-Y");
	p->uplinks = calloc(2, sizeof(*p->uplinks));
	p->nuplinks = 2;
	strcpy(p->uplinks[0], "p0");
	strcpy(p->uplinks[1], "p1");
	p->control = test_random(s) % (1U << _BWL_CONTROL_MAX);
	p->heartbeat_none = test_random(s) % 2;
	p->heartbeat_ns = p->heartbeat_none ? 0 : 1000000 + test_random_scale(s, 60);
	p->lease_ns = p->heartbeat_none || test_random(s) % 2
			      ? 0
			      : 1000000000 + test_random_scale(s, 54);
	p->min_charge = test_random(s) % 65536;
	p->horizon_ns = test_random(s) % 2 ? 1000000 * (1 + test_random(s) % 1000) : 0;
	p->ledger = test_random(s) % 2;
	p->reject = test_random(s) % 2;
	p->count_all = test_random(s) % 2;
	p->ports = calloc(2, sizeof(*p->ports));
	for (p->nports = 0; p->nports < 2; p->nports++) {
		struct bwl_pol_port *x = &p->ports[p->nports];

		sprintf(x->name, "h%zu", p->nports);
		x->nsources = 2;
		x->sources = calloc(2, sizeof(struct bwl_pfx));
		x->sources[0] = (struct bwl_pfx){ 4, 16, { 10, p->nports } };
		x->sources[1] = (struct bwl_pfx){ 6, 32, { 0xfc, 0, 0, p->nports } };
		for (unsigned v = test_random(s) % 4; v; v--)
			x->vlans[x->nvlans++] = 1 + v * 1000 + test_random(s) % 94;
		x->has_mac = test_random(s) % 2;
		if (x->has_mac)
			memcpy(x->mac, "\x02\x00\x00\xaa\xbb\xcc", 6);
		if (test_random(s) % 2)
			x->limit = random_limit(s, true);
	}
	p->zones = calloc(2, sizeof(*p->zones));
	for (p->nzones = 0; p->nzones < 2; p->nzones++) {
		sprintf(p->zones[p->nzones].name, "z%zu", p->nzones);
		p->zones[p->nzones].limit = random_limit(s, true);
		if (p->nzones) {
			p->zones[p->nzones].weighted = true;
			p->zones[p->nzones].limit.rate_bps = 1000000000 + test_random_scale(s, 40);
			p->zones[p->nzones].limit.burst = 0;
		}
	}
	if (test_random(s) % 2)
		p->node_limit = random_limit(s, true);
	p->services = calloc(2, sizeof(*p->services));
	p->services[p->nservices++] = (struct bwl_pol_service){ BWL_C_SSH,
								6 + 11 * (test_random(s) % 2),
								1 + test_random(s) % 65535 };
	p->services[p->nservices++] = (struct bwl_pol_service){ test_random(s) % _BWL_CLASS_MAX,
								132, 0 };
	for (unsigned i = 0; i < 8; i++)
		random_peer(s, p, i);
	return p;
}

#endif
