#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each bench runs, prints its rows and valid JSON with the machine, and refuses what it cannot do.
# Times are not judged: a bench in a test has too few rounds, and other processes run at the same time.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BWL_BUILD:-${here%/*/*}/build/release}
bench=$build/bench
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

machine='(.machine | .cpu != "" and .cpus >= 1 and .kernel != "" and (.clang | test("clang")) and (.mitigations | type) == "object")'
# Small, and reported whatever else is running.
declare -A few=(
	[cost]='--rounds 1 --packets 2000 --peers 50 --anyway'
	[e2e]='--rounds 1 --packets 2000 --destinations 50 --anyway'
	[scale]='--rounds 1 --packets 2000 --anyway'
	[apply]='--peers 50 --edits 3'
	[history]='--peers 5 --hours 1'
	[fleet-numbers]='--trays 50 --peers 5'
)
# One round is too few to judge a goal. Which packets passed and which were refused is checked by the benches
# themselves with the counters; what they do if it does not match a row is tested below.
declare -A rows=(
	[fleet-numbers]='(.rows | map(.document)) == ["fleet-status?limit=50&sort=worst", "fleet-status?limit=50&sort=passed&offset=9900", "fleet-status", "top", "usage",
		"reasons", "fleet-history", "fleet-closures", "exfil?size=1tb"] and (.rows | all(.bytes > 100 and .cpu_ms.median >= 0)) and .set_kib > 0 and .take_tray_us > 0'
	[cost]='(.rows | map({(.row): .goal}) | add | with_entries(select(.value))) == {
		"pipeline-one": 1.2, "pipeline-turn": 1.5, "volume-one": 1.5, "volume-turn": 1.7,
		"refused-peer": 0.8, "refused-zone": 0.8, "refused-port": 0.8, "refused-node": 0.8,
		"refused-node-turn": 0.8, "offload-one": 1.2, "offload-turn": 1.5, "offload-refused": 0.8 } and
		(.rows | all(.ns != null and .met == null and (.over == null or .ratio > 0))) and
		([.rows[].row] | contains(["saturated-peer", "no-peer", "xdp-no-peer", "prefix4-one", "prefix4-turn", "prefix6-one",
			"prefix6-turn", "floor-one", "floor-turn", "latency-one", "gate-one", "latency-gate"])) and .steady == false'
	[e2e]='(.rows | length) == 16 and (.rows | map(select(.goal == 0.6) | [.what, .destinations])) == [
		["bwlimit-tc", 1], ["bwlimit", 1], ["bwlimit-generic", 1], ["offload", 1],
		["bwlimit-tc", 50], ["bwlimit", 50], ["bwlimit-generic", 50], ["offload", 50]] and
		(.rows | map(select(.over == null) | .what) | unique) == ["bare", "xdp-bare"] and
		(.rows | all(.met == null)) and .rows[0].ns > 0'
	[apply]='.rows[0].peers == 50 and .rows[0].set_seen_spread_ms.min > 0'
	[history]='.rows[0].peers == 5'
)
rows[scale]='.veth as $veth | .machine.cpus as $cpus |
	(.rows | map(select(.way == "test_run" and .peers != "none" and .what != "floor")
		| [.what, .peers, .refused]) | unique | length) == 18 and
	(.rows | map(select(.what == "offload" and .way == "xdp_test_run") | [.peers, .refused]) | unique | length) == 4 and
	(.rows | all(.ns_per_packet > 0 and .times_one > 0 and .of_yardstick > 0 and .cpus >= 1 and .met == null)) and
	(.rows | map(.cpus) | max) == $cpus and
	(.rows | all(.goal == (if .cpus > 1 and (.way | test("veth") | not) and
		(.what | IN("police", "mark", "monitor", "volume", "offload")) then 0.95 else null end))) and
	(.rows | map(select(.cpus == 1 and (.way | test("veth")))) | length) == (if $veth then 10 else 0 end)'
declare -A table=([cost]='pipeline-one .* <= 1.20 ?' [e2e]='^offload .* <= 0.60 ?' [apply]='until seen'
	[history]='hour 1 of 5 peers')

rigs() { # whose bench has ended: others run in other clones
	local rig pid
	for rig in /sys/fs/bpf/bwl-rig-*; do
		pid=${rig#*-rig-}
		[[ ! -e $rig || -d /proc/${pid%%-*} ]] || echo "$rig"
	done
}
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
		grep -q '^examples:' "$tmp/out" && [[ ! -s $tmp/err ]]
}
says_how() { # bench option value: which number it takes
	grep -q -- "bench-$1: $2 $3: a number from" <("$bench/bench-$1" "$2" "$3" 2>&1)
}

