/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Single steps up, each of which widens, and down, which do not. */
#ifndef BWL_TEST_WIDEN_STEPS_H
#define BWL_TEST_WIDEN_STEPS_H

#include "widen_rig.h"

/* Makes a step in p; s chooses where. false: it is not possible here. */
typedef bool (*step)(struct bwl_policy *p, uint64_t *s);

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
GRANT(encrypted_now, x->path == BWL_PATH_CLEAR, x->path = BWL_PATH_XFRM;
      strcpy(x->ipsec_remote, "203.0.113.9"))
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

GRANT(rate_down, x->grant.rate_bps > 2, x->grant.burst = burst(&x->grant); x->grant.rate_bps--)
GRANT(burst_down, x->grant.rate_bps, x->grant.burst = burst(&x->grant) - 1)
GRANT(volume_new, !x->grant.has_volume, x->grant.has_volume = true; x->grant.volume = 5)
GRANT(volume_down, x->grant.has_volume && x->grant.volume, x->grant.volume--)
GRANT(until_sooner, x->expiry_ns > 1, x->expiry_ns--)
GRANT(mode_polices, bwl_mode_paces(x->mode), x->mode = BWL_MODE_POLICE)
GRANT(grant_taken, true, x->grant.present = false)
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
NODE(node_limit_new, !p->node_limit.present,
      p->node_limit = (struct bwl_lim){ .present = true, .rate_bps = 9 })
NODE(vlan_gone, p->ports[0].nvlans, p->ports[0].nvlans--)
NODE(source_gone, p->ports[0].nsources > 1, p->ports[0].nsources--)
NODE(heartbeat_shorter, !p->heartbeat_none && p->heartbeat_ns > 1, p->heartbeat_ns--)
NODE(lease_sooner, p->lease_ns > 1 && p->tamper[BWL_TAMPER_lease] != BWL_ACTION_DESTROY,
     p->lease_ns--)
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
	S(path_offload), S(via_other), S(mac_other), S(remote_other), S(id_other),
	S(encrypted_now), S(uplink_other),
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
	S(address_gone), S(exit_now), S(node_limit_new),
	S(vlan_gone), S(source_gone),
	S(heartbeat_shorter), S(min_charge_more), S(ledger_required), S(control_less),
	S(default_other), S(count_other),
	S(tamper_revoke), S(lease_sooner),
	S(ipsec_sooner), S(nothing),
};
/* clang-format on */

/* Some steps, mostly down. */
static inline struct bwl_policy *wander(const struct bwl_policy *p, uint64_t *s)
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

#endif
