// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does a change widen? Properties over random policies, and a test of every single key: a step up
 * is found, and a step down is not mistaken for one.
 */
#include "policy_random.h"
#include "signed/widen.h"

static void *copy(const void *at, size_t n)
{
	void *ret = malloc(n + 1);

	return n ? memcpy(ret, at, n) : ret;
}

static struct bwl_policy *clone(const struct bwl_policy *p)
{
	struct bwl_policy *q = copy(p, sizeof(*p));

	q->uplinks = copy(p->uplinks, p->nuplinks * sizeof(*p->uplinks));
	q->ports = copy(p->ports, p->nports * sizeof(*p->ports));
	for (size_t i = 0; i < p->nports; i++)
		q->ports[i].sources = copy(p->ports[i].sources,
					   p->ports[i].nsources * sizeof(struct bwl_pfx));
	q->zones = copy(p->zones, p->nzones * sizeof(*p->zones));
	q->peers = malloc(64 * sizeof(*p->peers)); /* room for more */
	memcpy(q->peers, p->peers, p->npeers * sizeof(*p->peers));
	for (size_t i = 0; i < p->npeers; i++) {
		struct bwl_pol_peer *x = &q->peers[i];

		x->addresses = calloc(x->naddresses + 8, sizeof(struct bwl_pfx));
		memcpy(x->addresses, p->peers[i].addresses, x->naddresses * sizeof(struct bwl_pfx));
		x->tenants = copy(x->tenants, x->ntenants * sizeof(*x->tenants));
		x->ipsec_id = x->ipsec_id ? strdup(x->ipsec_id) : NULL;
		x->ipsec_ppk = x->ipsec_ppk ? strdup(x->ipsec_ppk) : NULL;
	}
	q->services = copy(p->services, p->nservices * sizeof(*p->services));
	q->warnings = NULL;
	q->nwarnings = 0;
	return q;
}

static bool widens(const struct bwl_policy *from, const struct bwl_policy *to)
{
	struct bwl_holding a = bwl_holding_of(from), b = bwl_holding_of(to);
	struct bwl_widened w;
	bool r = bwl_widens(&a, &b, &w);

	bwl_widened_free(&w);
	return r;
}

/* Makes a step in p; s chooses where. false: it is not possible here. */
typedef bool (*step)(struct bwl_policy *p, uint64_t *s);

/* A random peer with a grant that is not `monitor`. */
static struct bwl_pol_peer *granted(struct bwl_policy *p, uint64_t *s)
{
	for (unsigned i = test_random(s) % p->npeers, n = 0; n < p->npeers; n++) {
		struct bwl_pol_peer *x = &p->peers[(i + n) % p->npeers];

		if (x->grant.present && x->mode != BWL_MODE_MONITOR)
			return x;
	}
	return NULL;
}

#define STEP(name) static bool name(struct bwl_policy *p, uint64_t *s)
/* Defines a step of a peer that has a grant. */
#define GRANT(name, cond, ...)                                                                     \
	STEP(name)                                                                                 \
	{                                                                                          \
		struct bwl_pol_peer *x = granted(p, s);                                            \
                                                                                                   \
		if (!x || !(cond))                                                                 \
			return false;                                                              \
		__VA_ARGS__;                                                                       \
		return true;                                                                       \
	}
#define NODE(name, cond, ...)                                                                      \
	STEP(name)                                                                                 \
	{                                                                                          \
		(void)s;                                                                           \
		if (!(cond))                                                                       \
			return false;                                                              \
		__VA_ARGS__;                                                                       \
		return true;                                                                       \
	}

static uint64_t burst(const struct bwl_lim *l)
{
	return l->burst ? l->burst : bwl_default_burst(l->rate_bps);
}

