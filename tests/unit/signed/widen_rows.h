/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every member of struct bwl_policy and of its parts: how it is changed, and where signed/widen*.c
 * compares it. A member without a row does not build (widen_rows_whole.c), and a row whose change
 * is never seen fails (widen_rows_test.c).
 *
 * How: NUMBER one more, FLAG the other, PATH the next one, TEXT and BYTES another first byte, FEWER
 * one item less, PARTS has rows of its own, NOTHING widens nothing: its row says why.
 */
#ifndef BWL_TEST_WIDEN_ROWS_H
#define BWL_TEST_WIDEN_ROWS_H

#define ROWS_lim(X)                                                                                \
	X(lim, rate_bps, NUMBER, "widen_limit()")                                                  \
	X(lim, burst, NUMBER, "widen_limit()")                                                     \
	X(lim, volume, NUMBER, "widen_limit()")                                                    \
	X(lim, window_ns, NUMBER, "widen_limit()")                                                 \
	X(lim, has_volume, FLAG, "widen_limit()")                                                  \
	X(lim, present, FLAG, "widen_limit(), and who has one: grant(), floor_()")

#define ROWS_port(X)                                                                               \
	X(port, name, TEXT, "ports()")                                                             \
	X(port, sources, PARTS, "port()")                                                          \
	X(port, nsources, FEWER, "port()")                                                         \
	X(port, vlans, BYTES, "port()")                                                            \
	X(port, nvlans, FEWER, "port()")                                                           \
	X(port, mac, BYTES, "port()")                                                              \
	X(port, has_mac, FLAG, "port()")                                                           \
	X(port, limit, PARTS, "widen_limit()")                                                     \
	X(port, line, NOTHING, "for messages")

#define ROWS_zone(X)                                                                               \
	X(zone, name, NOTHING, "members name it: peer.zone; without it they are refused")          \
	X(zone, limit, PARTS, "widen_limit()")                                                     \
	X(zone, weighted, NOTHING, "divides the zone's rate among its members (docs/status.md)")   \
	X(zone, line, NOTHING, "for messages")

#define ROWS_tenant(X)                                                                             \
	X(tenant, port, TEXT, "grant()")                                                           \
	X(tenant, limit, PARTS, "widen_limit()")

#define ROWS_peer(X)                                                                               \
	X(peer, name, TEXT, "widen_places(): whose addresses")                                     \
	X(peer, addresses, PARTS, "widen_places()")                                                \
	X(peer, naddresses, FEWER, "widen_places()")                                               \
	X(peer, zone, TEXT, "widen_peer()")                                                        \
	X(peer, weight, NOTHING, "as zone.weighted")                                               \
	X(peer, from, BYTES, "may_use()")                                                          \
	X(peer, nfrom, FEWER, "may_use()")                                                         \
	X(peer, contained, FLAG, "widen_peer()")                                                   \
	X(peer, revoked, FLAG, "widen_peer(), widen_is_open()")                                    \
	X(peer, grant, PARTS, "grant()")                                                           \
	X(peer, mode, NUMBER, "mode_kind()")                                                       \
	X(peer, mark_pct, NOTHING, "which packets carry CE, not which pass")                       \
	X(peer, expiry_ns, NUMBER, "grant()")                                                      \
	X(peer, accept, PARTS, "accept_()")                                                        \
	X(peer, accept_none, FLAG, "accept_()")                                                    \
	X(peer, floor, PARTS, "floor_()")                                                          \
	X(peer, class_, PARTS, "grant()")                                                          \
	X(peer, tenants, PARTS, "grant()")                                                         \
	X(peer, ntenants, FEWER, "grant()")                                                        \
	X(peer, path, PATH, "way()")                                                               \
	X(peer, uplink, TEXT, "way(), widen_hops()")                                               \
	X(peer, has_via4, FLAG, "way(), widen_hops()")                                             \
	X(peer, has_via6, FLAG, "way(), widen_hops()")                                             \
	X(peer, via4, BYTES, "way(), widen_hops()")                                                \
	X(peer, via6, BYTES, "way(), widen_hops()")                                                \
	X(peer, next_hop_mac, BYTES, "widen_hops()")                                               \
	X(peer, ipsec_remote, TEXT, "way(), widen_hops()")                                         \
	X(peer, ipsec_id, PARTS, "way(), widen_hops(): widen_effects_test.c")                      \
	X(peer, ipsec_ppk, PARTS, "way(): widen_cases_test.c")                                     \
	X(peer, line, NOTHING, "for messages")

