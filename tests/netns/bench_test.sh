#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each bench runs, prints its rows and valid JSON with the machine, and refuses what it cannot do.
# Nothing is said of times: a bench in a test has too few rounds and other work beside it.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BWL_BUILD:-${here%/*/*}/build/release}
bench=$build/bench
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

machine='(.machine | .cpu != "" and .cpus >= 1 and .kernel != "" and (.clang | test("clang")) and (.mitigations | type) == "object")'
# Small, and reported whatever else runs.
declare -A few=(
	[cost]='--rounds 1 --packets 2000 --peers 50 --anyway'
	[e2e]='--rounds 1 --packets 2000 --destinations 50 --anyway'
	[scale]='--rounds 1 --packets 2000 --anyway'
	[apply]='--peers 50 --edits 3'
	[history]='--peers 5 --hours 1'
)
declare -A rows=(
	[cost]='.ratio_one > 0 and .ns.floor_one > 0 and .spread.ratio_turn.min <= .spread.ratio_turn.max'
	[e2e]='(.rows | length) == 12 and ([.rows[].what] | unique | length) == 6 and .rows[0].ns > 0'
	[apply]='.rows[0].peers == 50 and .rows[0].set_seen_spread_ms.min > 0'
	[history]='.rows[0].peers == 5'
)
rows[scale]='(.rows | map(select(.what == "pipeline") | {peers, refused}) | unique | length) == 4 and
	(.rows | all(.ns_per_packet > 0 and .times_one > 0 and .cpus >= 1)) and
	(.rows | map(.cpus) | max) == .machine.cpus and
	(.rows | map(select(.cpus == 1 and .way == "veth")) | length) == (if .veth then 3 else 0 end)'
declare -A table=([cost]='ratio to the floor' [e2e]='nftables, the same work' [apply]='until seen'
	[history]='hour 1 of 5 peers')

rigs() { compgen -G '/sys/fs/bpf/bwl-rig-*'; }
before=$(rigs)

refuses() { # bench option…: status 2, and how it is used on stderr
	"$bench/bench-$1" "${@:2}" >"$tmp/out" 2>"$tmp/err"
	[[ $? -eq 2 && ! -s $tmp/out ]] && grep -q "^usage: bench-$1" "$tmp/err"
}
prints() { # bench text
	local option
	read -ra option <<<"${few[$1]}"
	"$bench/bench-$1" "${option[@]}" >"$tmp/out" 2>"$tmp/err" && grep -q "$2" "$tmp/out" &&
		grep -q '^CPU: ' "$tmp/out" && grep -q '^kernel: .*clang' "$tmp/out" ||
		{ note "$(head -20 "$tmp/out" "$tmp/err")"; return 1; }
}
says_json() { # bench condition
	local option
	read -ra option <<<"${few[$1]}"
	"$bench/bench-$1" "${option[@]}" --json >"$tmp/out" 2>"$tmp/err" &&
		jq -e "$machine and ($2)" "$tmp/out" >/dev/null ||
		{ note "$(head -20 "$tmp/out" "$tmp/err")"; return 1; }
}
helps() { # bench
	"$bench/bench-$1" --help >"$tmp/out" 2>"$tmp/err" && grep -q "^usage: bench-$1" "$tmp/out" &&
		grep -q 'Example' "$tmp/out" && [[ ! -s $tmp/err ]]
}
says_how() { # bench option value: which number it takes
	grep -q -- "bench-$1: $2 $3: a number from" <("$bench/bench-$1" "$2" "$3" 2>&1)
}

for name in cost e2e scale apply history esp machine; do
	check "bench-$name says how it is used, with an example" helps "$name"
	check "bench-$name refuses an option that it does not know" refuses "$name" --nonsense
done
for name in cost e2e scale apply history; do
	[[ ! ${table[$name]-} ]] ||
		check "bench-$name prints a table and what it was measured on" prints "$name" "${table[$name]}"
	check "bench-$name says the same as JSON" says_json "$name" "${rows[$name]}"
	check "bench-$name refuses a word behind its options" refuses "$name" extra
done
for name in cost e2e scale; do
	check "bench-$name refuses rounds that are no number" refuses "$name" --rounds 3x
	check "bench-$name says which numbers it takes" says_how "$name" --rounds 0
done
check "bench-apply refuses no peers" refuses apply --peers 0
check "bench-scale refuses more CPUs than there are" refuses scale --cpus 4097
header() { "$bench/bench-machine" --json | jq -e "$machine" >/dev/null; }
check "bench-machine says the header alone as JSON" header
# Its table is of one CPU: loading the programs is what takes time here.
one_cpu() {
	taskset -c 0 "$bench/bench-scale" --rounds 1 --packets 2000 --no-veth --anyway >"$tmp/out" 2>"$tmp/err" &&
		grep -q '^CPU: ' "$tmp/out" && grep -q '^pipeline, same peer  *1 ' "$tmp/out" &&
		! grep -q '^pipeline, same peer  *2 ' "$tmp/out" && grep -q '^no model: ' "$tmp/out" &&
		grep -q '^no rows of veth: ' "$tmp/out" || { note "$(head -20 "$tmp/out" "$tmp/err")"; return 1; }
}
check "bench-scale prints a table, without a second CPU and without veth" one_cpu
left() { [[ $(rigs) == "$before" ]]; }
check "nothing is left of them in bpffs" left
done_testing