/* clang-format off */
GRANT(rate_up, x->grant.rate_bps, x->grant.burst = burst(&x->grant); x->grant.rate_bps++)
GRANT(rate_none, x->grant.rate_bps, x->grant.rate_bps = BWL_NO_RATE)
GRANT(burst_up, x->grant.rate_bps, x->grant.burst = burst(&x->grant) + 1)
GRANT(volume_up, x->grant.has_volume, x->grant.volume++)
GRANT(volume_none, x->grant.has_volume, x->grant.has_volume = false)
GRANT(window_shorter, x->grant.has_volume && x->grant.window_ns, x->grant.window_ns--)
GRANT(window_longer, x->grant.has_volume && x->grant.window_ns, x->grant.window_ns++)
GRANT(until_later, x->expiry_ns != BWL_NEVER_NS, x->expiry_ns++)
GRANT(until_never, x->expiry_ns != BWL_NEVER_NS, x->expiry_ns = BWL_NEVER_NS)
GRANT(mode_monitor, true, x->mode = BWL_MODE_MONITOR)
GRANT(mode_paces, x->mode == BWL_MODE_POLICE, x->mode = BWL_MODE_SHAPE)
GRANT(path_clear, x->path != BWL_PATH_CLEAR, x->path = BWL_PATH_CLEAR)
GRANT(path_offload, x->path == BWL_PATH_XFRM, x->path = BWL_PATH_OFFLOAD)
GRANT(via_other, x->path == BWL_PATH_CLEAR && x->has_via4, x->via4[3]++)
GRANT(mac_other, true, x->next_hop_mac[0] ^= 4)
GRANT(remote_other, x->path != BWL_PATH_CLEAR, strcpy(x->ipsec_remote, "203.0.113.250"))
GRANT(id_other, x->path != BWL_PATH_CLEAR && !x->ipsec_id, x->ipsec_id = strdup("other"))
GRANT(uplink_other, true, strcpy(x->uplink, !strcmp(x->uplink, "p1") ? "p0" : "p1"))
GRANT(zone_none, *x->zone, *x->zone = '\0')
GRANT(zone_other, *x->zone, strcpy(x->zone, !strcmp(x->zone, "z0") ? "z1" : "z0"))
GRANT(from_all, x->nfrom && x->nfrom < p->nports, x->nfrom = 0)
GRANT(contained_now, !x->contained, x->contained = true)
GRANT(floor_new, !x->floor.present, x->floor = (struct bwl_lim){ .present = true, .rate_bps = 1 })
GRANT(floor_up, x->floor.present, x->floor.burst = burst(&x->floor); x->floor.rate_bps++)
GRANT(accept_up, x->accept.rate_bps, x->accept.burst = burst(&x->accept); x->accept.rate_bps++)
GRANT(accept_volume_up, x->accept.has_volume, x->accept.volume++)
GRANT(accept_volume_none, x->accept.has_volume, x->accept.has_volume = false)
GRANT(accept_some, x->accept_none, x->accept_none = false)
GRANT(class_none, x->class_[3].present, x->class_[3].present = false)
GRANT(class_up, x->class_[3].present && x->class_[3].rate_bps,
      x->class_[3].burst = burst(&x->class_[3]); x->class_[3].rate_bps++)
GRANT(tenant_none, x->ntenants, x->ntenants--)
GRANT(tenant_up, x->ntenants && x->tenants[0].limit.rate_bps,
      x->tenants[0].limit.burst = burst(&x->tenants[0].limit); x->tenants[0].limit.rate_bps++)
GRANT(tenant_other, x->ntenants == 1, strcpy(x->tenants[0].port, "h7"))
GRANT(address_new, true, x->addresses[x->naddresses++] = (struct bwl_pfx){ 4, 32, { 203, 0,
      113, 9 } })
GRANT(address_wider, x->addresses[0].len == 25 && !(x->addresses[0].addr[3]),
      x->addresses[0].len--)
GRANT(address_from_another, x != &p->peers[0] && p->peers[0].naddresses > 1,
      x->addresses[x->naddresses++] = p->peers[0].addresses[--p->peers[0].naddresses])
GRANT(grant_given, x != &p->peers[0] && !p->peers[0].grant.present && !p->peers[0].revoked,
      p->peers[0].grant = (struct bwl_lim){ .present = true, .rate_bps = 1 })
NODE(node_limit_up, p->node_limit.present && p->node_limit.rate_bps,
     p->node_limit.burst = burst(&p->node_limit); p->node_limit.rate_bps++)
NODE(node_limit_none, p->node_limit.present, p->node_limit.present = false)
NODE(node_other, true, strcpy(p->node, "other"))
NODE(zone_up, p->zones[0].limit.rate_bps,
     p->zones[0].limit.burst = burst(&p->zones[0].limit); p->zones[0].limit.rate_bps++)
