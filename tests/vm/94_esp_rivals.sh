#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What other limiters add to a packet for the same limits (destination's; destination, zone, port, node) on its
# path from the host port to ESP, in instructions, and what bwlimit adds: less than OVS, and, with four limits and
# without XDP, less than tc's police. For one limit, a limiter with no source check, last gate or accounts adds less:
# that is printed, not checked.
# vm-cost: 400
# leak: compares with limiters that send in the clear
# vm-needs: openvswitch
# vm-icount: yes
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-rival-$$ TRAY_LEAK_WATCH=no
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa tests/vm/lib/{esp_cost,rivals}; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
less() { jq -en "$1 < $2" >/dev/null; }
LIMITS=([1]=one_limit [4]=four_limits)
declare -A base=() with=() mine=() theirs=()
SIZES=(64 1500)

check "a DPU is made" esp_up
check "with an SA that the bench's own program redirects to" esp_plain_up
check "what comes in is counted" measure_plain plain_drop drop none
check "the way to ESP without a limiter is counted" measure_plain plain_host plain
esp_plain_down
for n in 1 4; do
	for xdp in none auto; do
		check "bwlimit attaches with $n of the limits and XDP $xdp" esp_attach "${LIMITS[$n]}" --xdp $xdp
		check "the way to ESP with it is counted" measure ours
		for size in "${SIZES[@]}"; do mine[$xdp.$n.$size]=$(jq -n "${ours[$size]} - ${plain[$size]}"); done
		esp_sa_gone
		tray_quiet tray_load 1 detach --open
	done
done

# The others run before the kernel's own forwarding.
forward_up dpu1 10.0.2.0/24
esp_sa 7
check "the way to ESP through the kernel's forwarding is counted" measure base
added_by() { # rival n
	for size in "${SIZES[@]}"; do theirs[$1.$2.$size]=$(jq -n "${with[$size]} - ${base[$size]}"); done
}
for n in 1 4; do
	for rival in police nft; do
		check "$rival limits, $n" ${rival}_up 32000 1000000000 $n
		check "what it costs is counted" measure with
		${rival}_down
		added_by $rival $n
	done
done
for n in 0 1 4; do
	check "Open vSwitch forwards with $n meters" ovs_up 32000 1000000000 $n
	check "what it costs is counted" measure with
	ovs_down
	added_by ovs $n
done

for size in "${SIZES[@]}"; do
	for n in 1 4; do
		note "$size bytes, $n of the limits: bwlimit adds ${mine[auto.$n.$size]}, without XDP ${mine[none.$n.$size]} (source check, gate and" \
			"  accounting included)," \
			"  tc flower + police ${theirs[police.$n.$size]}, nftables ${theirs[nft.$n.$size]}, Open vSwitch with meters" \
			"  ${theirs[ovs.$n.$size]} (its flow alone ${theirs[ovs.0.$size]})"
		for rival in ovs $([[ $n -eq 1 ]] || echo police); do
			for xdp in none $([[ $rival == police ]] || echo auto); do
				check "$size bytes, $n of the limits, XDP $xdp: bwlimit adds less than $rival" \
					less "${mine[$xdp.$n.$size]}" "${theirs[$rival.$n.$size]}"
			done
		done
	done
done
done_testing
