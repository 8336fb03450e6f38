#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How much of a limit TCP gets in mode shape, and what the limiter drops of it; for comparison, in the same
# guest, other ways to limit. Under --icount the guest carries the same on any machine. Shares
# are of inner frames (Ethernet, without FCS): what the receiver got, times 1514/1448.
# vm-cost: 400
# leak: compares with limiters that send in the clear; 11_pacing has its way
# vm-needs: openvswitch
# vm-icount: yes
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-pace-$$ TRAY_LEAK_WATCH=no
TRAY_MTU=9000
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa tests/vm/lib/{pacing,rivals}; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
declare -A ours=()

shaped() { # which TCP, options of iperf3…: gets its limit
	local label="shape, $1"
	check "TCP runs under shape ($1)" pacing_limited "$label" $flows "${@:2}"
	check "$label, $flows flow(s), $rate Mbit/s: 95 % of the limit or more, with $capacity to be had" at_least "$share" 0.95
	check "and never more than all of it" at_least 1.005 "$share"
}
# Retransmissions that remain (tail loss probes) are for packets that are only waiting.
none_lost() { check "and the limiter refuses nothing" test "$refused" -eq 0; }
pacing_up 100us --pace || exit 1
rate=1000
check "TCP passes through ESP" pacing_tcp "what this guest carries at all" 1
capacity=$(jq -n "$share * 1000")
for rate in 20 50; do
	check "shape at $rate Mbit/s" pacing_limits $rate shape
	for flows in 1 8; do
		pacing_hosts net.ipv4.tcp_ecn=1
		shaped "cubic with ECN"
		none_lost
		pacing_hosts net.ipv4.tcp_ecn=0
		shaped "cubic without ECN, window within burst and horizon" -w 32K
		none_lost
		shaped "cubic without ECN"
		ours[$rate.$flows]=$retrans
	done
done
for n in 1 2; do
	tray_quiet tray_load $n detach --open
	forward_up dpu$n 10.0.$((3 - n)).0/24
done
pacing_sas 7 7
for rate in 20 50; do
	for rival in police nft ovs; do
		check "$rival limits instead" ${rival}_up $rate $((rate * 31250)) 1 # 250 ms of burst, as mode police has
		for flows in 1 8; do
			check "TCP runs under $rival" pacing_tcp "$rival, cubic without ECN" $flows
			check "and retransmits more than under shape: ${ours[$rate.$flows]}" test "$retrans" -gt "${ours[$rate.$flows]}"
		done
		${rival}_down
	done
done
done_testing
