#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is shown in a terminal of 80 columns, with names of maximum length, long IPv6 addresses and large numbers: no line
# is longer, names are shortened and numbers are not. In a pipe everything is complete.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-col-$$ LAB_DESTS=3
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
command -v script >/dev/null || { echo '1..0 # SKIP no script(1), which makes a terminal'; exit 77; }
lab_up || exit 1
trap lab_down EXIT
long=checkpoint-store-of-the-hall-$$ long=${long:0:31}
zone=external-and-everything-beyond
{
	echo "zones:"
	echo "  $zone: { rate: 123456kbit, volume: 1234gb per 1d }"
	echo "peers:"
	lab_peer "$long" 1 "zone: $zone, grant: { rate: 98765kbit, burst: 1234kb, volume: 1111gb per 7d, mode: monitor, until: $(date -u -d '+100 days' +%FT%TZ) }, classes: { ssh: { rate: 1mbit } }"
	lab_peer "${long/check/short}" 2 "zone: $zone, grant: { rate: 12345kbit, mode: mark }"
	lab_peer log-collector-7 3 "zone: $zone, grant: { rate: 98765kbit }"
} | lab_policy_head >"$LAB_TMP/policy.yaml"
export BWLIMIT_AUDIT_DIR=$LAB_TMP/audit BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_STATE_DIR=$LAB_TMP/state
"$CTL" audit init --origin bwlimit/lab >/dev/null 2>&1
"$CTL" journal init >/dev/null
lab_attach || exit 1
"$CTL" policy apply "$LAB_TMP/policy.yaml" --trust-clock --yes >/dev/null 2>&1 || exit 1
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/policy.yaml" --flows-every 1s --tpm none
"$CTL" latency on "$long" log-collector-7 >/dev/null 2>&1
in_dpu "$LOAD" upgrade --record on --latency on >/dev/null || exit 1
FAR=fd00:103:0:0:1234:5678:9abc:def0 # a long address of the third destination
in_host ping -6 -c 3 -i 0.2 -s 1400 -W 1 $FAR >/dev/null 2>&1
in_host ping -c 3 -i 0.2 -s 1400 -W 1 "$(lab_dest4 1)" >/dev/null 2>&1
in_host ping -c 2 -i 0.2 -W 1 10.199.0.1 >/dev/null 2>&1

at80() { # ctl or load, arguments
	local program=$CTL
	[[ $1 == ctl ]] || program=$LOAD
	COLUMNS=80 LC_ALL=C.UTF-8 in_dpu script -qec "$program ${*:2} 2>$LAB_TMP/err" /dev/null 2>&1 </dev/null | tr -d '\r' | sed 's/\x1b[][()?;0-9]*[A-Za-z]//g'
}
shows() { # pattern, as at80; grep -q would end the terminal before its end
	at80 "${@:2}" >"$LAB_TMP/out"
	grep -q -- "$1" "$LAB_TMP/out" || { note "$(head -40 "$LAB_TMP/out")"; return 1; }
}
fits() {
	local n
	at80 "$@" >"$LAB_TMP/out"
	[[ -s $LAB_TMP/out ]] || { note "nothing"; return 1; }
	n=$(LC_ALL=C.UTF-8 wc -L <"$LAB_TMP/out")
	[[ $n -le 80 ]] || { note "$n columns" "$(head -20 "$LAB_TMP/out")"; return 1; }
}
for command in 'peer list' "peer show $long" 'grant list' 'zone list' stats "stats $long --interval 100ms" usage reasons 'reasons --all' \
	'policy diff /dev/stdin <'"$LAB_TMP/policy.yaml" 'top --once --interval 100ms' 'latency show' 'journal show' 'lease show' \
	'explain 10.7.0.2 10.199.0.1 tcp 443' "explain fd00:7:0::2 $FAR tcp 443" 'exfil --size 1tb' 'ipsec track --dry-run' 'audit show' 'audit verify'; do
	check "$command: no line is longer than 80 columns" fits ctl "$command"
done
recorded() { "$CTL" history "$long" >/dev/null 2>&1; }
lab_wait_for 30 recorded
check "history: no line is longer than 80 columns" fits ctl history "$long" --since 30m
flows() { "$CTL" flows --json | jq -e --arg a $FAR '[.flows[].destination] | any(startswith("fd00:103::1234:"))' >/dev/null; }
check "control: a flow to the long address is recorded" lab_wait_for 30 flows
for command in flows 'flows --peer log-collector-7' 'flows intervals' 'flows intervals --peer log-collector-7'; do
	check "$command: no line is longer than 80 columns" fits ctl "$command"
done
check "flows: both ends of the address are shown" shows "\[fd00:[^ ]*…[^ ]*f0\]:0" ctl flows
for command in status verify 'probe --host hpf0 --uplink p0'; do
	check "bwlimit-load $command: no line is longer than 80 columns" fits load "$command"
done
check "and what is left of a line is below its text" shows "^      [a-z]" load verify
words() { tr -s ' \n' '  '; }
same_words() { [[ "$(at80 load "$1" | sed 's/attached .* ago//' | words)" == "$(in_dpu "$LOAD" "$1" | sed 's/attached .* ago//' | words)" ]]; }
check "no word of status is lost" same_words status
for command in 'peer list' 'zone list'; do
	check "$command: names are shortened" shows '…' ctl "$command"
done
check "their rates are not" shows 98765kbit ctl 'peer list'
check "through a pipe names are whole" eval '"$CTL" grant list | grep_all "^$long "'
check "also where COLUMNS is set" eval 'COLUMNS=80 "$CTL" grant list | grep_all "^$long "'
check "in a wider terminal, too" eval 'COLUMNS=300 script -qec "$CTL grant list" /dev/null </dev/null >"$LAB_TMP/out"; grep -q "^$long " "$LAB_TMP/out"'
done_testing