NODE(port_limit_none, p->ports[0].limit.present, p->ports[0].limit.present = false)
NODE(port_source_wider, p->ports[0].sources[0].len == 16, p->ports[0].sources[0].len = 15)
NODE(port_vlan_new, p->ports[0].nvlans < BWL_MAX_VLANS,
      p->ports[0].vlans[p->ports[0].nvlans++] = 4094)
NODE(port_mac_any, p->ports[0].has_mac, p->ports[0].has_mac = false)
NODE(port_mac_other, p->ports[0].has_mac, p->ports[0].mac[5]++)
NODE(port_new, p->nports, strcpy(p->ports[1].name, "h9"))
NODE(heartbeat_longer, !p->heartbeat_none, p->heartbeat_ns++)
NODE(heartbeat_no, !p->heartbeat_none, p->heartbeat_none = true; p->heartbeat_ns = 0)
NODE(lease_longer, p->lease_ns, p->lease_ns++)
NODE(lease_no, p->lease_ns, p->lease_ns = 0)
NODE(min_charge_less, p->min_charge, p->min_charge--)
NODE(ledger_auto, p->ledger, p->ledger = false)
NODE(control_more, ~p->control & 1, p->control |= 1)
NODE(uplink_new, true, strcpy(p->uplinks[1], "p9"))
NODE(tamper_less, true, p->tamper[0] = BWL_ACTION_LOG; p->tamper[1] = BWL_ACTION_LOG;
     if (p->tamper[2] == BWL_ACTION_LOG) return false; p->tamper[2] = BWL_ACTION_LOG)
NODE(tamper_destroy, p->tamper[2] != BWL_ACTION_DESTROY, p->tamper[2] = BWL_ACTION_DESTROY)
NODE(lease_destroys_sooner,
     p->lease_ns > 1 && p->tamper[BWL_TAMPER_lease] == BWL_ACTION_DESTROY, p->lease_ns--)
NODE(tamper_spared, p->tamper[2] == BWL_ACTION_DESTROY, p->tamper[2] = BWL_ACTION_REVOKE)
NODE(ipsec_later, true, p->ipsec.hard_ns++)
NODE(ipsec_relaxed, !strcmp(p->ipsec.revocation, "strict"), strcpy(p->ipsec.revocation,
      "relaxed"))
NODE(ipsec_ecn, !p->ipsec.copy_ecn, p->ipsec.copy_ecn = true)

GRANT(rate_down, x->grant.rate_bps > 2, x->grant.burst = burst(&x->grant); x->grant.rate_bps--;
      x->floor.present = false)
GRANT(burst_down, x->grant.rate_bps, x->grant.burst = burst(&x->grant) - 1;
      x->floor.present = false)
GRANT(volume_new, !x->grant.has_volume, x->grant.has_volume = true; x->grant.volume = 5;
      x->floor.present = false)
GRANT(volume_down, x->grant.has_volume && x->grant.volume, x->grant.volume--;
      x->floor.present = false)
GRANT(until_sooner, x->expiry_ns > 1, x->expiry_ns--; x->floor.present = false)
GRANT(mode_polices, bwl_mode_paces(x->mode), x->mode = BWL_MODE_POLICE)
GRANT(grant_taken, true, x->grant.present = false; x->floor.present = false)
GRANT(zone_joined, !*x->zone, strcpy(x->zone, "z1"))
GRANT(from_one, x->nfrom == 0 && p->nports, strcpy(x->from[0], p->ports[0].name); x->nfrom = 1)
GRANT(floor_gone, x->floor.present, x->floor.present = false)
GRANT(accept_volume_new, x->accept.present && !x->accept.has_volume, x->accept.has_volume = true;
      x->accept.volume = 5)
GRANT(accept_nothing, !x->accept_none, x->accept_none = true; x->accept.present = false)
GRANT(class_new, !x->class_[3].present, x->class_[3] = (struct bwl_lim){ .present = true,
      .rate_bps = 1 })
GRANT(tenant_new, !x->ntenants, bwl_policy_add_tenant(x, "h0")->limit = (struct bwl_lim){
      .present = true, .rate_bps = 1 })
GRANT(address_gone, x->naddresses > 1, x->naddresses--)
GRANT(exit_now, x->contained, x->contained = false)
GRANT(encrypted_now, x->path == BWL_PATH_CLEAR, x->path = BWL_PATH_XFRM;
      strcpy(x->ipsec_remote, "203.0.113.9"))
