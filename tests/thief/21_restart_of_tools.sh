#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every tool again and again while traffic runs: attach, upgrade, status, verify, policy, stats.
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
steal_on 8 6000 <<END
eth ip4 src=$HOST4 dst=$A4 udp fill=1000
eth ip6 src=$HOST6 dst=$B6 udp fill=1000
eth ip4 src=$HOST4 dst=$X4 udp fill=1000
eth ip4 src=$HOST4 dst=10.7.0.1 udp dport=9 fill=100
END
for ((i = 0; i < 4; i++)); do
	in_dpu "$LOAD" upgrade >"$LAB_TMP/tool" 2>&1 || { nok "upgrade $i"; sed 's/^/# /' "$LAB_TMP/tool"; }
	in_dpu "$LOAD" attach --drill --host hpf0 --uplink p0 >"$LAB_TMP/tool" 2>&1 ||
		{ nok "attach again $i"; sed 's/^/# /' "$LAB_TMP/tool"; }
	in_dpu "$LOAD" status >/dev/null 2>&1
	in_dpu "$LOAD" verify >/dev/null 2>&1
	ctl policy apply "$LAB_TMP/policy.yaml" >/dev/null 2>&1 || nok "policy apply $i"
	ctl heartbeat >/dev/null 2>&1
	ctl stats >/dev/null 2>&1
	ctl reasons >/dev/null 2>&1
	sleep 0.2
done
steal_end
judges_off
within "upgrades and attaches are worth one burst" "$(arrived d1)" $RATE $BURST
something_at "the grant was used" d1
note "$(arrived d2) bytes of a volume of 1048576"
check "and one volume" [ "$(arrived d2)" -le 1048576 ]
nothing_at "a stranger never slips through" d4
no_socket_heard "nor does anything reach the DPU's sockets"
check "traffic passes afterwards: it is not merely closed" sh -c "
	sleep 1; nsenter --net=/run/netns/$LAB-host '$FRAMES' send h0 --gw $GATEWAY --count 3 \
		< '$LAB_TMP/frames' >/dev/null; '$CTL' stats alpha >/dev/null"
done_testing
