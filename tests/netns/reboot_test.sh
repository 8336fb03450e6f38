#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What was closed stays closed over a reboot (docs/journal.md): promise 9. A reboot here: everything is
# killed, pins, links and qdiscs are removed, and attach runs with the same policy file and state directory.
#
# First each closure separately, judged by the maps and by marked packets at the receiver, in both families,
# with a granted peer as the control. Then revoke, grant and attach are killed at system calls: KILLS of each by
# sample (default 2, with BWL_LONG=1 30), KILL_ALL=1 at every one, which takes an hour. Then reboots at random moments of
# random commands, some with an attach that is also killed: never more open than before, and what a tool had
# acknowledged holds: REBOOTS of them (default 2, with BWL_LONG=1 50). REBOOT_ONLY=1 REBOOTS=200 is the longest run.
# REBOOT_SEED repeats what was drawn. REBOOT_PART=closures or kills: one of the two halves, as ctest runs them.
set -uo pipefail
KILL_ALL=${KILL_ALL:-0} # not because of BWL_LONG
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-boot-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
if long; then : "${KILLS:=30}" "${REBOOTS:=50}"; fi
KILLS=${KILLS:-2} REBOOTS=${REBOOTS:-2}
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/../harness/live.sh"
# shellcheck source=../harness/boot.sh
. "$here/../harness/boot.sh"
export ASAN_OPTIONS=detect_leaks=0
lab_up || exit 1
SEED=${REBOOT_SEED:-$((10#$(date +%N) % 32768))}
RANDOM=$SEED # a first draw of it is no seed: print what it was set to
note "REBOOT_SEED=$SEED"
STATE=$LAB_TMP/state
export BWLIMIT_JOURNAL_DIR=$STATE/journal
mkdir "$STATE"
AGENT_PID=
BOOT_MS=2000

policy() { # rate of d1
	lab_policy_head 1h <<-END
	zones:
	  z: { rate: 50mbit }
	peers:
	END
	lab_peer d1 1 "zone: z, grant: { rate: $1, burst: 1mb }"
	lab_peer d2 2 "grant: { rate: 10mbit, burst: 1mb }"
}
policy 10mbit >"$LAB_TMP/policy.yaml"
sed 's/^peers:/tamper: { command: clamp }\npeers:/' "$LAB_TMP/policy.yaml" >"$LAB_TMP/clamp.yaml"

DPU=(nsenter --net="/run/netns/$LAB-dpu") # without a shell between: what is killed is the tool itself
KILL_IN=("${DPU[@]}")
ATTACH=("$LOAD" attach --drill --fresh-volume --max-peers 64 --policy "$LAB_TMP/policy.yaml")
agent() {
	lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/clamp.yaml" --state-dir "$STATE" --tpm none --history-size 0b --totals none
	AGENT_PID=$LAB_PID
}
reboot() {
	power_off
	local from=${EPOCHREALTIME//[^0-9]/}
	attach || { note "attach: $(cat "$LAB_TMP/err")"; return 1; }
	BOOT_MS=$(((${EPOCHREALTIME//[^0-9]/} - from) / 1000 + 1))
	ctl heartbeat
	return 0
}
rate_of() { "$CTL" --json peer show "$1" | jq .grant.rate_bits_per_second; }

# Missing counts as cut.
attach
check "without a journal attach says what to type" grep -q 'journal init' "$LAB_TMP/err"
check "once" test "$(grep -c 'cannot be trusted' "$LAB_TMP/err")" -eq 1
check "and everything is closed" test "$("$LOAD" status --json | jq -r .switch)" = stopped
refute "verify fails" lab_verifies
check "and packets show it" is_closed 1
check "a journal is begun with what the maps have closed" ctl journal init
check "and says so" journal '.stopped and (.peer_names | length == 2)'
check "stop --off and grants open again" sh -c "exec >/dev/null
	nsenter --net=/run/netns/$LAB-dpu $CTL stop --off && nsenter --net=/run/netns/$LAB-dpu $CTL heartbeat &&
	nsenter --net=/run/netns/$LAB-dpu $CTL grant d1 reason begun && nsenter --net=/run/netns/$LAB-dpu $CTL grant d2 reason begun"
check "a granted peer passes" ready 1
check "the other one too" ready 2

closures() {
	check "revoke NAME" ctl revoke d1
	check "the journal says when" journal '(.closures[] | select(.peer == "d1") | .closed_at | fromdate) > now - 600'
	check "says that it holds over a reboot" grep -q 'over a reboot' "$LAB_TMP/ctl"
	reboot
	check "after a reboot the control passes" ready 2
	check "and the revoked one does not" is_closed 1
	check "nor in the maps" test "$(state_of d1)" = revoked
	check "policy apply lifts nothing" ctl policy apply "$LAB_TMP/policy.yaml" --yes
	check "indeed" is_closed 1
	in_dpu "$LOAD" attach --policy "$LAB_TMP/policy.yaml" --republish >/dev/null 2>&1
	check "nor does attach --republish" is_closed 1
	check "grant opens" ctl grant d1 reason again
	reboot
	check "and stays granted over a reboot" ready 1
	live "the DPU has lost its power, and attach has run"

	check "revoke --all" ctl revoke --all
	reboot
	check "every peer is revoked after a reboot" is_closed 1
	check "all of them" is_closed 2
	ctl grant d1 reason again
	reboot
	check "what was granted since passes" ready 1
	check "what was not does not" is_closed 2
	ctl grant d2 reason again

	check "stop" ctl stop
	reboot
	check "stopped after a reboot" is_closed 1
	check "and the switch says so" test "$("$LOAD" status --json | jq -r .switch)" = stopped
	check "stop --off" ctl stop --off
	reboot
	check "not stopped after the next" ready 1

	check "a policy that clamps" ctl tamper --policy /dev/null test
	check "closes" is_closed 1
	ctl journal show
	reboot
	check "and is closed after a reboot" is_closed 1
	ctl grant d1 reason again
	ctl grant d2 reason again

	check "a clamp" ctl tamper --policy "$LAB_TMP/clamp.yaml" test
	check "is in the journal" journal .clamped
	reboot
	check "after a reboot it is clamped still" is_closed 1
	check "heartbeat does not lift it" sh -c "! nsenter --net=/run/netns/$LAB-dpu $CTL heartbeat 2>/dev/null"
	check "heartbeat --lift does" ctl heartbeat --lift
	reboot
	check "for good" ready 1

	check "peer set lowers a limit" ctl peer set d1 rate 2mbit
	check "zone set too" ctl zone set z rate 7mbit
	reboot
	check "after a reboot it is lower still" test "$(rate_of d1)" = 2000000
	check "the zone's too" test "$("$CTL" --json zone list | jq '.zones[0].rate_bits_per_second')" = 7000000
	check "policy apply by hand raises what it names" ctl policy apply "$LAB_TMP/policy.yaml" --yes
	reboot
	check "for good: the peer's" test "$(rate_of d1)" = 10000000
	check "and the zone's" test "$("$CTL" --json zone list | jq '.zones[0].rate_bits_per_second')" = 50000000

	# The disk fails.
	mount -t tmpfs -o size=16k,ro none "$STATE/journal"
	refute "where the journal cannot be written revoke fails" ctl revoke d1
	check "and says until when it holds" grep -q 'until reboot' "$LAB_TMP/ctl"
	check "but it is closed" is_closed 1
	refute "grant opens nothing" ctl grant d1 reason test
	check "indeed" is_closed 1
	umount "$STATE/journal"
	agent
	check "bwlimitd writes what it finds closed" lab_wait_for 30 journal '.peer_names | index("d1")'
	reboot
	check "and so it is closed after a reboot" is_closed 1
	ctl grant d1 reason again
	live "the journal's disk can be written again, and the peer is granted"

	# Laundered over a reboot.
	ctl revoke d1
	sed 's/name: d1, addresses: .*], path/name: d1, addresses: [10.50.0.0\/24], path/' "$LAB_TMP/policy.yaml" >"$LAB_TMP/moved.yaml"
	cp "$LAB_TMP/policy.yaml" "$LAB_TMP/kept.yaml"
	{ cat "$LAB_TMP/moved.yaml"; lab_peer d3 1 "grant: { rate: 10mbit }"; } >"$LAB_TMP/policy.yaml"
	reboot
	check "a new name has a revoked prefix after a reboot: revoked" is_closed 1
	check "by the maps too" test "$(state_of d3)" = revoked
	check "the control passes" ready 2
	cp "$LAB_TMP/kept.yaml" "$LAB_TMP/policy.yaml"
	reboot
	ctl grant d1 reason again

	# A record in the middle that cannot be read; the end truncated.
	ctl revoke d2
	cp -a "$STATE/journal" "$LAB_TMP/whole"
	flip_byte "$STATE/journal/log" 300
	reboot
	check "a damaged journal: everything is closed" is_closed 1
	check "and attach says so" grep -q 'cannot be trusted' "$LAB_TMP/err"
	rm -rf "$STATE/journal"; cp -a "$LAB_TMP/whole" "$STATE/journal"
	truncate -s -100 "$STATE/journal/log"
	reboot
	check "one whose end is cut off: everything is closed" is_closed 1
	refute "verify says so" lab_verifies
	rm -rf "$STATE/journal"; cp -a "$LAB_TMP/whole" "$STATE/journal"
	reboot
	check "and the whole one back: the control passes" ready 1
	check "what was revoked does not" is_closed 2
	ctl grant d2 reason again
}
[[ ${REBOOT_ONLY:-0} -eq 1 || ${REBOOT_PART-} == kills ]] || closures
[[ ${REBOOT_PART-} != closures ]] || { done_testing; exit; }

# Killed at system calls that open, write, lock or reach a map: all calls of an undisturbed run are
# numbered, and KILLS of them drawn, half of them from the journal's file calls, the others from all.
CALLS='openat|pwrite64|fdatasync|fsync|flock|fallocate|rename|renameat|renameat2|bpf'
points() { # command…: "call number" lines
	local all=$LAB_TMP/points draw=$RANDOM # not in a subshell, which has a RANDOM of its own
	in_dpu strace -f -qq -o "$LAB_TMP/strace" -e trace="/^($CALLS)\$" "$@" >/dev/null 2>&1
	sed -nE "s/^[0-9]+ +($CALLS)\(.*/\1/p" "$LAB_TMP/strace" | awk '{ print $1, ++n[$1] }' >"$all"
	if [[ $KILL_ALL -eq 1 ]]; then
		cat "$all"
		return
	fi
	{
		grep -Ev '^(openat|bpf) ' "$all" | awk -v seed="$draw" 'BEGIN { srand(seed) } { print rand(), $0 }' |
			sort -n | head -n $((KILLS / 2))
		awk -v seed="$draw" 'BEGIN { srand(seed) } { print rand(), $0 }' "$all" | sort -n |
			head -n $((KILLS - KILLS / 2))
	} | cut -d' ' -f2- | sort -u
}
killed() { # sentence, states that d1 may have then, how it is made ready, command…
	local sentence=$1 want=" $2 " prepare=$3 call n bad=0 done_n=0 now
	shift 3
	$prepare
	points "$@" >"$LAB_TMP/drawn"
	while read -r call n; do
		$prepare || { note "$(cat "$LAB_TMP/ctl" "$LAB_TMP/err")"; bad=$((bad + 1)); }
		kill_at "$call" "$n" "$@" || continue
		done_n=$((done_n + 1))
		if [[ $prepare == booting ]]; then # half attached is not open
			is_closed 1 || { note "killed at $call $n: d1 passes"; bad=$((bad + 1)); }
		fi
		reboot || bad=$((bad + 1))
		now=$(state_of d1)
		[[ $want == *" $now "* ]] || { note "killed at $call $n: $now $(cat "$LAB_TMP/err")"; bad=$((bad + 1)); }
		[[ $(state_of d2) == live ]] || { note "killed at $call $n: d2 $(state_of d2)"; bad=$((bad + 1)); }
		journal '.state == "ok"' || { note "killed at $call $n: journal"; bad=$((bad + 1)); }
	done <"$LAB_TMP/drawn"
	note "${1##*/} $(wc -l <"$LAB_TMP/points") calls, $done_n kills, $bad bad, $SECONDS s"
	check "$sentence" [ $bad -eq 0 ]
	check "$sentence: it was killed there" killed_enough $done_n "$(wc -l <"$LAB_TMP/drawn")"
}
granted() { ctl grant d1 reason reset; }
revoked() { ctl revoke d1; }
booting() { revoked && power_off; }
if [[ ${REBOOT_ONLY:-0} -eq 1 ]]; then
	note "only reboots"
elif command -v strace >/dev/null; then
	killed "revoke killed anywhere: live as before, or revoked; the journal reads" "live revoked" granted \
		"$CTL" revoke d1
	killed "grant killed anywhere: revoked as before, or live; the journal reads" "revoked live" revoked \
		"$CTL" grant d1 reason test
	killed "attach killed anywhere: what was revoked is closed, then and after a boot" revoked booting \
		"${ATTACH[@]}"
else
	skip "killed at system calls" "no strace"
fi
ctl grant d1 reason reset
ctl grant d2 reason reset
[[ ${REBOOT_ONLY:-0} -eq 1 ]] || live "the DPU is attached after kills and power cuts, and the peer granted"

# Random moments. What may be in force after the reboot: for each question, the state before the command or, if it
# was not acknowledged, the state after it; if acknowledged, only that. Never more open than both.
RANDOM=$SEED
declare -A is=([d1]=live [d2]=live [stop]=0 [clamp]=0 [rate]=10 [zone]=50)
declare -A new
bad=0 acked=0 killed_n=0 boots=0
# The command's effect on the model, in `new`.
model() {
	local k
	new=()
	for k in "${!is[@]}"; do new[$k]=${is[$k]}; done
	case $1 in
	"revoke d1") new[d1]=revoked ;;
	"revoke d2") new[d2]=revoked ;;
	"revoke --all") new[d1]=revoked new[d2]=revoked ;;
	stop) new[stop]=1 ;;
	"stop --off") new[stop]=0 ;;
	tamper*) new[clamp]=1 ;;
	"heartbeat --lift") new[clamp]=0 ;;
	"peer set d1 rate"*) new[rate]=${1//[^0-9]/}; new[rate]=${new[rate]#1} ;;
	"zone set z rate"*) new[zone]=${1//[^0-9]/} ;;
	"grant d1"*) new[d1]=live ;;
	"grant d2"*) new[d2]=live ;;
	esac
}
commands=("revoke d1" "revoke d2" "revoke --all" stop "stop --off" "tamper --policy $LAB_TMP/clamp.yaml x"
	"heartbeat --lift" "peer set d1 rate 3mbit" "peer set d1 rate 9mbit" "zone set z rate 5mbit"
	"zone set z rate 40mbit" "grant d1 reason x" "grant d2 reason x" "grant d1 reason x" "grant d2 reason x")
