#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Promise 9 at both ends: after `revoke` (one peer, --all) the kernels of both DPUs have no SA of the peer any
# more. If charon hangs or is dead, that still holds here; the other side, which nobody tells then, finds
# out by itself. The times are printed, not judged: the clock of instructions runs ahead while charon
# waits for a disk, and any other clock is that of a busy machine.
# vm-cost: 110
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-rsa-$$
for part in tests/harness/tap vm-testbed/topo/trays tests/harness/charon vm-testbed/topo/mesh; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
charon_require
trays_up 3 || exit 1

MESH_IPSEC='ca: bwlimit.pem, dpd: 2s'
PEERS=([1]="2 3" [2]=1 [3]=1)
mesh_policy() { # tray "grant: {…}, …": tray 1 with both others
	local other
	cat <<-END2
	version: 1
	node: tray-$1
	uplinks: [p0]
	host_ports: [{ dev: pf0hpf, sources: [10.0.$1.0/24] }]
	heartbeat: none
	ipsec: { $MESH_IPSEC }
	peers:
	END2
	for other in ${PEERS[$1]}; do
		echo "  - { name: tray-$other, addresses: [10.0.$other.0/24], ipsec: { remote: $MESH_NET$other }, $2 }"
	done
}
opened() { # tray peer
	tray_ctl "$1" --json peer show "tray-$2" | jq -e '.tunnel | .sa_out and .sa_in' >/dev/null
}
all_open() { opened 1 2 && opened 1 3 && opened 2 1 && opened 3 1; }
all_up() { # grants again what was revoked
	local n
	for n in 2 3; do tray_quiet tray_ctl 1 grant tray-$n rate 10mbit reason "once more" || return; done
	for n in 1 2 3; do mesh_load $n || return; done
	lab_wait_for 60 all_open && passes 10.0.2.2 && passes 10.0.3.2
}
now_ms() { echo $(($(date +%s%N) / 1000000)); }
# Sets took: ms from `began` until tray N has no SA.
gone_at() { # tray seconds
	lab_wait_for "$2" mesh_no_states "$1" && took=$(($(now_ms) - began))
}
revoke() { # name|--all; returns when it has printed how long each step took
	began=$(now_ms)
	tray_ctl 1 revoke "$@" --vici "$(charon_socket 1)" >"$LAB_TMP/revoke" 2>&1
}
said() { sed 's/^/# /' "$LAB_TMP/revoke"; }
gone() { # what tray seconds
	check "$1" gone_at "$2" "$3"
	note "after $took ms"
}
# Counts the SAs of one peer of tray 1.
states_of() { in_ns dpu1 ip xfrm state list | grep -cE "^src .*$MESH_NET$1( |\$)"; }
none_of() { [[ $(states_of "$1") -eq 0 ]]; }

mesh_ca
for n in 1 2 3; do mesh_tray_up $n "grant: { rate: 10mbit }"; done
check "three trays, tray 1 with SAs to both others" all_up

check "one peer is revoked" revoke tray-2
said
gone "its SAs are gone on its side" 2 60
check "and on this side" none_of 2
check "those of the other peer stay" test "$(states_of 3)" -ge 2
check "and it is reached" passes 10.0.3.2

check "all are open again" all_up
check "--all is revoked" revoke --all
said
gone "the SAs of tray 2 are gone there" 2 60
gone "those of tray 3" 3 60
check "and here" mesh_no_states 1

check "all are open again" all_up
freeze_process "${CHARON_PID[1]}"
check "--all is revoked while charon hangs" revoke --all
said
check "that is said" grep -q 'charon .*when it resumes' "$LAB_TMP/revoke"
check "here no SA is left" mesh_no_states 1
check "when charon goes on" kill -CONT "${CHARON_PID[1]}"
began=$(now_ms)
gone "the other side is told" 2 60
gone "and the third" 3 60
check "and here still none is left" mesh_no_states 1

check "all are open again" all_up
LIVE_FAMILIES=4 live "a charon that hung goes on, and its peer is granted again"
charon_kill 1
began=$(now_ms)
revoke --all & revoking=$!
gone "without charon the SAs are gone here" 1 60
check "--all is revoked" wait $revoking
said
refute "nothing passes" pings 10.0.2.2
gone "the other side, which nobody told, finds out" 2 60
gone "and the third" 3 60
leak_end
done_testing
