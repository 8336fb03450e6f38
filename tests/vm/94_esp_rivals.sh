#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What others add to a packet for the same four limits (destination, zone, port, node) on its way
# from the host port to ESP, in instructions, and what bwlimit adds: less than each.
# vm-long: yes
# vm-timeout: 600
# vm-needs: openvswitch
# vm-icount: yes
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-rival-$$
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa tests/vm/lib/{esp_cost,rivals}; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
less() { jq -en "$1 < $2" >/dev/null; }
declare -A base=() with=() flow=() theirs=()
SIZES=(64 1500)

check "a DPU is made" esp_up
check "with an SA that the bench's own program redirects to" esp_plain_up
check "what comes in is counted" measure_plain plain_drop drop none
check "the way to ESP without a limiter is counted" measure_plain plain_host plain
esp_plain_down
check "bwlimit attaches" esp_attach four_limits --xdp none
check "the way to ESP with it is counted" measure ours
esp_sa_gone
tray_quiet tray_load 1 detach --open

# Theirs stand before the kernel's own forwarding.
forward_up dpu1 10.0.2.0/24
esp_sa 7
check "the way to ESP through the kernel's forwarding is counted" measure base
for rival in police nft; do
	check "$rival limits" ${rival}_up 32000 1000000000 4
	check "what it costs is counted" measure with
	${rival}_down
	for size in "${SIZES[@]}"; do theirs[$rival.$size]=$(jq -n "${with[$size]} - ${base[$size]}"); done
done
check "Open vSwitch forwards without a meter" ovs_up 32000 1000000000 0
check "what it costs is counted" measure flow
ovs_down
check "and with meters" ovs_up 32000 1000000000 4
check "what it costs is counted" measure with
ovs_down
for size in "${SIZES[@]}"; do
	theirs[meters.$size]=$(jq -n "${with[$size]} - ${flow[$size]}")
	theirs[ovs.$size]=$(jq -n "${with[$size]} - ${base[$size]}")
done

for size in "${SIZES[@]}"; do
	mine=$(jq -n "${ours[$size]} - ${plain[$size]}")
	note "$size bytes: bwlimit adds $mine (source check, gate and accounting included), tc flower + 4 police ${theirs[police.$size]}," \
		"  nftables ${theirs[nft.$size]}, 4 OVS meters ${theirs[meters.$size]}, Open vSwitch with its flow ${theirs[ovs.$size]}"
	for rival in police nft ovs; do
		check "$size bytes: bwlimit adds less than $rival" less "$mine" "${theirs[$rival.$size]}"
	done
done
done_testing
