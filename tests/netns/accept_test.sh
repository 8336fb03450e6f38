#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What arrives from a peer, against the volume of its `accept`: real frames from the destination, counted by the host itself, with
# the real agent and its ledger, across policies, restarts, an upgrade and new maps.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-accept-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1
STATE=$LAB_TMP/state FILE=$LAB_TMP/desired.yaml VOLUME=500000
mkdir "$STATE"

desire() { # name of the peer, its volume
	{
		echo "peers:"
		lab_peer "$1" 1 "grant: { rate: 100mbit }, accept: { rate: 100mbit, volume: $2 }"
	} | lab_policy_head >"$FILE.new"
	mv "$FILE.new" "$FILE"
}
agent() {
	lab_bg agent dpu "$AGENT" --policy "$FILE" --state-dir "$STATE" --json
	AGENT_PID=$LAB_PID
}
# UDP from the destination to the host, frames of 1000 bytes: as many as that makes, however late some are.
offers() { # seconds pps
	echo "eth ip4 src=$(lab_dest4 1) dst=$HOST4 udp dport=9 fill=958" |
		in_ns d1 "$FRAMES" send eth0 --gw "$(lab_mac net n1)" --count $(($1 * $2)) --pps "$2" >/dev/null
}
arrived() { in_host awk '$1 == "Ip:" && n++ { print $4 * 1000; exit }' /proc/net/snmp; }
usage() { "$CTL" --json usage | jq -e ".volumes[] | select(.limit_key == \"accept $1\") | $2" >/dev/null; }
refused() { "$CTL" --json reasons | jq -e '[.. | objects | select(.reason? == "accept-volume") | .frames] | add // 0 | . > 0' >/dev/null; }
offer_all() { offers 2 1000 && lab_settle; } # four times the volume
passed() { note "$(($(arrived) - start)) of $1 bytes arrived" && [[ $(($(arrived) - start)) -eq $1 ]]; }
nearly() { note "$(($(arrived) - start)) of $1 bytes arrived" && [[ $(($(arrived) - start)) -le $1 && $(($(arrived) - start)) -ge $(($1 * 98 / 100)) ]]; }

desire sink ${VOLUME}b
lab_attach || exit 1
lab_apply <"$FILE" || exit 1
start=$(arrived)
offer_all
check "without a ledger exactly the volume arrives" passed $VOLUME
check "what is over it is refused by name" refused
check "usage shows it" usage sink ".used_bytes == $VOLUME and .volume_bytes == $VOLUME"
check "peer show says what it is" eval '"$CTL" peer show sink | grep_all "accept  *rate 100mbit.*volume 500000b"'
check "another policy of the same volume gives nothing back" eval 'lab_apply <"$FILE" && offer_all && passed $VOLUME'
desire other ${VOLUME}b
check "nor does another name" eval 'lab_apply <"$FILE" && offer_all && passed $VOLUME'
check "nor a revocation and a grant" eval '"$CTL" revoke other >/dev/null 2>&1 && "$CTL" grant other reason test >/dev/null 2>&1 && offer_all && passed $VOLUME'
check "nor an upgrade" eval 'lab_load upgrade && offer_all && passed $VOLUME'
desire other $((VOLUME + 100000))b
check "a larger volume is more by just that" eval 'lab_apply <"$FILE" && offer_all && passed $((VOLUME + 100000))'

# With a ledger: what it has recorded is spent, even if the maps have lost it.
in_dpu "$LOAD" detach >/dev/null 2>&1
desire sink ${VOLUME}b
lab_attach || exit 1
start=$(arrived)
agent
check "the ledger releases it by its own name" lab_wait_for 20 usage sink '.released_bytes > 0'
offers 1 250
for _ in 1 2 3; do
	kill -KILL "$AGENT_PID"
	wait "$AGENT_PID" 2>/dev/null
	agent
	lab_wait_for 20 usage sink '.ledger_state == "released"'
	offers 1 100
done
# The agent releases it by and by: it is offered until nearly all has come, and once more.
for ((i = 0; i < 30; i++)); do
	[[ $(($(arrived) - start)) -lt $((VOLUME * 98 / 100)) ]] || break
	offer_all
done
offer_all
check "after kills of the agent under traffic nothing arrives above the volume, and nearly all of it does" nearly $VOLUME
live "bwlimitd is started again"
lab_stop "$AGENT_PID"
in_dpu "$LOAD" detach >/dev/null 2>&1
start=$(arrived)
lab_attach || exit 1
agent
check "in new maps the agent finds it in the ledger" lab_wait_for 20 usage sink ".used_bytes >= $((VOLUME * 98 / 100))"
offer_all
check "and what was spent stays spent" test $(($(arrived) - start)) -le $((VOLUME * 2 / 100))
lab_stop "$AGENT_PID"
done_testing
