#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Under --icount a guest nanosecond is an executed instruction: costs are counts that do
# not depend on the machine or its other load.
# vm-cost: 30
# leak: no frames leave
# vm-icount: yes
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
BWL_BUILD=${BWL_BUILD:-$BWL_SOURCE/build/release}
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"

# Instructions per packet: empty program, floor, pipeline with one peer, with a hundred in turn. Rounds
# are shorter than a timer tick (4 ms), so most contain none, and the median is of those.
measure() {
	"$BWL_BUILD/bench/bench-cost" --only pipeline --peers 100 --rounds 31 --packets 300 --json |
		jq -r '[.rows[] | {(.row): .ns | round}] | add |
			"\(.empty) \(."floor-one") \(."pipeline-one") \(."pipeline-turn")"'
}
read -ra first < <(measure)
read -ra second < <(measure)
note "instructions a packet: empty program ${first[0]}, floor ${first[1]}, pipeline ${first[2]}," \
	"  a hundred peers in turn ${first[3]}"
note "measured again: ${second[*]}"
# A hash map's seed is random: each entry before ours in its bucket costs 5 instructions.
same() {
	local i d
	for i in 0 1 2 3; do
		d=$((${first[i]:-0} - ${second[i]:-0}))
		[[ ${first[i]:-0} -gt 0 && ${d#-} -le 15 ]] || return
	done
}
check "two measurements count the same instructions a packet" same
check "the guest has one CPU, whose clock they are" [ "$(nproc)" -eq 1 ]
done_testing
