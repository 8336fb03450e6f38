#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tracker with a thousand peers, and with more notifications than its socket holds.
# vm-cost: 60
# live: no packets: what the tracker learns
# leak: no frames
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-many-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$BWL_SOURCE/tests/harness/lab.sh"
# shellcheck source=lib/xfrm.sh
. "$BWL_SOURCE/tests/vm/lib/xfrm.sh"
LAST=2047 # peers that fit

lab_up || exit 1
check "bwlimit attaches with room for two thousand peers" attach hpf0 --max-peers $((LAST + 1))
many() {
	local n
	for ((n = 0; n < 1000; n++)); do
		echo "  - { name: p$n, addresses: [10.$((200 + n / 250)).$((n % 250)).0/24]," \
			"ipsec: { remote: 198.18.$((n / 250)).$((n % 250 + 1)) }, grant: { rate: 1mbit, mode: police } }"
	done
}
check "a policy with 1000 encrypted peers holds" apply < <(many)
in_dpu "$CTL" ipsec track --dry-run --json | jq -r '.peers[] | [.peer, .if_id] | @tsv' >"$LAB_TMP/ids"
check "all of them are known" test "$(wc -l <"$LAB_TMP/ids")" = 1000
while read -r name id; do
	n=${name#p} remote=198.18.$((n / 250)).$((n % 250 + 1))
	words_policy out "$id" "$remote" 0.0.0.0/0
	words_sa out "$id" "$((0x10000 + n))" "$remote"
	words_sa in "$id" "$((0x20000 + n))" "$remote"
done <"$LAB_TMP/ids" >"$LAB_TMP/batch"

ms() { echo $((($(date +%s%N) - $1) / 1000000)); } # since
cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{ print int(($14 + $15) * 1000 / hz) }' "/proc/$WATCH/stat"; }
opened() { jq -r 'select(.sa_out) | .peer' <"$LAB_TMP/watch" | sort -u | wc -l; }
all_open() { [[ $(opened) -eq 1000 ]]; }
watch_up
freeze_process "$WATCH"
start=$(date +%s%N)
in_dpu ip -batch "$LAB_TMP/batch"
note "2000 SAs and 1000 policies made in $(ms "$start") ms"
check "their news wait in the socket, none is lost" test "$(lost)" -eq 0
used=$(cpu_ms) start=$(date +%s%N)
kill -CONT "$WATCH"
check "all at once they open 1000 peers" lab_wait_for 60 all_open
used=$(($(cpu_ms) - used))
note "after at most $(ms "$start") ms, with $used ms of CPU"
check "with less than 5 s of CPU, however slow the guest" test "$used" -lt 5000
start=$(date +%s%N)
check "drop removes all of them" test "$(in_dpu "$XFRM" drop 1 $LAST)" = "2000 1000"
note "after $(ms "$start") ms"
check "none is left" test -z "$(in_dpu ip xfrm state list; in_dpu ip xfrm policy list)"
closed() { [[ $(jq -s 'group_by(.if_id) | map(last | select(.sa_out)) | length' <"$LAB_TMP/watch") -eq 0 ]]; }
check "the tracker saw it" lab_wait_for 20 closed

# More notifications than the socket holds. Updates of a policy cost the kernel least.
first=$(awk '$1 == "p0" { print $2 }' "$LAB_TMP/ids") at_first=198.18.0.1
second=$(awk '$1 == "p999" { print $2 }' "$LAB_TMP/ids") at_second=198.18.3.250
policy out "$first" "$at_first" 0.0.0.0/0
policy out "$second" "$at_second" 0.0.0.0/0
sa out "$first" 0x31 "$at_first"
check "one peer is open again" lab_wait_for 20 says ".if_id == $first and .spi_out == \"0x00000031\""
freeze_process "$WATCH"
sa_gone "$at_first" 0x31
line=$(words_policy out "$second" "$at_second" 0.0.0.0/0)
for ((i = 0; i < 30000; i++)); do echo "${line/add/update}"; done >"$LAB_TMP/batch"
start=$(date +%s%N)
in_dpu ip -batch "$LAB_TMP/batch"
note "30000 updates in $(ms "$start") ms"
sa out "$second" 0x32 "$at_second"
lost=$(lost)
check "more news than the socket holds: $lost lost" test "$lost" -gt 0
kill -CONT "$WATCH"
check "what came among them is open" lab_wait_for 20 says ".if_id == $second and .spi_out == \"0x00000032\""
now_closed() { [[ $(jq -s "map(select(.if_id == $first)) | last | .sa_out" <"$LAB_TMP/watch") == false ]]; }
check "and what went is closed" lab_wait_for 20 now_closed
lab_stop "$WATCH"
done_testing
