#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel answers nowhere when it refuses a packet: the path to the other DPU is narrower than the uplink, the
# DPU has no route to its host, and a default route through the management port. Charged packets, and others.
# The judge looks for a marker of all that the host sends in all that management receives.
# vm-cost: 95
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
BWL_MARKER=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export BWL_MARKER
big_ping() { in_ns host1 ping -M "do" -c 3 -i 0.2 -W 2 -p "$BWL_MARKER" -s "$1" "$2" >/dev/null 2>&1; }
# Runs a command; sets TOLD to the bytes of the marker that left through the management port meanwhile, TOLD4
# and TOLD6 to the frames that contained them.
told() { # command…
	local rc
	lab_bg told mgmt "$FRAMES" count eth0
	local judge=$LAB_PID
	lab_wait_for 5 grep -q ready "$LAB_TMP/told"
	"$@"
	rc=$?
	sleep 0.3
	lab_stop "$judge"
	TOLD=$(awk '/^marked/ { print $4 }' "$LAB_TMP/told")
	TOLD4=$(awk '/^0800/ { n += $6 } END { print n + 0 }' "$LAB_TMP/told")
	TOLD6=$(awk '/^86dd/ { n += $6 } END { print n + 0 }' "$LAB_TMP/told")
	[[ $TOLD == 0 ]] || sed 's/^/# /' "$LAB_TMP/told"
	return $rc
}
silent() { [[ $TOLD == 0 ]]; }
own_pings() { # sent by the DPU itself
	in_ns dpu1 ping -c 1 -W 1 -p "$BWL_MARKER" 10.250.0.2 >/dev/null 2>&1
	in_ns dpu1 ping -c 1 -W 1 -p "$BWL_MARKER" fd00:250::2 >/dev/null 2>&1
	return 0
}
told own_pings
check "the judge sees what leaves by the management port, IPv4 and IPv6" test "$TOLD4 $TOLD6" = "1 1"
check "a ping that fits passes" big_ping 1200 fd00:2::2
ip_in dpu1 route add 192.0.2.2/32 dev p0 mtu 1400
refused() { in_ns dpu1 ip -s -j link show bwl0 | jq '.[0].stats64.tx.dropped'; }
was=$(refused)
for to in fd00:2::2 10.0.2.2; do
	refute "a packet larger than the way to $to does not pass" told big_ping 1340 $to
	check "and nobody is told by the management port" silent
done
check "the kernel has refused it" test "$(refused)" -gt "$was"
# Packets that nobody charged: to strangers, to addresses of the DPU, solicitations that it cannot deliver.
uncharged() {
	local to behind="hex=fd94 fill=1182"
	{
		for to in 10.99.0.1 10.250.0.1 10.250.0.2 192.0.2.1; do
			echo "eth ip4 src=10.0.1.2 dst=$to icmp fill=1000"
			echo "eth ip4 src=10.0.1.2 dst=$to ttl=1 udp fill=1000"
			echo "eth ip4 src=10.0.1.2 dst=$to udp sport=500 dport=500 fill=1000"
		done
		for to in fd00:99::1 fd00:250::1 fd00:250::2 2001:db8:99::1; do
			echo "eth ip6 src=fd00:1::2 dst=$to icmp kind=128 fill=1000"
			echo "eth ip6 src=fd00:1::2 dst=$to hop=1 udp fill=1000"
			echo "eth ip6 src=fd00:1::2 dst=$to hop=255 nd target=$to $behind"
		done
	} | in_ns host1 "$FRAMES" send h0 --gw "$(tray_mac 1 2)" --count 480 --pps 1000 >/dev/null
}
ip_in dpu1 -6 route add unreachable 2001:db8:99::/48
check "what nobody charged is sent" told uncharged
check "and answered nowhere either" silent
quiet() {
	tray_load 1 verify --json >"$LAB_TMP/verify"
	jq -e '.checks[] | select(.id == "route-lock" and .result == "ok")' "$LAB_TMP/verify" >/dev/null
}
check "verify says so" quiet
lab_sysctl dpu1 net.ipv6.fwmark_reflect=0
refute "and does not where somebody has set it back" quiet
refute "then the packet does not pass either" told big_ping 1340 fd00:2::2
check "but it is told where the default route leads, with what the host sent" test "$TOLD" -gt 0
check "attach sets it again" tray_attach 1 --tunnel bwl0
check "and verify says so" quiet
refute "the next is refused" told big_ping 1340 fd00:2::2
check "in silence" silent
leak_pause 1
tray_load 1 detach >/dev/null 2>&1
refute "detach takes its rules away" grep -q blackhole < <(ip_in dpu1 rule; ip_in dpu1 -6 rule)
check "and brings rule 0 back" test "$(grep -c "^0:" < <(ip_in dpu1 rule; ip_in dpu1 -6 rule))" -eq 2
leak_end
done_testing
