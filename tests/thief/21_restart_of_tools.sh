#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every tool is run again and again under traffic: attach, upgrade, status, verify, policy, stats.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "2, 3 and 6" "no restart adds a burst or a volume, and enforcement never stops"
thief_peers() {
	echo "peers:"
	lab_peer alpha 1 "grant: { rate: 1mbit, burst: 150kb }"
	lab_peer beta 2 "grant: { rate: 100mbit, burst: 150kb, volume: 1mb }"
}
thief_lab
sleep 1.5
judges_on
# Until the tools have finished, however long they take.
steal_on 1200 6000 <<END
eth ip4 src=$HOST4 dst=$A4 udp fill=1000
eth ip6 src=$HOST6 dst=$B6 udp fill=1000
eth ip4 src=$HOST4 dst=$X4 udp fill=1000
eth ip6 src=$HOST6 dst=$A6 udp fill=1000
eth ip6 src=$HOST6 dst=$X6 udp fill=1000
eth ip4 src=$HOST4 dst=10.7.0.1 udp dport=9 fill=100
eth ip6 src=$HOST6 dst=fd00:7:0::1 udp dport=9 fill=100
eth ip4 src=$HOST4 dst=10.7.0.1 tcp sport=40001 dport=9 flags=2 fill=100
eth ip6 src=$HOST6 dst=fd00:7:0::1 icmp kind=128 fill=100
END
used=0
for ((i = 0; i < 4; i++)); do
	comes d1 && used=$((used + 1))
	[[ -z ${THIEF_OPEN:-} ]] || continue # an attach would end the openness
	in_dpu "$LOAD" upgrade >"$LAB_TMP/tool" 2>&1 || { nok "upgrade $i"; sed 's/^/# /' "$LAB_TMP/tool"; }
	in_dpu "$LOAD" attach --drill --host hpf0 --uplink p0 >"$LAB_TMP/tool" 2>&1 ||
		{ nok "attach again $i"; sed 's/^/# /' "$LAB_TMP/tool"; }
	in_dpu "$LOAD" status >/dev/null 2>&1
	in_dpu "$LOAD" verify >/dev/null 2>&1
	ctl policy apply "$LAB_TMP/policy.yaml" >/dev/null 2>&1 || nok "policy apply $i"
	ctl heartbeat >/dev/null 2>&1
	ctl stats >/dev/null 2>&1
	ctl reasons >/dev/null 2>&1
	comes d1 && used=$((used + 1))
done
check "most of the volume arrives" lab_wait_for 180 has_come d2 eth0 900000
steal_stop
judges_off
within "upgrades and attaches are worth one burst" "$(arrived d1)" $RATE $BURST
check "the grant was usable before and after each of them" [ $used -eq $((${THIEF_OPEN:+1} + 0 ? 4 : 8)) ]
note "$(arrived d2) bytes of a volume of 1048576"
promised "and one volume" [ "$(arrived d2)" -le 1048576 ]
check "most of which was usable" [ "$(arrived d2)" -ge 890000 ]
nothing_at "a stranger never slips through" d4
nothing_at "nor does anything leave by the management port" mgmt
no_socket_heard "nor does anything reach the DPU's sockets"
granted_arrives "the last tool has run"
done_testing
