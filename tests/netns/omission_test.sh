#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What is not named stays: every verb that changes limits, with every choice of its words. One function judges: the state after
# is the one before with what was named in it, and nothing else; what is refused changes nothing. On a tray without a
# fleet, and on an enrolled one, where the same words tighten.
set -uo pipefail
LAB=bwl-omission-$$ LAB_DESTS=3
# shellcheck source=../harness/state_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/state_lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/people.sh
. "$here/people.sh"

policy() { # d1 has all, d2 no grant, d3 a volume in total
	lab_policy_head 1h <<-END
	zones:
	  ext: { rate: 50mbit, burst: 200kb, volume: 20gb per 1d }
	peers:
	$(lab_peer d1 1 "zone: ext, grant: { rate: 10mbit, burst: 100kb, volume: 1gb per 1d, mode: mark, mark: 30 }, accept: { rate: 7mbit }")
	$(lab_peer d2 2 "contained: false")
	$(lab_peer d3 3 "grant: { rate: 10mbit, volume: 1gb }")
	END
}
policy >"$FILE"

# The state, a line for each thing that a word names. An end in whole hours.
state() {
	"$CTL" --json peer show "$1" | jq -r '
		"rate \(.grant.rate_bits_per_second)", "burst \(.grant.burst_bytes)", "volume \(.grant.volume_bytes) \(.grant.window_s)",
		"mode \(.mode)", "mark \(.mark_percent)", "accept \(.accept.rate_bits_per_second?)",
		"for \(if .expires_in_s == null then "ever" else .expires_in_s / 3600 | round end)", "state \(.state)"'
	"$CTL" --json zone list | jq -r '.zones[] | "zone \(.rate_bits_per_second) \(.left | [.burst_bytes, .volume_bytes, .window_s])"'
}
# peer, wanted exit code, word and what it is then…, --, arguments of bwlimit-ctl…
judge() {
	local peer=$1 code=$2 was want rc
	shift 2
	want=$(state "$peer") was=$want
	for (( ; $# > 0; )); do
		[[ $1 != -- ]] || { shift; break; }
		want=$(sed "s/^${1%% *} .*/$1/" <<<"$want")
		shift
	done
	[[ $code == 0 ]] || want=$was
	in_dpu "$CTL" "$@" >"$LAB_TMP/ctl" 2>&1
	rc=$?
	[[ $rc == "$code" ]] && diff <(echo "$want") <(state "$peer") >"$LAB_TMP/diff" && return
	note "$*: exit code $rc" "$(cat "$LAB_TMP/diff" "$LAB_TMP/ctl")"
	return 1
}
declare -A says is # by word: what is typed, and what it is then
# Each word alone, and each of them left out; with BWL_LONG=1 every choice of them.
every_choice() { # sentence, arguments before, after, word…
	local sentence=$1 before=$2 after=$3 n i k some=0 bad=0 argv then
	shift 3
	n=$#
	for ((i = 1; i < 1 << n; i++)); do
		argv=() then=()
		for ((k = 0; k < n; k++)); do
			((i >> k & 1)) || continue
			argv+=("${says[${*:k+1:1}]}") then+=("${is[${*:k+1:1}]}")
		done
		((${#argv[@]} == 1 || ${#argv[@]} >= n - 1)) || long || continue
		((++some))
		begin
		# shellcheck disable=SC2086,SC2068 # words
		judge d1 0 "${then[@]}" -- $before ${argv[@]} $after || ((bad++))
	done
	check "$sentence: what is not named stays, with each of $some choices of words" test $bad = 0
}
again() { in_dpu "$CTL" "$@" >/dev/null 2>&1; }
begin() {
	again grant d1 rate 10mbit burst 100kb volume 1gb per 1d mode mark mark 30 for 2h reason begun && again peer set d1 accept 7mbit
}

lab_attach --fresh-volume || exit 1
check "control: the state before" eval 'again policy apply "$FILE" --yes && again heartbeat && begin'
check "control: it is this" eval '[[ $(state d1) == "rate 10000000"*"burst 102400"*"volume 1073741824 86400"*"mode mark"*"mark 30"*"accept 7000000"*"for 2"*"state live"* ]] || ! note "$(state d1)"'

note "More of everything"
says=([rate]='rate 20mbit' [burst]='burst 300kb' [volume]='volume 2gb per 1d' [for]='for 3h' [mode]='mode mark mark 90' [accept]='accept 9mbit')
is=([rate]='rate 20000000' [burst]='burst 307200' [volume]='volume 2147483648 86400' [for]='for 3' [mode]='mark 90' [accept]='accept 9000000')
every_choice grant 'grant d1' 'reason x' rate burst volume for mode
every_choice 'peer set' 'peer set d1' '' rate burst volume mode accept
begin
check "grant with a reason alone: all stays" judge d1 0 -- grant d1 reason x
check "and what stays is said" grep -q 'as before, it ends in [12] h' "$LAB_TMP/ctl"
for words in 'rate 60mbit' 'burst 300kb' 'volume 30gb per 1d' 'rate 60mbit burst 300kb' 'rate 60mbit volume 30gb per 1d' 'burst 300kb volume 30gb per 1d'; do
	again zone set ext rate 50mbit burst 200kb volume 20gb per 1d
	want='zone 50000000 [204800,21474836480,86400]'
	[[ $words != *rate* ]] || want=${want/50000000/60000000}
	[[ $words != *burst* ]] || want=${want/204800,/307200,}
	[[ $words != *volume* ]] || want=${want/21474836480/32212254720}
	# shellcheck disable=SC2086 # words
	check "zone set $words: nothing else of it changes" judge d1 0 "$want" -- zone set ext $words
done
begin
check "mode mark without mark keeps the threshold" judge d1 0 -- peer set d1 mode mark
check "a volume without per is a total" judge d1 0 'volume 2147483648 null' -- grant d1 volume 2gb reason x
begin
check "for ever is said" judge d1 0 'for ever' -- grant d1 for ever reason x
begin
check "more of a volume per window is refused: it would be more in every later one" judge d1 1 -- grant d1 volume +100mb reason x
check "and it is said what to name" grep -q 'volume +V once' "$LAB_TMP/ctl"
check "once, where nothing is spent, is an error" judge d1 1 -- grant d1 volume +100mb once reason x
check "once goes with more" judge d1 2 -- grant d1 volume 1gb once reason x
used() { "$CTL" --json usage | jq '.volumes[] | select(.limit_key == "peer d1").used_bytes'; }
ready 1 || note "d1 is not reached"
spent=$(used)
check "control: some is spent" test "${spent:-0}" -gt 100
check "once: the account counts that much less, and nothing else changes" eval 'judge d1 0 -- grant d1 volume +100b once reason ticket 4711 && [[ $(used) == $((spent - 100)) ]]'
check "it is said, and in the audit log" eval 'grep -q "^d1: 100b more of its volume, once" "$LAB_TMP/ctl" && "$CTL" audit show 2>/dev/null | grep_all "grant d1: 100 bytes more of its volume, once"'
check "no more than is spent" eval 'judge d1 0 -- grant d1 volume +500mb once reason x && [[ $(used) == 0 ]] && grep -q "no more was spent, of 500mb" "$LAB_TMP/ctl"'
check "more of a total volume is spent once, and leaves the end" judge d3 0 'volume 1178599424 null' -- grant d3 volume +100mb reason x
in_dpu "$CTL" grant d3 for 2h reason x >/dev/null 2>&1
check "also an end that there is" judge d3 0 'volume 1283457024 null' -- grant d3 volume +100mb reason x
check "a reason is missing" judge d1 2 -- grant d1 rate 20mbit
check "a revocation is lifted, and nothing else" eval 'ctl revoke d1; judge d1 0 "state live" -- grant d1 reason x'

note "Where there is nothing to stay"
begin
for words in 'reason x' 'rate 1mbit reason x' 'for 1h reason x' 'volume 1gb for 1h reason x' 'burst 100kb volume 1gb for 1h reason x' 'mode police for ever reason x'; do
	# shellcheck disable=SC2086 # words
	check "a first grant must name rate and end: $words" judge d2 1 -- grant d2 $words
done
for words in 'rate 1mbit' 'burst 100kb' 'volume 1gb' 'mode monitor' 'accept 1mbit'; do
	# shellcheck disable=SC2086 # words
	check "peer set of a peer without a grant gives it none: $words" judge d2 1 -- peer set d2 $words
done
check "control: with both it is given" judge d2 0 'rate 1000000' "burst $((72 * 1024))" 'accept null' 'for 1' 'state live' -- grant d2 rate 1mbit for 1h reason x
in_dpu "$CTL" grant d1 for 1ms reason x >/dev/null 2>&1
ended() { [[ $("$CTL" --json peer show d1 | jq -r .state) == expired ]]; }
check "control: a grant that has ended" lab_wait_for 5 ended
for words in 'reason x' 'rate 20mbit reason x' 'volume 2gb per 1d reason x'; do
	# shellcheck disable=SC2086 # words
	check "is not one again without a new end: $words" judge d1 1 -- grant d1 $words
done
check "control: with one it is" judge d1 0 'for 2' 'state live' -- grant d1 for 2h reason x

note "Over a reboot"
begin
in_dpu "$CTL" peer set d1 burst 50kb >/dev/null 2>&1
in_dpu "$CTL" peer set d1 rate 9mbit >/dev/null 2>&1
check "a smaller burst stays, with a rate that was set after it" eval 'power_off && in_dpu "$LOAD" attach --drill >"$LAB_TMP/ctl" 2>&1 &&
	in_dpu "$AGENT" --policy "$FILE" --state-dir "$STATE" --tpm none --once >>"$LAB_TMP/ctl" 2>&1
	[[ $(state d1 | sed -n 1,2p) == "rate 9000000"*"burst 51200" ]] || ! note "$(state d1)" "$(cat "$LAB_TMP/ctl")"'

ctl heartbeat
# Of one without a volume: where no ledger ran all of a volume counts as spent.
in_dpu "$CTL" grant d2 rate 10mbit for 1h reason begun >/dev/null 2>&1
ready 2 || note "d2 is not reached"
LIVE_DEST=2 live "the DPU has lost its power, attach has run, and there are a heartbeat and a grant"

note "On an enrolled tray"
"$CTL" journal init >/dev/null 2>&1
begin
people_enrol "$STATE" || exit 1
begin() { :; }
check "control: it is enrolled" eval 'judge d1 1 -- grant d1 rate 20mbit reason x && grep -q "only tighten" "$LAB_TMP/ctl"'
check "a grant of less that names no end is within what is in force" judge d1 0 'rate 8000000' -- grant d1 rate 8mbit reason x
says=([rate]='rate 5mbit' [burst]='burst 90kb' [volume]='volume 500mb per 1d' [accept]='accept 3mbit')
is=([rate]='rate 5000000' [burst]='burst 92160' [volume]='volume 524288000 86400' [accept]='accept 3000000')
check "an end alone is one that comes sooner" judge d1 0 'for 1' -- grant d1 for 1h reason x
every_choice grant 'grant d1' 'reason x' rate burst volume
every_choice 'peer set' 'peer set d1' '' rate burst volume accept
check "more of a window's volume is refused, also once" eval 'judge d1 1 -- grant d1 volume +100b once reason x && grep -q "more than its volume would pass in this window" "$LAB_TMP/ctl"'
check "for ever is refused" judge d1 1 -- grant d1 for ever reason x
check "and so is what it had before" judge d1 1 -- grant d1 for 2h reason x
done_testing
