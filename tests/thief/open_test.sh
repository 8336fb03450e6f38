#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The judges can see: with THIEF_OPEN=1 (programs detached, the kernel forwards) every evasion in this
# directory gets through, and its script reports that by a sentence about the promise that it attacks
# ("# breach:", thief.sh), not by a step of its setup. Several run at once: they mostly wait.
# With --floods (open_floods_test.sh): those that need the machine for themselves.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
[[ $(id -u) -eq 0 ]] || { echo "needs root for network namespaces"; exit 77; }
AT_ONCE=4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 143' INT TERM HUP

run() { THIEF_OPEN=1 LAB_FLOODS=$floods timeout 900 "$1" </dev/null >"$tmp/$(basename "$1")" 2>&1; }
# These fill the neighbour table, which all namespaces of a machine share: meanwhile nothing can be resolved.
# (02 does where all is open: what answers its sources makes the DPU ask for each of them.)
alone=" 02_rotating_addresses 24_neighbour_flood 38_remote_fills_neighbours "
scripts=()
for script in "$here"/[0-9]*.sh; do
	if [[ $alone == *" $(basename "$script" .sh) "* ]]; then flood=--floods; else flood=''; fi
	[[ $flood != "${1-}" ]] || scripts+=("$script")
done
[[ -z ${1-} ]] || AT_ONCE=1
floods=${1:+1}
running=0
for script in "${scripts[@]}"; do
	if [[ $running -ge $AT_ONCE ]]; then
		wait -n
		running=$((running - 1))
	fi
	run "$script" &
	running=$((running + 1))
done
wait
for script in "${scripts[@]}"; do
	name=$(basename "$script" .sh) out=$tmp/$(basename "$script")
	breaches=$(grep -c '^# breach: ' "$out")
	seen=$(grep -cE '^ok [12] - (before bwlimit is attached|and every protocol)' "$out")
	note "$name: $breaches sentences broken"
	[[ $breaches -gt 0 && $seen -eq 2 ]] || sed 's/^/#   /' "$out"
	check "$name: without enforcement the theft is seen, its judges having seen before" \
		[ $((breaches > 0 && seen == 2)) -eq 1 ]
done
done_testing
