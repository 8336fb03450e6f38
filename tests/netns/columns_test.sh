#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tables in a terminal of 80 columns, with names of maximum length and large numbers: no line is longer,
# names are shortened and numbers are not. In a pipe everything is complete.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-col-$$ LAB_DESTS=2
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
} | lab_policy_head >"$LAB_TMP/policy.yaml"
lab_attach || exit 1
"$CTL" policy apply "$LAB_TMP/policy.yaml" --trust-clock --yes >/dev/null || exit 1
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/policy.yaml" --state-dir "$LAB_TMP/state"
in_host ping -c 3 -i 0.2 -s 1400 -W 1 "$(lab_dest4 1)" >/dev/null 2>&1
in_host ping -c 2 -i 0.2 -W 1 10.199.0.1 >/dev/null 2>&1

at80() { COLUMNS=80 LC_ALL=C.UTF-8 script -qec "$CTL $*" /dev/null 2>&1 </dev/null | tr -d '\r' | sed 's/\x1b[][()?;0-9]*[A-Za-z]//g'; }
fits() {
	local n
	at80 "$@" >"$LAB_TMP/out"
	[[ -s $LAB_TMP/out ]] || { note "nothing"; return 1; }
	n=$(LC_ALL=C.UTF-8 wc -L <"$LAB_TMP/out")
	[[ $n -le 80 ]] || { note "$n columns" "$(LC_ALL=C.UTF-8 grep -E '^.{81}' "$LAB_TMP/out" | head -2)"; return 1; }
}
for command in 'peer list' "peer show $long" 'grant list' 'zone list' stats "stats $long --interval 100ms" usage reasons 'reasons --all' \
	'policy diff /dev/stdin <'"$LAB_TMP/policy.yaml" 'top --once --interval 100ms'; do
	check "$command: no line is longer than 80 columns" fits "$command"
done
recorded() { "$CTL" history "$long" --state-dir "$LAB_TMP/state" >/dev/null 2>&1; }
lab_wait_for 30 recorded
check "history: no line is longer than 80 columns" fits history "$long" --state-dir "$LAB_TMP/state" --since 30m
for command in 'peer list' 'zone list'; do
	at80 "$command" >"$LAB_TMP/out"
	check "$command: names are shortened" grep -q '…' "$LAB_TMP/out"
done
check "their rates are not" eval 'at80 peer list >"$LAB_TMP/out"; grep -q 98765kbit "$LAB_TMP/out"'
check "through a pipe names are whole" eval '"$CTL" grant list | grep -q "^$long "'
check "also where COLUMNS is set" eval 'COLUMNS=80 "$CTL" grant list | grep -q "^$long "'
check "in a wider terminal, too" eval 'COLUMNS=300 script -qec "$CTL grant list" /dev/null </dev/null | grep -q "^$long "'
done_testing
