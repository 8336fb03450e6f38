#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sessions through the management port, IPv4 and IPv6, with data in both directions, survive attach, upgrade, crashes
# (SIGKILL of attach, upgrade and detach at every change of a rule), bwlimitd's repairs, detach and attach again.
# A session that ends once fails the test: none is opened again. New ones can be opened at each point, too.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-session-$$ LAB_DESTS=1 LAB_MGMT=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
export ASAN_OPTIONS=detect_leaks=0 # it cannot work under strace
for tool in strace python3; do
	command -v $tool >/dev/null || { skip "sessions by the management port stay" "no $tool"; done_testing; exit 77; }
done
lab_up || exit 1
SESSION=$here/session.py
note "KILL_SEED=$KILL_SEED"
KILL_IN=(nsenter --net="/run/netns/$LAB-dpu")
four=10.250.0.1 six=fd00:250::1
serving() { in_dpu ss -Hltn "sport = :$1" | grep_all .; }
lab_bg serve4 dpu python3 "$SESSION" serve $four 2204
lab_bg serve6 dpu python3 "$SESSION" serve $six 2206
lab_wait_for 10 serving 2204 && lab_wait_for 10 serving 2206 || exit 1
lab_bg hold4 mgmt python3 "$SESSION" hold $four 2204 "$LAB_TMP/n4"
lab_bg hold6 mgmt python3 "$SESSION" hold $six 2206 "$LAB_TMP/n6"

went_on() { # file: two more lines than now came back
	local was now
	was=$(cat "$LAB_TMP/$1")
	for _ in $(seq 600); do
		now=$(cat "$LAB_TMP/$1")
		[[ $((now - was)) -lt 2 ]] || return 0
		sleep 0.05
	done
	return 1
}
anew() { # one line over a new connection; by bash, which starts in a tenth of the time
	in_ns mgmt timeout 300 bash -c 'exec 3<>"/dev/tcp/$0/$1" && echo "$2" >&3 && read -r line <&3 &&
		[[ $line == "$2" ]]' "$1" "$2" "$RANDOM" 2>/dev/null
}
alive() { went_on n4 && went_on n6 && anew $four 2204 && anew $six 2206; }
attach=(attach --host hpf0 --uplink p0 --max-peers 64 --fresh-volume)
lab_wait_for 10 test -e "$LAB_TMP/n6" && lab_wait_for 10 test -e "$LAB_TMP/n4"

# At calls that change a rule, of which one in twelve is drawn; killed at the entry, so the call is not executed.
rule_calls() { # command…: the numbers of these calls among all sendto
	in_dpu nice -n -10 strace -f -qq -s 64 -e trace=sendto -o "$LAB_TMP/trace" "$LOAD" "$@" >/dev/null 2>&1
	grep -o 'sendto(.*' "$LAB_TMP/trace" | grep -n 'RTM_\(NEW\|DEL\)RULE' | cut -d: -f1
}
killed() { # sentence, begin, command…
	local sentence=$1 begin=$2 n bad=0 points=0 drawn=0
	shift 2
	$begin
	for n in $(rule_calls "$@" | kills_drawn 12); do
		$begin
		drawn=$((drawn + 1))
		kill_at sendto "$n" "$LOAD" "$@" && points=$((points + 1))
		alive || { bad=$((bad + 1)); note "killed at $n: not alive"; }
	done
	note "$points kills of $drawn, ${SECONDS} s"
	check "$sentence" [ $bad -eq 0 ]
	check "$sentence: it was killed there" killed_enough $points $drawn
}
detached() { [[ ! -d $LAB_PINS ]] || lab_load detach; }
attached() { lab_load "${attach[@]}" --management mgmt0; }
# An older version's rules: of a DPU whose maps have no lock.
without_rules() {
	attached
	for f in -4 -6; do
		ip_in dpu $f rule add pref 0 lookup local
		for n in 3 2 1 4 6; do while ip_in dpu $f rule del pref $n 2>/dev/null; do :; done; done
	done
}

check "sessions are there" alive
check "attach that is told of management" attached
check "leaves them" alive
check "upgrade" lab_load upgrade
check "leaves them" alive
check "attach that is told of nothing" lab_load "${attach[@]}"
check "leaves them" alive
check "detach" lab_load detach
check "leaves them" alive
check "attach without --management where nothing is attached" lab_load "${attach[@]}"
check "leaves them" alive
killed "sessions stay when a first attach is killed at a rule" detached "${attach[@]}" --management mgmt0
killed "and when one without --management is" detached "${attach[@]}"
killed "and when an upgrade of what has no rules yet is" without_rules upgrade
killed "and when detach is" attached detach
check "attach again" attached
check "leaves them" alive
refute "attach that fails" lab_load attach --host nosuch --uplink p0 --management mgmt0
check "leaves them" alive
check "attach with a management device that is not there" lab_load "${attach[@]}" --management nosuch
check "cuts none: what was found keeps its way" alive
check "attach again, as it should be" attached

lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/none.yaml" --state-dir "$LAB_TMP/state" --tpm none --json
agent=$LAB_PID
lab_wait_for 10 grep -q '"start"' "$LAB_TMP/agent"
whole() { [[ $(ip_in dpu rule | grep -c '^[1-6]:') -ge 8 && $(ip_in dpu -6 rule | grep -c '^[1-6]:') -ge 8 ]]; }
# As many as there are: removing them until none is left would be an endless race with the program that restores them.
for f in -4 -6; do
	for n in 3 2 1 4; do
		for _ in $(ip_in dpu $f rule | grep "^$n:" | cut -d: -f1); do ip_in dpu $f rule del pref $n 2>/dev/null; done
	done
done
check "all of the rules are taken away, rule 0 was gone: bwlimitd puts them right" lab_wait_for 5 whole
check "and the sessions go on" alive
kill -KILL "$agent"
check "bwlimitd killed leaves them" alive
{
	echo "peers:"
	lab_peer d1 1 "grant: { rate: 8mbit }"
} | lab_policy_head | lab_apply
lab_wait_for 30 lab_both
live "attach and bwlimitd were killed, attach has run again, and a policy is in force"
check "detach at the end" lab_load detach
check "leaves them" alive
note "lines: IPv4 $(cat "$LAB_TMP/n4"), IPv6 $(cat "$LAB_TMP/n6")"
done_testing
