#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tracker of the kernel's SAs: bwlimit-ipsecd or bwlimitd, one at a time, with the same loop. Only IPsec policies
# are made here: ESP is not needed. What an SA opens and closes is tested in tests/vm.
# live: no ESP here, and no peer that is open: tests/vm has what passes
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-ipsecd-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/documents.sh
. "$here/../harness/documents.sh"
lab_up && lab_attach || exit 1
cat >"$LAB_TMP/policy.yaml" <<END
version: 1
node: tray-7
uplinks: [p0]
host_ports: [{ dev: hpf0, sources: [10.7.0.0/24, "fd00:7::/64"] }]
heartbeat: none
peers:
  - { name: tray-3, addresses: [10.0.3.0/24], ipsec: { remote: 192.0.2.3 }, grant: { rate: 1gbit } }
END
in_dpu "$CTL" policy apply "$LAB_TMP/policy.yaml" >"$LAB_TMP/out" 2>&1 || { cat "$LAB_TMP/out"; exit 1; }
id=$(in_dpu "$CTL" --json ipsec track --dry-run | jq ".peers[0].if_id")

ipsecd() { # file: in the background; sets LAB_PID
	lab_bg "$1" dpu "$IPSECD" track --json
}
wrong() { # status words…: on one line of its standard error
	local status=0 err
	err=$(in_dpu timeout 300 "$IPSECD" "${@:3}" 2>&1 >/dev/null </dev/null) || status=$?
	[[ $status -eq $1 && $err == *"$2"* ]] || { note "status $status: $err"; return 1; }
}
policy() { # add|delete: an IPsec policy of the peer's that leads somewhere else
	local tmpl=()
	[[ $1 == delete ]] || tmpl=(tmpl src 192.0.2.7 dst 192.0.2.66 proto esp reqid 1 mode tunnel)
	ip_in dpu xfrm policy "$1" dir out src 10.7.0.0/24 dst 10.0.3.0/24 if_id "$id" "${tmpl[@]}"
}
told() { grep -q -- "$2" "$LAB_TMP/$1"; } # file words

check "it says what it can do" wrong 2 'track or charon'
check "and that tracking takes no file" wrong 2 'no further arguments' track x
check "one policy file is enough" wrong 2 "one policy file" charon a b
check "a time must be one" wrong 2 "'soon'" --timeout soon track

ipsecd first
first=$LAB_PID
# It warns before it writes the document.
check "an IPsec policy that leads to another address is an alarm" eval \
	'policy add && lab_wait_for 5 told first.err policy-remote && lab_wait_for 5 told first policy-remote'
check "with that address" told first.err 192.0.2.66
check "and a document a line" eval \
	'! can_judge || judge --lines ipsec-watch <"$LAB_TMP/first"'
check "it names peer and id" eval \
	'jq -se --argjson id "$id" "map(select(.peer == \"tray-3\" and .if_id == \$id and .alarm == \"policy-remote\")) != []" <"$LAB_TMP/first" >/dev/null'
check "a second one is refused" wrong 1 'tracked already' track
check "as is a look that would write" eval '! in_dpu "$CTL" ipsec track >"$LAB_TMP/out" 2>&1'
check "one that only looks is not" eval 'in_dpu "$CTL" ipsec track --dry-run | grep_all policy-remote'

lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/policy.yaml" --state-dir "$LAB_TMP/state" --json --tpm none
agent=$LAB_PID
check "bwlimitd waits while it runs" lab_wait_for 5 told agent 'tracked already'
lab_stop "$first"
check "and takes over when it goes" lab_wait_for 10 told agent "SAs are tracked\""
check "with the same alarm" lab_wait_for 5 told agent sa-alarm
check "then it is refused in its turn" wrong 1 'tracked already' track
lab_stop "$agent"

ipsecd second
second=$LAB_PID
check "it follows again" lab_wait_for 5 told second policy-remote
check "what was wrong and is gone is a line" eval \
	'policy delete && lab_wait_for 5 eval "tail -n 1 $LAB_TMP/second | jq -e \".alarm == null\""'
in_dpu "$LOAD" detach >"$LAB_TMP/out" 2>&1
wait "$second"
check "it ends with the maps, as failed" [ $? -eq 1 ]
check "and says why" told second "detached or replaced"
done_testing
