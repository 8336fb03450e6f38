#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Mode shape through ESP: departure times reach fq on the uplink, below the tunnel device. What share of a limit TCP
# gets depends on the machine, so 93_pacing judges it, by a clock that counts instructions.
# vm-cost: 80
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-shape-$$
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../../vm-testbed/topo/trays.sh
. "$BWL_SOURCE/vm-testbed/topo/trays.sh"
# shellcheck source=../../vm-testbed/topo/manual_sa.sh
. "$BWL_SOURCE/vm-testbed/topo/manual_sa.sh"
RATE_MBIT=20

granted() { sa_tray_policy "$1" "grant: { rate: ${2}mbit, mode: shape }"; } # tray rate
# Sets carried: the L2 bytes that tray 1 charged while TCP ran, and allowed: rate × T + burst + horizon. T is never too
# short: it is from before the first reading to after the second.
tcp() { # flows
	local before after
	in_ns host2 iperf3 -s -1 -D >/dev/null
	lab_bg tcp host1 timeout 60 iperf3 -c 10.0.2.2 -P "$1" -t 8 -J
	sleep 2 # past slow start and the burst
	before=$(charged) refused=$(reason_frames peer-rate)
	sleep 5
	after=$(charged) refused=$(($(reason_frames peer-rate) - refused))
	wait "$LAB_PID"
	read -r carried allowed burst < <(tray_ctl 1 --json peer show tray-2 | jq -r --argjson a "$before" --argjson b "$after" '
		(.grant.rate_bits_per_second / 8) as $rate | [$b.bytes - $a.bytes,
			((($b.to - $a.from) / 1e9 + .horizon_s) * $rate + .grant.burst_bytes | floor), .grant.burst_bytes] | @tsv')
	note "$1 flows: $carried L2 bytes of $allowed, $(jq '.end.sum_sent.retransmits' "$LAB_TMP/tcp") retransmissions, $refused frames refused"
}
charged() {
	local from bytes
	from=$(date +%s%N)
	bytes=$(tray_ctl 1 --json reasons | jq '[.reasons[] | select(.port == "pf0hpf" and .reason == "pass") | .charged_bytes] | add')
	echo "{\"from\": $from, \"bytes\": $bytes, \"to\": $(date +%s%N)}"
}
reason_frames() {
	tray_ctl 1 --json reasons | jq "[.reasons[] | select(.port == \"pf0hpf\" and .reason == \"$1\") | .frames] | add // 0"
}
mode_in_force() { tray_ctl 1 --json peer show tray-2 | jq -r .mode_in_force; }

trays_up 2 || exit 1
for n in 1 2; do
	check "tray $n attaches, with fq on its uplink" tray_attach $n --tunnel bwl0 --pace
	check "and takes a policy of mode shape" tray_apply $n < <(granted $n 1000)
done
if ! tray_load 1 probe --json | jq -e '.features[] | select(.id == "departure-times") | .works' >/dev/null; then
	tc -n "$LAB-dpu1" qdisc replace dev p0 root fq
	tray_quiet tray_attach 1 --tunnel bwl0 --pace
	check "on a kernel that forgets departure times shape polices, with fq, too" test "$(mode_in_force)" = police
	tray_ctl 1 peer show tray-2 >"$LAB_TMP/shown"
	tray_load 1 verify >>"$LAB_TMP/shown"
	check "and peer show says so" grep -q 'shape (polices: the kernel forgets departure times' "$LAB_TMP/shown"
	check "and verify" grep -q 'forgets departure times.*of mode shape .* policed' "$LAB_TMP/shown"
	done_testing
	exit
fi
check "the qdisc is fq beneath mq" sh -c "tc -n $LAB-dpu1 qdisc show dev p0 | tee /dev/stderr | grep -c 'qdisc fq ' | grep -qx 2"
check "shape is in force" test "$(mode_in_force)" = shape
sa_pair 1 2
sa_usable 1 "$(sa_if_id 1 tray-2)" 3
sa_usable 2 "$(sa_if_id 2 tray-1)" 3
in_ns host1 ping -q -c 2 -W 2 10.0.2.2 >/dev/null

# If the guest carries no more than this without the limit, the limit is not seen to hold.
tcp 1
without=$carried
for n in 1 2; do
	check "tray $n takes the limit" tray_apply $n < <(granted $n $RATE_MBIT)
done
for flows in 1 8; do
	tcp $flows
	check "$flows TCP flows carry no more than rate × T, the burst and the horizon" test "$carried" -le "$allowed"
	check "and more than the burst" test "$carried" -gt "$burst"
done
sentence="without the limit one flow carried more than that"
if [[ $without -gt $allowed ]]; then ok "$sentence"; else skip "$sentence" "this guest carries only $without bytes of $allowed"; fi
for n in 1 2; do tray_ctl $n reasons | sed 's/^/# /'; done
tc -n "$LAB-dpu1" -s qdisc show dev p0 | sed 's/^/# /'
check "fq held packets back" sh -c "tc -n $LAB-dpu1 -s qdisc show dev p0 | grep -o 'throttled [0-9]*' | grep -qv 'throttled 0'"

BWLIMIT_PIN_DIR=$LAB_PINS/tray1 lab_bg watch dpu1 "$IPSECD" track
tc -n "$LAB-dpu1" qdisc replace dev p0 root pfifo
in_force() { [[ $(mode_in_force) == "$1" ]]; }
check "when fq is taken away while it runs, shape polices and says so" lab_wait_for 20 in_force police
check "attach --pace puts it back" tray_attach 1 --tunnel bwl0 --pace
check "and shape is in force again" lab_wait_for 20 in_force shape
leak_end
done_testing
