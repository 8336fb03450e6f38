#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# MTU through the tunnel, at 1500 and at 9000, IPv4 and IPv6: TCP works for hosts that obey
# "too big" and for those that ignore it, with GSO and without; the message goes to the host and nowhere
# else, since the DPU has no route there; packets that are too big cost nothing.
# vm-cost: 80
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-mtu-$$
# The network carries jumbo frames; uplinks begin at 1500.
TRAY_MTU=9000 LAB_MTU=9000
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa tests/vm/lib/workload; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
V4=10.0.2.2 V6=fd00:2::2
WORKLOAD_MODE=police WORKLOAD_BURST=3000000

mtu() { # of the uplinks, of the hosts
	local n
	for n in 1 2; do
		ip_in dpu$n link set p0 mtu "$1"
		ip_in host$n link set h0 mtu "$2"
		in_ns host$n sh -c 'ip route flush cache; ip -6 route flush cache' 2>/dev/null # what they learned
	done
}
attached() { # attaches again for the uplinks' MTU; sets the SAs
	local n
	for n in 1 2; do
		in_ns dpu$n ip xfrm state flush
		in_ns dpu$n ip xfrm policy flush
		[[ ! -v LEAK_RUNS[$n] ]] || leak_pause $n
		tray_load $n detach >/dev/null 2>&1
		tray_attach $n --tunnel bwl0 && tray_apply $n < <(workload_policy $n $((3 - n)) 200 '') || return
	done
	sa_pair 1 2
	sa_usable 1 "$(sa_if_id 1 tray-2)" 3
	sa_usable 2 "$(sa_if_id 2 tray-1)" 3
	in_ns host1 ping -q -c 2 -W 5 $V4 >/dev/null && in_ns host1 ping -q -c 2 -W 5 $V6 >/dev/null
}
big_ping() { # payload destination
	in_ns host1 ping -M do -c 3 -i 0.2 -W 2 -s "$1" "$2" >"$LAB_TMP/ping" 2>&1
}
told() { grep -q 'message too long\|Packet too big\|Frag needed\|mtu = [0-9]\|mtu=[0-9]' "$LAB_TMP/ping" || { sed 's/^/# /' "$LAB_TMP/ping"; false; }; }
iperf() { # destination [options…]: of 4 MB most arrive before the client ends
	lab_bg server host2 timeout 40 iperf3 -s -1
	lab_wait_for 20 in_ns host2 sh -c 'ss -Hltn "sport = :5201" | grep -q .'
	in_ns host1 timeout 35 iperf3 -c "$1" -n 4M -J "${@:2}" >"$LAB_TMP/iperf" 2>&1
	wait "$LAB_PID"
	note "to $1 ${*:2}: $(jq -c '[.end.sum_received.bytes, .end.sum_sent.retransmits, .end.sum_received.seconds, .end.streams[0].sender.max_snd_wnd]' "$LAB_TMP/iperf" 2>/dev/null)"
	jq -e '.end.sum_received.bytes > 1000000' "$LAB_TMP/iperf" >/dev/null 2>&1 ||
		{ tail -n 3 "$LAB_TMP/iperf" | sed 's/^/# /'; return 1; }
}
flows() { # what the network is like
	check "$1: TCP over IPv4" iperf $V4
	check "$1: TCP over IPv6" iperf $V6
	check "$1: from the other side's point of view too" iperf $V4 -R
}
# Host 1 drops "too big" (add), or receives it again (del).
deaf() { # add|del
	if [[ $1 == add ]]; then
		in_ns host1 nft -f - <<-'END'
		table inet deaf {
			chain in {
				type filter hook input priority 0;
				icmp type destination-unreachable drop
				icmpv6 type packet-too-big drop
			}
		}
		END
	else
		in_ns host1 nft delete table inet deaf
	fi
}
segments() { # on|off: GSO in host 1
	in_ns host1 ethtool -K h0 tso "$1" gso "$1" >/dev/null
}

