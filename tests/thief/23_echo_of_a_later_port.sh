#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A port made after the attach: the DPU's own address there answers pings, with their payload, to any
# source, by the default route; before a daemon has seen the port, or without one.
set -uo pipefail
LAB_DESTS=2
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "1 and 6" "a port that appears later answers nothing, guarded or not"
thief_lab
lab_ns host9
lab_veth host9 h0 dpu hpf9
lab_addr host9 h0 10.9.9.2/24 fd00:9:9::2/64
lab_addr dpu hpf9 10.9.9.1/24 fd00:9:9::1/64
mac=$(lab_mac dpu hpf9)
echoes() {
	local from4 from6
	for from4 in "$X4" 10.250.0.2 10.99.0.1 10.9.9.2; do
		echo "eth ip4 src=$from4 dst=10.9.9.1 icmp fill=1000"
		echo "eth ip4 src=$from4 dst=10.9.9.1 udp dport=99 fill=1000"
		echo "eth ip4 src=$from4 dst=10.9.9.1 tcp sport=40001 dport=179 flags=2 fill=100"
		echo "eth ip4 src=$from4 dst=10.250.0.1 icmp fill=1000"
		echo "eth ip4 src=$from4 dst=10.250.0.2 ttl=1 udp fill=1000"
	done
	for from6 in "$X6" fd00:250::2 fd00:99::1 fd00:9:9::2; do
		echo "eth ip6 src=$from6 dst=fd00:9:9::1 icmp kind=128 fill=1000"
		echo "eth ip6 src=$from6 dst=fd00:9:9::1 udp dport=99 fill=1000"
		echo "eth ip6 src=$from6 dst=fd00:9:9::1 tcp sport=40001 dport=179 flags=2 fill=100"
		echo "eth ip6 src=$from6 dst=fd00:250::1 icmp kind=128 fill=1000"
		echo "eth ip6 src=$from6 dst=2001:db8:99::1 hop=255 nd target=2001:db8:99::1 hex=fd94 fill=1182"
		echo "eth ip6 src=$from6 dst=fd00:250::2 hop=1 udp fill=1000"
	done
}
echoes >"$LAB_TMP/echoes"
send9() { # frames
	in_ns host9 "$FRAMES" send h0 --gw "$mac" --count "$1" --pps 5000 <"$LAB_TMP/echoes" \
		>"$LAB_TMP/sent" 2>&1
}
judges_on
ip_in dpu link set hpf9 up
send9 10000 || nok "the thief can send"
judges_off
nothing_leaves "with nobody to guard, nothing that came by it leaves by any device"
no_socket_heard "nor does any of it reach a socket"

lab_bg guard dpu "$LOAD" guard
lab_wait_for 5 sh -c "! ip -n $LAB-dpu link show dev hpf9 | grep -q '[<,]UP[,>]'" ||
	nok "the guard takes the port down"
judges_on
send9 20000 &
sender=$!
for _ in {1..20}; do # the host's driver raises it again and again
	ip_in dpu link set hpf9 up
	sleep 0.2
done
wait $sender
judges_off
nothing_leaves "nor with the guard, in the moments before it has looked"
no_socket_heard "nor does any of it reach a socket then"
granted_arrives
done_testing