NODE(node_limit_new, !p->node_limit.present,
      p->node_limit = (struct bwl_lim){ .present = true, .rate_bps = 9 })
NODE(vlan_gone, p->ports[0].nvlans, p->ports[0].nvlans--)
NODE(source_gone, p->ports[0].nsources > 1, p->ports[0].nsources--)
NODE(heartbeat_shorter, !p->heartbeat_none && p->heartbeat_ns > 1, p->heartbeat_ns--;
     for (size_t i = 0; i < p->npeers; i++) p->peers[i].floor.present = false)
NODE(lease_sooner, p->lease_ns > 1 && p->tamper[BWL_TAMPER_lease] != BWL_ACTION_DESTROY,
     p->lease_ns--; for (size_t i = 0; i < p->npeers; i++) p->peers[i].floor.present = false)
NODE(min_charge_more, true, p->min_charge++)
NODE(ledger_required, !p->ledger, p->ledger = true)
NODE(default_other, true, p->reject = !p->reject) /* telling the host lets nothing out */
NODE(count_other, true, p->count_all = !p->count_all) /* nor does counting */
NODE(control_less, p->control & 1, p->control &= ~1U)
NODE(tamper_revoke, p->tamper[2] != BWL_ACTION_DESTROY, p->tamper[2] = BWL_ACTION_REVOKE)
NODE(ipsec_sooner, p->ipsec.hard_ns > 1, p->ipsec.hard_ns--)
STEP(nothing) { (void)p; (void)s; return true; }

#define S(f) { #f, f }
static const struct named { const char *name; step take; } up[] = {
	S(rate_up), S(rate_none), S(burst_up), S(volume_up), S(volume_none), S(window_shorter),
	S(window_longer), S(until_later), S(until_never), S(mode_monitor),
	S(mode_paces), S(path_clear),
	S(path_offload), S(via_other), S(mac_other), S(remote_other), S(id_other), S(uplink_other),
	S(zone_none),
	S(zone_other), S(from_all), S(contained_now), S(floor_new), S(floor_up), S(accept_up),
	S(accept_volume_up), S(accept_volume_none),
	S(accept_some), S(class_none), S(class_up), S(tenant_none), S(tenant_up), S(tenant_other),
	S(address_new), S(address_wider),
	S(address_from_another), S(grant_given), S(node_limit_up), S(node_limit_none),
	S(node_other),
	S(zone_up), S(port_limit_none), S(port_source_wider), S(port_vlan_new), S(port_mac_any),
	S(port_mac_other), S(port_new), S(heartbeat_longer), S(heartbeat_no), S(lease_longer),
	S(lease_no), S(min_charge_less), S(ledger_auto), S(control_more),
	S(uplink_new), S(tamper_less), S(tamper_spared), S(tamper_destroy),
	S(lease_destroys_sooner),
	S(ipsec_later), S(ipsec_relaxed), S(ipsec_ecn),
}, down[] = {
	S(rate_down), S(burst_down), S(volume_new), S(volume_down), S(until_sooner),
	S(mode_polices),
	S(grant_taken), S(zone_joined), S(from_one), S(floor_gone), S(accept_volume_new),
	S(accept_nothing),
	S(class_new), S(tenant_new),
	S(address_gone), S(exit_now), S(encrypted_now), S(node_limit_new),
	S(vlan_gone), S(source_gone),
	S(heartbeat_shorter), S(min_charge_more), S(ledger_required), S(control_less),
	S(default_other), S(count_other),
	S(tamper_revoke), S(lease_sooner),
	S(ipsec_sooner), S(nothing),
};
/* clang-format on */
#define N(a) (sizeof(a) / sizeof((a)[0]))

static struct bwl_policy *any_policy(uint64_t *s)
{
	struct bwl_policy *p = random_policy(s), *q;

	for (unsigned i = 0; i < _BWL_TAMPER_MAX; i++)
		p->tamper[i] = test_random(s) % _BWL_ACTION_MAX;
	bwl_policy_check(p, NULL, NULL); /* as after reading a policy */
	q = clone(p);
	bwl_policy_free(p);
	return q;
}