closer() { # of two values of one key, the more closed one
	case $1 in
	d*) [[ $2 == live ]] && echo "$3" || echo "$2" ;;
	stop|clamp) [[ $2 -eq 1 ]] && echo "$2" || echo "$3" ;;
	*) [[ $2 -lt $3 ]] && echo "$2" || echo "$3" ;;
	esac
}
actual() {
	local s
	s=$("$LOAD" status --json)
	now[stop]=$([[ $(jq -r .switch <<<"$s") == stopped ]] && echo 1 || echo 0)
	now[clamp]=$(jq -r 'if .clamped then 1 else 0 end' <<<"$s")
	now[d1]=$(state_of d1) now[d2]=$(state_of d2)
	[[ ${now[clamp]} -eq 0 ]] || { for s in d1 d2; do [[ ${now[$s]} == revoked ]] || now[$s]=live; done; }
	now[rate]=$(($(rate_of d1) / 1000000))
	now[zone]=$(($("$CTL" --json zone list | jq '.zones[0].rate_bits_per_second') / 1000000))
}
declare -A now
# Boots that do not complete: attach is killed, and what the model has closed does not pass then.
boots_cut() {
	local pid q part=$((RANDOM % BOOT_MS))
	power_off
	"${DPU[@]}" "${ATTACH[@]}" >/dev/null 2>&1 &
	pid=$!
	sleep "$(printf '%d.%03d' $((part / 1000)) $((part % 1000)))"
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
	[[ $? -ne 137 ]] || boots=$((boots + 1))
	for q in 1 2; do
		[[ ${is[stop]} -eq 0 && ${is[clamp]} -eq 0 && ${is[d$q]} == live || -n $pending ]] || is_closed $q ||
			{ note "reboot $i: attach killed, and d$q passes"; bad=$((bad + 1)); }
	done
}
for ((i = 0; i < REBOOTS; i++)); do
	[[ $((RANDOM % 3)) -ne 0 ]] || agent
	for ((k = 0; k <= RANDOM % 3; k++)); do
		what=${commands[RANDOM % ${#commands[@]}]}
		model "$what"
		# the last command of the round is killed at a random moment, or not at all
		# shellcheck disable=SC2086 # words
		"${DPU[@]}" "$CTL" $what >"$LAB_TMP/did" 2>&1 &
		pid=$!
		if [[ $k -eq $((RANDOM % 3)) ]]; then
			sleep "$(printf "0.%03d" $((RANDOM % 40)))" # it takes some 20 ms
			kill -KILL $pid 2>/dev/null
		fi
		wait $pid 2>/dev/null
		if [[ $? -eq 0 ]]; then
			acked=$((acked + 1))
			# A bwlimitd that has just started may answer by the policy before, which logs a sign only.
			[[ $what != tamper* ]] || grep -q clamp "$LAB_TMP/did" || new[clamp]=${is[clamp]}
			for q in "${!is[@]}"; do is[$q]=${new[$q]}; done
			pending=
		else
			killed_n=$((killed_n + 1))
			pending=1
			break
		fi
	done
	[[ $((RANDOM % 3)) -ne 0 ]] || boots_cut
	reboot || bad=$((bad + 1))
	actual
	for q in d1 d2 stop clamp rate zone; do
		a=${is[$q]} b=${is[$q]}
		[[ -z $pending ]] || b=${new[$q]}
		[[ ${now[$q]} == "$a" || ${now[$q]} == "$b" ]] ||
			[[ $(closer $q "${now[$q]}" "$(closer $q "$a" "$b")") == "${now[$q]}" ]] || {
			note "reboot $i after '$what'${pending:+ (killed)}: $q is ${now[$q]}, was $a or $b"
			bad=$((bad + 1))
		}
		is[$q]=${now[$q]}
	done
	[[ $((i % 10)) -ne 9 ]] || note "$((i + 1)) reboots, $bad bad, $SECONDS s"
	# and the packets agree
	for q in 1 2; do
		if [[ ${is[stop]} -eq 0 && ${is[clamp]} -eq 0 && ${is[d$q]} == live ]]; then
			ready $q || { note "reboot $i: d$q should pass"; bad=$((bad + 1)); }
		else
			is_closed $q || { note "reboot $i: d$q passes"; bad=$((bad + 1)); }
		fi
	done
done
note "$REBOOTS reboots, $boots attaches killed before, $acked commands acknowledged, $killed_n not; $bad bad, $SECONDS s"
check "reboots at random moments: never more open than before" [ $bad -eq 0 ]
[[ $AGENT_PID ]] || agent
ctl stop --off
ctl heartbeat --lift
ctl policy apply "$LAB_TMP/policy.yaml" --yes
ctl grant d1 reason again
ready 1 || note "d1 is not reached"
live "the last reboot, and stop, clamp and revocation are lifted"
done_testing
