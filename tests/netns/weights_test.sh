#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A zone that is shared by weight, with real traffic to two destinations: what arrives at their own interfaces, as ratios, and
# never more than the zone's rate and burst.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-weights-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up && lab_attach || exit 1
for n in 1 2; do lab_iperf_server d$n 5201; done

RATE=40 BURST=1250000 # Mbit/s, bytes
policy() { # share, weight of the second
	local weight=${2:+"weight: $2, "}
	lab_policy_head < <(
		echo "zones: { z: { rate: ${RATE}mbit, burst: ${BURST}b, share: $1 } }"
		echo peers:
		lab_peer one 1 'zone: z, grant: { rate: 1gbit }'
		lab_peer two 2 "zone: z, ${weight}grant: { rate: 1gbit }"
	) | lab_apply
}
sends() { # destination Mbit/s: until it is stopped
	local rc
	LAB_PID=
	lab_wait_for 10 begun "$1" "$2" $(($(arrived "$1") + 100000))
	rc=$?
	clients+=("$LAB_PID")
	return $rc
}
# A client that was refused, as the server opens another socket after each, comes again.
begun() { # destination Mbit/s bytes
	{ [[ $LAB_PID ]] && kill -0 "$LAB_PID" 2>/dev/null; } ||
		lab_bg "client$1" host timeout 120 iperf3 -c "$(lab_dest4 "$1")" -u -b "$2M" -l 1400 -t 100
	passes "$1" "$3"
}
arrived() { lab_rx "d$1" eth0 | cut -d' ' -f1; } # destination: bytes
passes() { [[ $(arrived "$1") -ge $2 ]]; }
stop_all() {
	local pid
	for pid in "${clients[@]}"; do lab_stop "$pid"; done
	clients=()
}
clients=()
dropped() { in_dpu "$CTL" stats "$1" --json | jq '.peers[0].dropped_frames'; } # peer

# What arrives in some seconds, after the bursts: sets one, two (bytes) and ns, which is not less than the time of both.
measure() { # seconds
	local from
	sleep 2
	from=$(date +%s%N)
	one=$(arrived 1) two=$(arrived 2)
	sleep "$1"
	one=$(($(arrived 1) - one)) two=$(($(arrived 2) - two))
	ns=$(($(date +%s%N) - from))
	note "$((one * 8000 / ns)) and $((two * 8000 / ns)) Mbit/s arrived, of $RATE"
}
within_bound() { (((one + two - BURST) * 8000 <= RATE * ns)); }
# At least this many per cent of the zone's rate.
fills() { (((one + two) * 8000 >= RATE * ns / 100 * $1)); }

# A busy machine does not always send as told: it is tried again until it has, which ten minutes end.
begin_tries() { tries_end=$((SECONDS + 600)); }
again() { [[ $SECONDS -lt $tries_end ]]; }
by_weight() {
	local good=false
	begin_tries
	while again; do
		sends 1 $((RATE * 2)) && sends 2 $((RATE * 2)) && measure 5
		stop_all
		within_bound || return 1
		fills 90 && ((two * 10 >= one * 25 && two * 10 <= one * 35)) && good=true && break
	done
	$good
}
policy weighted 3 || exit 1
check "two that send twice the zone's rate have it 1 to 3, and no more together than its rate and burst" by_weight

policy weighted || exit 1
beside() { # a greedy one, ten times the rate; the modest one is at a tenth of its portion
	local rc=0
	before=$(dropped two)
	{ sends 2 $((RATE / 20)) && sends 1 $((RATE * 10)) && measure 5; } || rc=1
	stop_all
	lost=$(($(dropped two) - before))
	note "two lost $lost frames"
	return $rc
}
# After a pause iperf3 sends at once what it has missed: more than the portion's burst, of which some is lost.
spared() {
	begin_tries
	while again; do
		beside || return
		[[ $lost -gt 0 ]] || break
	done
}
check "a greedy and a modest one send" spared
check "the modest one loses nothing" [ "$lost" -eq 0 ]
check "the greedy one loses some" [ "$(dropped one)" -gt 0 ]
check "both have no more than the zone's rate and burst" within_bound
alone() {
	begin_tries
	while again; do
		sends 1 $((RATE * 2)) && measure 4
		stop_all
		within_bound || return 1
		fills 90 && return
	done
	return 1
}
check "one alone has the whole rate" alone
check "explain says what is beyond the portion" sh -c \
	"nsenter --net=/run/netns/$LAB-dpu '$CTL' explain '$HOST4' '$(lab_dest4 1)' | grep -q 'portion.*weight 1'"
check "peer show has weight and portion" sh -c \
	"nsenter --net=/run/netns/$LAB-dpu '$CTL' peer show one | grep -q 'zone  *z, weight 1: 19.8mbit of it'"
check "peer show has them for programs" [ "$(in_dpu "$CTL" peer show one --json | jq -c '[.weight, .portion_bits_per_second]')" = '[null,19800000]' ]
check "zone list says how it is shared" [ "$(in_dpu "$CTL" zone list --json | jq -r '.zones[0].share')" = weighted ]
check "a policy with other weights differs by them" sh -c "sed 's/grant: { rate: 1gbit }/weight: 9, &/' '$LAB_TMP/policy.yaml' >'$LAB_TMP/other.yaml'
	nsenter --net=/run/netns/$LAB-dpu '$CTL' policy diff '$LAB_TMP/other.yaml' | grep -q 'weight.*9'"

# The same without weights, otherwise the test would show nothing.
policy first-come || exit 1
check "first come, first served: a greedy and a modest one send" beside
check "first come, first served: the modest one loses some" [ "$lost" -gt 0 ]
live "the greedy one has ended"
check "it is as before: first-come" [ "$(in_dpu "$CTL" zone list --json | jq -r '.zones[0].share')" = first-come ]
done_testing
