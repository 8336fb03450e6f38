#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The real agent, real traffic and a TPM 2.0 (swtpm): the ledger continues over reboots, an old copy of it
# gives nothing back, and without its TPM nothing is released. Kills at any time, and other TPMs:
# tests/unit/agent/anchor_test.c.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-tpm-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/tpm.sh
. "$here/tpm.sh"
[[ $("$AGENT" --version) == *tpm2-tss* ]] || {
	skip "an old copy of the ledger is found out" "built without tpm2-tss"
	done_testing
	exit
}
lab_up || exit 1
STATE=$LAB_TMP/state FILE=$LAB_TMP/desired.yaml
mkdir "$STATE"

agent() {
	rm -f "$LAB_TMP/agent" # what the last one said
	lab_bg agent dpu "$AGENT" --policy "$FILE" --state-dir "$STATE" --json "$@"
	AGENT_PID=$LAB_PID
	lab_wait_for 20 said notice start started # before that it is this shell, traps and all
}
# New maps, which do not know what was spent; $1: what is done while the DPU is off.
reboot() {
	lab_stop "$AGENT_PID"
	in_dpu "$LOAD" detach >/dev/null 2>&1
	"$@"
	in_dpu "$LOAD" attach --drill --host hpf0 --uplink p0 >/dev/null 2>&1
	agent
}
arrived() { in_ns d1 awk '$1 == "Ip:" && n++ { print $4; exit }' /proc/net/snmp; }
more() { [[ $(arrived) -gt $1 ]]; }
flows() { lab_wait_for 30 more "$(arrived)"; }
spent() { "$CTL" --json usage | jq -e '.volumes[] | select(.limit_key == "peer sink") | .used_bytes'; }
usage() { "$CTL" --json usage | jq -e "$1" >/dev/null; }
refuses() { "$CTL" --json reasons | jq -e 'any(.. | objects | select(.reason? == "peer-volume" or .reason? == "ledger"); .frames > 0)'; }
tpm_gone() {
	tpm_down
	OFF=$(arrived)
}
put_back() {
	rm -rf "$STATE" && cp -a "$LAB_TMP/copy" "$STATE"
	OFF=$(arrived)
}

{
	echo "peers:"
	lab_peer sink 1 "grant: { rate: 40mbit, volume: 500mb, burst: 128kb }"
} | lab_policy_head >"$FILE"
tpm_begin
lab_attach
agent
echo "eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=958" >"$LAB_TMP/frame"
lab_bg send host sh -c "exec '$FRAMES' send h0 --gw $(lab_mac dpu hpf0) --seconds 600 --pps 1000 \
	<'$LAB_TMP/frame'"
check "with a TPM it flows" flows
check "the log says that the ledger is bound to it" lab_wait_for 20 said notice tpm "is bound to the counter"
check "and usage" lab_wait_for 20 usage '.ledger == "tpm"'
was=$(spent)
reboot true
check "after a reboot it flows on" flows
check "with what was spent before" test "$(spent)" -ge "$was"
lab_stop "$AGENT_PID"
cp -a "$STATE" "$LAB_TMP/copy"
agent
check "the agent's restart changes nothing" flows
reboot put_back
reboot tpm_gone
check "without its TPM there is an alarm" lab_wait_for 20 said alert tpm "no volume is released until the TPM answers"
check "and packets are refused" lab_wait_for 20 refuses
check "all of them" test "$(arrived)" -eq "$OFF"
tpm_up
check "with it again it flows" flows
live "the TPM answers again"
reboot put_back
check "an old copy is refused with an alarm" lab_wait_for 20 said alert ledger "cannot be trusted.*old copy"
check "and the volume counts as spent" lab_wait_for 20 said warning ledger "counts as spent"
check "as usage says" lab_wait_for 20 usage '.volumes[] | select(.limit_key == "peer sink") | .used_bytes >= .volume_bytes'
check "and packets are refused" lab_wait_for 20 refuses
check "all of them" test "$(arrived)" -eq "$OFF"
in_dpu "$CTL" grant sink volume +100mb reason test >/dev/null 2>&1
check "until it is granted" flows
live "more is granted, the ledger having been lost"
lab_stop "$AGENT_PID"
done_testing
