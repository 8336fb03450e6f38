#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the kernel refuses of charged packets it answers nowhere: the way to the other DPU is narrower than
# the uplink, the DPU has no route to its host, and a default route by the management port.
# vm-long: yes
# vm-timeout: 240
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-qui-$$
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
trays_up 2 || exit 1
lab_ns mgmt
lab_veth dpu1 mgmt0 mgmt eth0
ip_in dpu1 addr add 10.250.0.1/24 dev mgmt0
ip_in dpu1 addr add fd00:250::1/64 dev mgmt0 nodad
ip_in dpu1 neigh replace 10.250.0.2 lladdr 02:00:00:00:99:99 dev mgmt0 nud permanent
ip_in dpu1 neigh replace fd00:250::2 lladdr 02:00:00:00:99:99 dev mgmt0 nud permanent
for n in 1 2; do tray_attach $n --tunnel bwl0 || exit 1; done
for n in 1 2; do tray_apply $n < <(sa_tray_policy $n "grant: { rate: 100mbit, mode: police }"); done
sa_pair 1 2
for n in 1 2; do sa_usable $n "$(sa_if_id $n "tray-$((3 - n))")" 3; done
ip_in dpu1 addr flush dev pf0hpf
ip_in dpu1 route replace default via 10.250.0.2
ip_in dpu1 -6 route replace default via fd00:250::2
ip_in host1 neigh replace 10.0.1.1 lladdr "$(tray_mac 1 2)" dev h0 nud permanent
ip_in host1 neigh replace fd00:1::1 lladdr "$(tray_mac 1 2)" dev h0 nud permanent
ip_in dpu1 neigh replace 10.0.1.2 lladdr "$(tray_mac 1 1)" dev pf0hpf nud permanent
ip_in dpu1 neigh replace fd00:1::2 lladdr "$(tray_mac 1 1)" dev pf0hpf nud permanent
big_ping() { in_ns host1 ping -M do -c 3 -i 0.2 -W 2 -s "$1" "$2" >/dev/null 2>&1; }
check "a ping that fits passes" big_ping 1200 fd00:2::2
ip_in dpu1 route add 192.0.2.2/32 dev p0 mtu 1400
# Everything that leaves by it and is not its own neighbour discovery or multicast.
in_ns mgmt nft -f - <<-'END'
table netdev seen {
	chain in {
		type filter hook ingress device eth0 priority 0;
		icmpv6 type packet-too-big counter
		icmpv6 type destination-unreachable counter
		icmp type destination-unreachable counter
	}
}
END
seen() { in_ns mgmt nft list table netdev seen | awk '/counter packets/ { for (i = 1; i < NF; i++) if ($i == "packets") n += $(i + 1) } END { print n + 0 }'; }
refused() { in_ns dpu1 ip -s -j link show bwl0 | jq '.[0].stats64.tx.dropped'; }
was=$(refused)
for to in fd00:2::2 10.0.2.2; do refute "a packet larger than the way to $to does not pass" big_ping 1340 $to; done
check "the kernel has refused it" test "$(refused)" -gt "$was"
check "and told nobody by the management port" test "$(seen)" -eq 0
quiet() {
	tray_load 1 verify --json >"$LAB_TMP/verify"
	jq -e '.checks[] | select(.result == "ok" and (.check | test("ICMP errors about charged packets go nowhere")))' "$LAB_TMP/verify" >/dev/null
}
check "verify says so" quiet
lab_sysctl dpu1 net.ipv6.fwmark_reflect=0
refute "and does not where somebody has set it back" quiet
refute "then the packet does not pass either" big_ping 1340 fd00:2::2
check "but it is told where the default route leads, with what the host sent" test "$(seen)" -gt 0
note "on the management port: $(seen)"
check "attach sets it again" tray_attach 1 --tunnel bwl0
check "and verify says so" quiet
was=$(seen)
refute "the next is refused" big_ping 1340 fd00:2::2
check "in silence" test "$(seen)" -eq "$was"
tray_load 1 detach >/dev/null 2>&1
refute "detach takes its rule away" grep -q blackhole < <(ip_in dpu1 rule; ip_in dpu1 -6 rule)
done_testing