static void nothing_widens_itself(void **state)
{
	uint64_t s = 1;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		struct bwl_policy *p = any_policy(&s), *q = clone(p);

		assert_false(widens(p, q));
		bwl_policy_free(p);
		bwl_policy_free(q);
	}
}

/* Tries every step of a table many times, each alone. */
static void every_step(const struct named *t, size_t n, bool want)
{
	uint64_t s = 2;

	for (size_t i = 0; i < n; i++) {
		unsigned taken = 0;

		for (unsigned round = 0; round < 60; round++) {
			struct bwl_policy *p = any_policy(&s), *q = clone(p);

			if (t[i].take(q, &s)) {
				taken++;
				if (widens(p, q) != want)
					fail_msg("%s, round %u: %s", t[i].name, round,
						 want ? "not found" : "called wider");
			}
			bwl_policy_free(p);
			bwl_policy_free(q);
		}
		if (!taken)
			fail_msg("%s could never be done", t[i].name);
	}
}

static void every_single_key_mutated_upward_widens(void **state)
{
	(void)state;
	every_step(up, N(up), true);
}

static void every_single_key_mutated_downward_does_not(void **state)
{
	(void)state;
	every_step(down, N(down), false);
}

static struct bwl_policy *wander(const struct bwl_policy *p, uint64_t *s)
{
	struct bwl_policy *q = clone(p);

	for (unsigned n = 1 + test_random(s) % 4; n; n--) {
		if (test_random(s) % 12)
			down[test_random(s) % N(down)].take(q, s);
		else
			up[test_random(s) % N(up)].take(q, s);
	}
	return q;
}

/* One person cannot widen by many small steps. */
static void narrower_and_then_narrower_is_narrower(void **state)
{
	unsigned narrow = 0, wide = 0;
	uint64_t s = 3;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		struct bwl_policy *a = any_policy(&s), *b = wander(a, &s), *c = wander(b, &s);
		bool ab = widens(a, b), bc = widens(b, c), ac = widens(a, c);

		if (!ab && !bc && ac)
			fail_msg("round %u: two steps that widen nothing widen", i);
		narrow += !ab && !bc;
		wide += ac;
		bwl_policy_free(a);
		bwl_policy_free(b);
		bwl_policy_free(c);
	}
	assert_true(narrow > 500 && wide > 100);
}

/* Finds without widen.c what may be sent to an address: the peer with the longest prefix. */
static const struct bwl_pol_peer *owner_of(const struct bwl_policy *p, const struct bwl_pfx *q)
{
	const struct bwl_pol_peer *best = NULL;
	int len = -1;

	for (size_t i = 0; i < p->npeers; i++)
		for (size_t k = 0; k < p->peers[i].naddresses; k++)
			if (bwl_pfx_holds(&p->peers[i].addresses[k], q) &&
			    p->peers[i].addresses[k].len > len) {
				best = &p->peers[i];
				len = best->addresses[k].len;
			}
	return best && best->grant.present ? best : NULL;
}

static double rate_for(const struct bwl_policy *p, const struct bwl_pol_peer *x, unsigned class_)
{
	double r = x->mode == BWL_MODE_MONITOR || !x->grant.rate_bps ? 1e30 : x->grant.rate_bps;

	if (x->class_[class_].present && x->class_[class_].rate_bps &&
	    x->class_[class_].rate_bps < r)
		r = x->class_[class_].rate_bps;
	for (size_t i = 0; i < p->nzones; i++)
		if (!strcmp(p->zones[i].name, x->zone) && p->zones[i].limit.rate_bps &&
		    p->zones[i].limit.rate_bps < r)
			r = p->zones[i].limit.rate_bps;
	return r;
}

static void what_does_not_widen_lets_no_packet_have_more(void **state)
{
	unsigned looked = 0;
	uint64_t s = 4;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		struct bwl_policy *a = any_policy(&s), *b = wander(a, &s);

		for (unsigned n = 0; !widens(a, b) && n < 40; n++) {
			struct bwl_pfx q = { 4,
					     32,
					     { 192, 1, test_random(&s) % 9, test_random(&s) } };
			const struct bwl_pol_peer *x = owner_of(a, &q), *y = owner_of(b, &q);
			unsigned class_ = test_random(&s) % _BWL_CLASS_MAX;

			if (!y)
				continue;
			looked++;
			if (!x || rate_for(b, y, class_) > rate_for(a, x, class_) ||
			    y->expiry_ns > x->expiry_ns ||
			    (x->path != BWL_PATH_CLEAR && y->path == BWL_PATH_CLEAR) ||
			    (x->mode != BWL_MODE_MONITOR && x->grant.has_volume &&
			     (!y->grant.has_volume || y->grant.volume > x->grant.volume)))
				fail_msg("round %u: a packet may have more", i);
		}
		bwl_policy_free(a);
		bwl_policy_free(b);
	}
	assert_true(looked > 5000);
}

