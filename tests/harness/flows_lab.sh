# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # variables are for who sources this
#
# A lab whose flows bwlimitd records, for a test of what programs of others read of them. Set LAB, and FLOWS_READERS to these
# programs: without one of them the test is skipped. Then source it, which makes the lab, and call flows_up.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
for tool in $FLOWS_READERS; do
	command -v "$tool" >/dev/null || { skip "others read it" "no $tool: packaging/install-deps test"; done_testing; exit; }
done
lab_up || exit 1
STATE=$LAB_TMP/state FLOWS=$LAB_TMP/state/flows
FLOWS_AGENT=

# Two peers, sink and the one that is named, and bwlimitd, which has written its first interval.
flows_up() { # name "grant: {…}"
	{
		echo "peers:"
		lab_peer sink 1 "grant: { rate: 2gbit, burst: 8mb }, accept: { rate: 2gbit, burst: 8mb }"
		lab_peer "$1" 2 "$2"
	} | lab_policy_head >"$LAB_TMP/desired.yaml"
	lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$STATE" --tpm none --flows-every 1s
	FLOWS_AGENT=$LAB_PID
	in_dpu "$LOAD" attach --drill --fresh-volume --record on --host hpf0 --uplink p0 >"$LAB_TMP/attach" 2>&1 ||
		{ sed 's/^/# /' "$LAB_TMP/attach"; return 1; }
	lab_wait_for 20 "$CTL" stats sink
	lab_wait_for 20 test -e "$FLOWS/0000000000000001.jsonl"
}
flows_down() { lab_stop "$FLOWS_AGENT"; } # it writes what is left: nothing is added any more