#define ROWS_service(X)                                                                            \
	X(service, class_, NUMBER, "services()")                                                   \
	X(service, proto, NUMBER, "services()")                                                    \
	X(service, port, NUMBER, "services()")

#define ROWS_ipsec(X)                                                                              \
	X(ipsec, id, TEXT, "ipsec()")                                                              \
	X(ipsec, local, TEXT, "ipsec()")                                                           \
	X(ipsec, ca, TEXT, "ipsec()")                                                              \
	X(ipsec, ppk, TEXT, "ppk() of a peer")                                                     \
	X(ipsec, start, TEXT, "ipsec()")                                                           \
	X(ipsec, revocation, TEXT, "ipsec()")                                                      \
	X(ipsec, hw_offload, TEXT, "ipsec()")                                                      \
	X(ipsec, rekey_ns, NUMBER, "ipsec()")                                                      \
	X(ipsec, hard_ns, NUMBER, "ipsec()")                                                       \
	X(ipsec, ike_rekey_ns, NUMBER, "ipsec()")                                                  \
	X(ipsec, reauth_ns, NUMBER, "ipsec()")                                                     \
	X(ipsec, dpd_ns, NUMBER, "ipsec()")                                                        \
	X(ipsec, replay_window, NUMBER, "ipsec()")                                                 \
	X(ipsec, copy_ecn, FLAG, "ipsec()")

#define ROWS_policy(X)                                                                             \
	X(policy, node, TEXT, "widen_node()")                                                      \
	X(policy, uplinks, BYTES_AT, "uplinks()")                                                  \
	X(policy, nuplinks, FEWER, "uplinks()")                                                    \
	X(policy, control, NUMBER, "widen_node()")                                                 \
	X(policy, ports, PARTS, "ports()")                                                         \
	X(policy, nports, FEWER, "ports()")                                                        \
	X(policy, heartbeat_ns, NUMBER, "widen_node()")                                            \
	X(policy, heartbeat_none, FLAG, "widen_node()")                                            \
	X(policy, lease_ns, NUMBER, "widen_node()")                                                \
	X(policy, min_charge, NUMBER, "widen_node()")                                              \
	X(policy, horizon_ns, NUMBER, "waits(), waits_ns()")                                       \
	X(policy, ledger, FLAG, "widen_node()")                                                    \
	X(policy, reject, NOTHING, "an answer to the host lets nothing out")                       \
	X(policy, count_all, NOTHING, "counts, limits nothing")                                    \
	X(policy, node_limit, PARTS, "widen_limit()")                                              \
	X(policy, zones, PARTS, "zones()")                                                         \
	X(policy, nzones, NOTHING, "as zone.name")                                                 \
	X(policy, peers, PARTS, "peers()")                                                         \
	X(policy, npeers, FEWER, "widen_places()")                                                 \
	X(policy, services, PARTS, "services()")                                                   \
	X(policy, nservices, FEWER, "services()")                                                  \
	X(policy, ipsec, PARTS, "ipsec()")                                                         \
	X(policy, tamper, BYTES, "tamper()")                                                       \
	X(policy, until_line, NOTHING, "for messages")                                             \
	X(policy, warnings, NOTHING, "for messages")                                               \
	X(policy, nwarnings, NOTHING, "for messages")

#define ROWS_OF_ALL(X)                                                                             \
	ROWS_lim(X) ROWS_port(X) ROWS_zone(X) ROWS_tenant(X) ROWS_peer(X) ROWS_service(X)          \
		ROWS_ipsec(X) ROWS_policy(X)

#define TYPE_lim struct bwl_lim
#define TYPE_port struct bwl_pol_port
#define TYPE_zone struct bwl_pol_zone
#define TYPE_tenant struct bwl_pol_tenant
#define TYPE_peer struct bwl_pol_peer
#define TYPE_service struct bwl_pol_service
#define TYPE_ipsec struct bwl_pol_ipsec
#define TYPE_policy struct bwl_policy

#endif