static struct bwl_policy *yaml(const char *peers)
{
	char text[2048];

	snprintf(text, sizeof(text), TOP "%s", peers);
	return read_text(text);
}

#define CLEAR "    path: clear\n    via: 10.9.9.9\n"
#define BIG "  - name: big\n    addresses: [198.51.100.0/24]\n" CLEAR "    grant: { rate: 1gbit }\n"
#define SMALL                                                                                      \
	"  - name: small\n    addresses: [198.51.100.7/32]\n" CLEAR "    grant: { rate: 1mbit }\n"
#define NONE "  - name: none\n    addresses: [198.51.100.7/32]\n" CLEAR

static void addresses_belong_to_whom_the_longest_prefix_names(void **state)
{
	static const struct {
		const char *from, *to;
		bool widens;
	} row[] = {
		{ "peers:\n" BIG SMALL, "peers:\n" BIG, true }, /* now the larger peer's */
		{ "peers:\n" BIG NONE, "peers:\n" BIG, true },  /* a hole is filled */
		{ "peers:\n" BIG, "peers:\n" BIG NONE, false }, /* a hole is made */
		{ "peers:\n" BIG, "peers:\n" BIG SMALL, true }, /* both together may send more */
		{ "peers:\n" BIG SMALL, "peers:\n" SMALL, false },
		{ "peers:\n" SMALL, "peers:\n" BIG, true },
		{ "peers:\n" BIG, "peers:\n" SMALL, true },
		{ "", "peers:\n" SMALL, true },
		{ "peers:\n" SMALL, "", false },
		{ "", "peers:\n" NONE, false },
	};

	(void)state;
	for (size_t i = 0; i < N(row); i++) {
		struct bwl_policy *a = yaml(row[i].from), *b = yaml(row[i].to);

		if (widens(a, b) != row[i].widens)
			fail_msg("row %zu", i);
		bwl_policy_free(a);
		bwl_policy_free(b);
	}
}

static void a_grant_that_ends_sooner_opens_no_larger_floor(void **state)
{
	uint64_t s = 5;
	struct bwl_policy *a = any_policy(&s), *b, *c;
	struct bwl_pol_peer *x;

	(void)state;
	x = granted(a, &s);
	x->expiry_ns = NOW_BOOT + 1000;
	x->mode = BWL_MODE_POLICE;
	x->grant = (struct bwl_lim){
		.present = true, .rate_bps = 1000000, .has_volume = true, .volume = 1000
	};
	x->floor = (struct bwl_lim){ .present = true, .rate_bps = 500000 };
	b = clone(a);
	bwl_policy_peer(b, x->name)->expiry_ns--;
	assert_true(widens(a, b));
	c = clone(a);
	bwl_policy_peer(c, x->name)->grant.present = false;
	assert_true(widens(a, c));
	bwl_policy_peer(c, x->name)->floor.present = false;
	assert_false(widens(a, c));
	bwl_policy_free(a);
	bwl_policy_free(b);
	bwl_policy_free(c);
}

static void what_stands_beside_a_policy_is_compared_too(void **state)
{
	static const char *const closed[] = { "big", "small" };
	struct bwl_policy *p = yaml("peers:\n" BIG SMALL);
	const struct bwl_holding is = { .pol = p,
					.not_after_s = 100,
					.offline_for_ns = 100,
					.lease_most_ns = 100,
					.closed = closed,
					.nclosed = 2 };
	struct bwl_holding to[7] = { is, is, is, is, is, is, is };
	struct bwl_widened w;
	char text[BWL_WIDENING_TEXT];

	(void)state;
	to[0].not_after_s++;
	to[1].offline_for_ns++;
	to[2].lease_most_ns++;
	to[3].stages = true;
	to[4].fresh_volume = true;
	to[5].nclosed = 1;
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(bwl_widens(&is, &to[i], &w), i < 6);
		if (i < 6)
			assert_int_equal(w.n, 1);
		if (i == 5)
			assert_string_equal(bwl_widening_text(w.item, text),
					    "small: revocation: closed -> open");
		bwl_widened_free(&w);
		if (i < 4)
			assert_false(bwl_widens(&to[i], &is, &w));
		if (i < 4)
			bwl_widened_free(&w);
	}
	bwl_policy_free(p);
}

