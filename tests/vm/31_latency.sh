#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How long packets are delayed, through real ESP and fq: the field that carries the time survives the tunnel device,
# encryption and the segmentation of GSO packets, and every packet still has it at the last gate.
# vm-cost: 50
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-late-$$
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../../vm-testbed/topo/trays.sh
. "$BWL_SOURCE/vm-testbed/topo/trays.sh"
# shellcheck source=../../vm-testbed/topo/manual_sa.sh
. "$BWL_SOURCE/vm-testbed/topo/manual_sa.sh"

latency() { tray_ctl 1 --json latency show tray-2 | jq -c ".peers[0] | $1"; }
esp_left() { tray_ctl 1 --json reasons | jq '[.reasons[] | select(.port == "p0" and .hook == "gate" and .reason == "pass-esp") | .frames] | add // 0'; }
sent() { tray_ctl 1 --json reasons | jq '[.reasons[] | select(.port == "pf0hpf" and (.reason | startswith("pass")) and .reason != "pass-neighbour") | .frames] | add // 0'; }

trays_up 2 || exit 1
for n in 1 2; do
	check "tray $n attaches, measures, and has fq" tray_attach $n --tunnel bwl0 --pace --latency on
	check "and takes a policy of mode shape" tray_apply $n < <(sa_tray_policy $n "grant: { rate: 10mbit, burst: 80kb, mode: shape }")
done
paced=$(tray_load 1 probe --json | jq '.features[] | select(.id == "departure-times") | .works')
sa_pair 1 2
sa_usable 1 "$(sa_if_id 1 tray-2)" 3
sa_usable 2 "$(sa_if_id 2 tray-1)" 3
in_ns host1 ping -q -c 2 -W 2 10.0.2.2 >/dev/null
check "the peer is measured by name" tray_ctl 1 latency on tray-2
esp=$(esp_left) packets=$(sent)
check "pings pass" in_ns host1 ping -q -c 20 -i 0.05 -s 1200 -W 2 10.0.2.2
check "each that passed is counted in shape" test "$(latency .shape.frames)" -eq $(($(sent) - packets))
check "and as ESP at the last gate" test "$(latency .gate.frames)" -eq $(($(esp_left) - esp))
check "of none it is unknown when it came" test "$(latency .unmatched_frames)" -eq 0
check "none of them waited" test "$(latency '.shape.sum_s == 0')" = true
note "host port to gate, ESP by software: $(latency '.gate | .sum_s / .frames * 1e6') us a packet: $(latency .gate.bins)"
check "encryption takes more than a microsecond, and less than a second" \
	sh -c "echo '$(latency .gate)' | jq -e '.sum_s / .frames | . > 1e-6 and . < 1' >/dev/null"

packets=$(sent) esp=$(esp_left) before=$(latency '[.shape.frames, .gate.frames]')
in_ns host2 iperf3 -s -1 -D >/dev/null
in_ns host1 timeout 60 iperf3 -c 10.0.2.2 -t 4 -J >"$LAB_TMP/tcp"
check "TCP passes" jq -e '.end.sum_received.bytes > 100000' "$LAB_TMP/tcp"
after=$(latency '[.shape.frames, .gate.frames]')
check "GSO packets: each is counted once in shape" test "$(jq -n "$after[0] - $before[0]")" -eq $(($(sent) - packets))
check "and each segment at the gate, by the time of the whole" test "$(jq -n "$after[1] - $before[1]")" -eq $(($(esp_left) - esp))
check "of none it is unknown when it came" test "$(latency .unmatched_frames)" -eq 0
note "shape: $(latency .shape.bins), gate: $(latency .gate.bins)"
if [[ $paced == true ]]; then
	check "what is over the burst waits for its time, and no longer than the horizon" \
		test "$(latency '.shape | (.bins | map(select(.up_to_s > 0.001 or .up_to_s == null) | .frames) | add // 0) > 10 and all(.bins[]; .up_to_s != null and .up_to_s < 0.6)')" = true
	check "fq held packets back" sh -c "tc -n $LAB-dpu1 -s qdisc show dev p0 | grep -o 'throttled [0-9]*' | grep -qv 'throttled 0'"
else
	check "where the kernel forgets departure times none waits" test "$(latency '.shape.sum_s == 0')" = true
fi
# fq (6.7) counts by bands, chosen by the priority. The last gate cleared the time in it: no packet is in another band.
check "nothing of it is left in the queue" sh -c "! tc -n $LAB-dpu1 -s qdisc show dev p0 | grep -E 'band[02]_pkts [1-9]'"
check "switched off under traffic" sh -c "BWLIMIT_PIN_DIR=$LAB_PINS/tray1 nsenter --net=/run/netns/$LAB-dpu1 '$LOAD' upgrade --latency off"
before=$(latency '[.shape.frames, .gate.frames]')
check "packets pass" in_ns host1 ping -q -c 3 -i 0.2 -W 2 10.0.2.2
check "and nothing is counted" test "$(latency '[.shape.frames, .gate.frames]')" = "$before"
leak_end
done_testing