for name in cost e2e scale apply history esp machine fleet-numbers; do
	check "bench-$name says how it is used, with an example" helps "$name"
	check "bench-$name refuses an option that it does not know" refuses "$name" --nonsense
done
for name in cost e2e scale apply history fleet-numbers; do
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

only() { # bench rows expected-names…: these alone, and what they are compared with
	"$bench/bench-$1" --rounds 1 --packets 2000 --anyway --json --only "$2" >"$tmp/out" 2>"$tmp/err" &&
		[[ $(jq -r '[.rows[] | .row // .what] | unique | join(" ")' "$tmp/out") == "$3" ]] ||
		{ note "$(head -20 "$tmp/out" "$tmp/err")"; return 1; }
}
check "a row of bench-cost is measured alone" only cost volume-turn 'empty floor-turn turn volume-turn'
check "rows by the beginning of their names" only cost prefix6-one,refused-node \
	'empty floor-one floor-prefix6-one pipeline-one prefix6-one refused-node'
check "a row of bench-scale is measured alone" only scale mark-same,offload-refused-different \
	'empty mark-same offload-refused-different xdp-empty'
few_destinations() { # of a million there are many to make
	"$bench/bench-e2e" --destinations 1 --rounds 1 --packets 2000 --anyway --json --only offload \
		>"$tmp/out" 2>"$tmp/err" &&
		jq -e '[.rows[].what] == ["bare", "nftables", "nftables-limit", "xdp-bare", "offload"]' "$tmp/out" >/dev/null ||
		{ note "$(head -20 "$tmp/out" "$tmp/err")"; return 1; }
}
check "a row of bench-e2e is measured alone" few_destinations
for name in cost e2e scale; do
	check "bench-$name refuses a row that it does not have" refuses "$name" --only pipe,nonsense
	lists() { grep -q "^rows:" <("$bench/bench-$name" --help); }
	check "bench-$name lists its rows" lists
done

# The policy is closed while it is measured. Packets that then end cheaply must not look like a fast limiter.
closed() { # command bench row option…
	local pid rc dir close
	read -ra close <<<"$1"
	"$bench/bench-$2" --only "$3" --rounds 1000 --anyway "${@:4}" >"$tmp/out" 2>"$tmp/err" &
	pid=$! dir=/sys/fs/bpf/bwl-rig-$!-0
	until BWLIMIT_PIN_DIR=$dir "$build/ctl/bwlimit-ctl" "${close[@]}" >/dev/null 2>&1 || ! kill -0 "$pid"; do sleep 0.05; done
	wait "$pid"
	rc=$?
	[[ $rc -eq 1 && ! -s $tmp/out ]] || { note "status $rc" "$(head -20 "$tmp/out" "$tmp/err")"; return 1; }
}
check "bench-cost fails when what should pass does not" closed stop cost pipeline-one --peers 50
check "bench-cost fails when a flood is refused by another than the row says" \
	closed 'revoke tight-50' cost refused-peer --peers 50
says_which() { grep -q 'refused-peer: .* revoked; expected peer-rate' "$tmp/err"; }
check "and says by which" says_which
check "bench-cost fails when path offload does not carry" closed stop cost offload-one --peers 50
check "bench-scale fails when what should pass does not" closed stop scale police-same --packets 1000
check "bench-e2e fails when what should pass does not" closed stop e2e bwlimit --destinations 1 --packets 2000
header() { "$bench/bench-machine" --json | jq -e "$machine" >/dev/null; }
check "bench-machine says the header alone as JSON" header
# Its table is for one CPU: loading the programs takes most of the time here.
one_cpu() {
	taskset -c 0 "$bench/bench-scale" --rounds 1 --packets 2000 --no-veth --anyway >"$tmp/out" 2>"$tmp/err" &&
		grep -q '^CPU: ' "$tmp/out" && grep -q '^police-same  *1 ' "$tmp/out" &&
		! grep -q '^police-same  *2 ' "$tmp/out" && grep -q '^no model: ' "$tmp/out" &&
		grep -q '^no rows of veth: ' "$tmp/out" || { note "$(head -20 "$tmp/out" "$tmp/err")"; return 1; }
}
check "bench-scale prints a table, without a second CPU and without veth" one_cpu
left() { [[ $(rigs) == "$before" ]]; }
check "nothing is left of them in bpffs" left
done_testing
