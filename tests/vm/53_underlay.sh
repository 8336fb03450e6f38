#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Other underlays: IPv6, with IKE; two uplinks, of which one fails, then both. While links flap,
# traffic continues or stops, and never leaves in the clear.
# vm-cost: 90
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-under-$$
for part in tests/harness/tap vm-testbed/topo/trays tests/harness/charon \
	vm-testbed/topo/manual_sa vm-testbed/topo/mesh tests/vm/lib/uplinks tests/vm/lib/outer; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
charon_require
trays_up 2 || exit 1
both() { pings 10.0.2.2 && pings fd00:2::2; }

# --- IPv6
MESH_NET=2001:db8:: MESH_IPSEC+=', copy_ecn: true'
check "a CA is made" mesh_ca
for n in 1 2; do mesh_tray_up "$n" "grant: { rate: 10mbit }"; done
capture_start wire s1 s2
marker_start host1 10.0.2.2
check "the connections are loaded" mesh_load_both
check "there is an SA between IPv6 addresses" lab_wait_for 40 mesh_open
check "IPv4 and IPv6 pass through ESP in IPv6" pass_again
check "no IPv4 was on the wire" test "$(capture_count wire 'ip')" -eq 0
check "IPv4 packets of any DSCP, ECN, TTL and DF pass" outer_vary host1 10.0.2.2
check "and IPv6 ones, of any flow label" outer_vary host1 fd00:2::2
check "IKE and ESP were, over IPv6" test "$(capture_count wire 'ip6 proto 50')" -gt 6
lab_bg sink host2 iperf3 -s -1
lab_wait_for 10 in_ns host2 sh -c 'ss -Hltn "sport = :5201" | grep -q .'
in_ns host1 timeout 40 iperf3 -c fd00:2::2 -t 3 -J >"$LAB_TMP/tcp.json"
note "TCP at 10 Mbit/s: $(jq '.end.sum_received.bits_per_second / 1e6' "$LAB_TMP/tcp.json") Mbit/s"
check "TCP passes and is held to its grant" jq -e \
	'.end.sum_received.bits_per_second | . > 1000000 and . < 13000000' "$LAB_TMP/tcp.json"
check "rekeying works" mesh_rekey 1 tray-2

# --- the link flaps
for _ in 1 2 3 4 5; do
	ip_in switch link set s1 down
	sleep 0.4
	ip_in switch link set s1 up
	sleep 0.6
done
check "after five flaps of its link traffic goes on" pass_again
live "the link of tray 1 flaps no more"
marker_stop
check "the capture is whole" capture_stop wire
check "only ESP, IKE and ND left the trays" capture_only_encrypted wire
outer=$(outer_headers wire)
note "outer headers: ${outer//$'\n'/; }"
check "outside only the host's ECN shows, which was asked for" test "$(grep -c . <<<"$outer")" -eq 3
check "the marker never passed in the clear" capture_lacks_marker wire
for n in 1 2; do
	charon_kill "$n"
	kill "${MESH_WATCH[$n]}"
	leak_pause "$n"
	tray_quiet tray_load "$n" detach
	mesh_flush "$n"
done

# --- two uplinks, one underlay address; SAs are made by hand, without charon
second_uplink
ip_in dpu1 addr del 192.0.2.1/24 dev p0
ip_in dpu1 addr add 192.0.2.1/32 dev lo
ip_in dpu1 route add 192.0.2.0/24 dev p0 src 192.0.2.1 metric 10
ip_in dpu1 route add 192.0.2.0/24 dev p1 src 192.0.2.1 metric 20
lab_sysctl dpu1 net.ipv4.conf.all.ignore_routes_with_linkdown=1 net.ipv4.conf.p0.ignore_routes_with_linkdown=1 \
	net.ipv4.conf.p1.ignore_routes_with_linkdown=1
check "tray 1 attaches with two uplinks" attach 1 p0 p1
check "tray 2 with one" attach 2 p0
by_hand
capture_start two s1 s2 s3
marker_start host1 10.0.2.2
check "traffic passes" pass_again
check "it leaves by the first uplink" test "$(sent_esp two s1)" -gt 0 -a "$(sent_esp two s3)" -eq 0
ip_in switch link set s1 down
check "that one fails, and traffic goes on" pass_again
check "by the second" test "$(sent_esp two s3)" -gt 0
ip_in switch link set s3 down
refute "both have failed, and nothing passes" both
ip_in switch link set s1 up
check "the first is back, and traffic passes" pass_again
live "one of two uplinks that had failed is back"
ip_in switch link set s3 up
marker_stop
check "the capture is whole" capture_stop two
check "only ESP, ARP and ND left the trays by any uplink" capture_only_encrypted two
check "the marker never passed in the clear" capture_lacks_marker two
leak_end
done_testing