trays_up 2 || exit 1
# The DPU of tray 1 has no route to its host, but one to elsewhere: anything that its own kernel answered would
# leave there.
lab_ns mgmt
lab_veth dpu1 mgmt0 mgmt eth0
ip_in dpu1 addr add 10.250.0.1/24 dev mgmt0
ip_in dpu1 addr add fd00:250::1/64 dev mgmt0 nodad
ip_in dpu1 neigh replace 10.250.0.2 lladdr 02:00:00:00:99:99 dev mgmt0 nud permanent
ip_in dpu1 neigh replace fd00:250::2 lladdr 02:00:00:00:99:99 dev mgmt0 nud permanent
mtu 1500 1500
check "bwlimit attaches, uplinks and hosts at 1500" attached
lab_bg mgmt mgmt tcpdump -nn -i eth0 -Q in -l -e 'not arp and not igmp and not ip6 proto 0 and not (icmp6 and ip6[40] >= 130)'
MGMT=$LAB_PID
lab_wait_for 30 grep -q 'listening on' "$LAB_TMP/mgmt.err"
ip_in dpu1 addr flush dev pf0hpf
ip_in dpu1 route replace default via 10.250.0.2
ip_in dpu1 -6 route replace default via fd00:250::2
for n in 4 6; do ip_in host1 -$n neigh flush dev h0; done
ip_in host1 neigh replace 10.0.1.1 lladdr "$(tray_mac 1 2)" dev h0 nud permanent
ip_in host1 neigh replace fd00:1::1 lladdr "$(tray_mac 1 2)" dev h0 nud permanent
ip_in dpu1 neigh replace 10.0.1.2 lladdr "$(tray_mac 1 1)" dev pf0hpf nud permanent
ip_in dpu1 neigh replace fd00:1::2 lladdr "$(tray_mac 1 1)" dev pf0hpf nud permanent

explains() { # MTU in the tunnel
	tray_ctl 1 --json explain 10.0.1.2 $V4 tcp 80 |
		jq -e --arg mtu "$1" '.reason == "pass" and (.steps[] | select(.step == "size") | .text | contains("tunnel'"'"'s MTU of " + $mtu + " "))' >/dev/null
}
check "explain says what fits the tunnel: 1415, 85 bytes less while no tracker knows better" explains 1415
charged=$(charged_at 1)
refute "a ping of 1500 bytes with DF does not pass" big_ping 1472 $V4
check "and its host is told of the size that does" told
note "$(grep -m 1 -i 'mtu' "$LAB_TMP/ping")"
refute "nor one of IPv6" big_ping 1452 $V6
check "of which the host is told likewise" told
check "they were refused for their size" test "$(frames_of 1 too-big)" -ge 2
check "and cost nothing" test "$(charged_at 1)" -eq "$charged"
capture_start wire s1 s2
marker_start host1 $V4 0.2
check "a ping that fits passes" big_ping 1380 $V4
fragmented_ping() { in_ns host1 ping -q -M dont -c 2 -W 5 -s 1472 "$1" >/dev/null; }
check "one without DF passes in fragments of ESP" fragmented_ping $V4
flows "at 1500"
deaf add
mtu 1500 1500
flows "at 1500, host 1 ignores what it is told"
segments off
check "without GSO" iperf $V4
check "without GSO, IPv6" iperf $V6
segments on
deaf del

mtu 1500 9000
check "hosts at 9000, uplinks at 1500: TCP over IPv4" iperf $V4
check "and IPv6" iperf $V6

marker_stop
check "the capture is whole" capture_stop wire
mtu 9000 9000
check "bwlimit attaches, uplinks and hosts at 9000" attached
check "explain says 8915" explains 8915
capture_start jumbo s1 s2
marker_start host1 $V4 0.2
flows "at 9000"
refute "a ping of 9000 bytes with DF does not pass" big_ping 8972 $V4
check "one of 8800 bytes does" big_ping 8800 $V4
deaf add
mtu 9000 9000
check "at 9000, host 1 ignores what it is told" iperf $V4
check "and with IPv6" iperf $V6

# The SAs are removed, then the policies, while the map says otherwise: the kernel would answer "host unreachable", with
# part of the packet.
for what in state policy; do
	in_ns dpu1 ip xfrm $what flush
	refute "without its $what nothing passes" big_ping 100 $V4
	refute "without its $what nothing passes, IPv6" big_ping 100 $V6
done
marker_stop
lab_stop "$MGMT"
note "on the management port: $(grep -c . "$LAB_TMP/mgmt") frames"
head -n 30 "$LAB_TMP/mgmt" | sed 's/^/# /'
check "nothing about a host's packet left by the management port" test "$(grep -c . "$LAB_TMP/mgmt")" -eq 0

check "and the next" capture_stop jumbo
for c in wire jumbo; do
	check "$c: only ESP, ARP and ND left the trays" capture_only_encrypted $c
	check "$c: the marker never passed in the clear" capture_lacks_marker $c
done
leak_end
done_testing