static void it_says_where_and_what_in_words(void **state)
{
	struct bwl_policy *a = yaml("peers:\n" SMALL),
			  *b = yaml("peers:\n"
				    "  - name: small\n    addresses: [198.51.100.7/32]\n" CLEAR
				    "    grant: { rate: 2mbit, burst: 64kb }\n");
	struct bwl_holding x = bwl_holding_of(a), y = bwl_holding_of(b);
	char text[BWL_WIDENING_TEXT];
	struct bwl_widened w;

	(void)state;
	assert_true(bwl_widens(&x, &y, &w));
	assert_string_equal(bwl_widening_text(w.item, text),
			    "peer small, grant: rate: 1mbit -> 2mbit");
	bwl_widened_free(&w);
	bwl_policy_free(a);
	bwl_policy_free(b);
}

/* This cannot be undone, so one person alone cannot demand it. */
static void that_keys_are_destroyed_is_for_two_people(void **state)
{
	struct bwl_policy *a = yaml("tamper: { carrier: revoke }\npeers:\n" SMALL),
			  *b = yaml("tamper: { carrier: destroy }\npeers:\n" SMALL);
	struct bwl_holding x = bwl_holding_of(a), y = bwl_holding_of(b);
	char text[BWL_WIDENING_TEXT];
	struct bwl_widened w;

	(void)state;
	assert_true(bwl_widens(&x, &y, &w));
	assert_string_equal(bwl_widening_text(w.item, text),
			    "tamper: carrier: revoke -> destroy: keys are destroyed");
	bwl_widened_free(&w);
	bwl_policy_free(a);
	bwl_policy_free(b);
}

static void other_services_are_other_limits(void **state)
{
	uint64_t s = 6;
	struct bwl_policy *a = any_policy(&s), *b;
	struct bwl_pol_service first;

	(void)state;
	assert_int_equal(a->nservices, 2);
	granted(a, &s)->class_[3] = (struct bwl_lim){ .present = true, .rate_bps = 1000000 };
	first = a->services[0];
	b = clone(a);
	assert_false(widens(a, b));
	b->services[0] = b->services[1]; /* in another order they say the same */
	b->services[1] = first;
	assert_false(widens(a, b));
	b->services[1].port ^= 1;
	assert_true(widens(a, b));
	b->services[1] = first;
	b->services[1].class_ = (uint8_t)((first.class_ + 1) % _BWL_CLASS_MAX);
	assert_true(widens(a, b));
	b->nservices = 0;
	assert_true(widens(a, b));
	assert_true(widens(b, a));
	for (size_t i = 0; i < a->npeers; i++)
		memset(a->peers[i].class_, 0, sizeof(a->peers[i].class_));
	for (size_t i = 0; i < b->npeers; i++)
		memset(b->peers[i].class_, 0, sizeof(b->peers[i].class_));
	assert_false(widens(a, b)); /* no class has a limit */
	bwl_policy_free(a);
	bwl_policy_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_widens_itself),
		cmocka_unit_test(every_single_key_mutated_upward_widens),
		cmocka_unit_test(every_single_key_mutated_downward_does_not),
		cmocka_unit_test(narrower_and_then_narrower_is_narrower),
		cmocka_unit_test(what_does_not_widen_lets_no_packet_have_more),
		cmocka_unit_test(addresses_belong_to_whom_the_longest_prefix_names),
		cmocka_unit_test(a_grant_that_ends_sooner_opens_no_larger_floor),
		cmocka_unit_test(what_stands_beside_a_policy_is_compared_too),
		cmocka_unit_test(other_services_are_other_limits),
		cmocka_unit_test(it_says_where_and_what_in_words),
		cmocka_unit_test(that_keys_are_destroyed_is_for_two_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
