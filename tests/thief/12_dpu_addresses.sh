#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The DPU's own addresses, all of them, by every protocol: no socket may be reached.
set -uo pipefail
LAB_UPLINKS=2
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 1 "no byte of a host reaches a socket of the DPU"
thief_lab
link_local=$(lab_link_local dpu hpf0)
frames() {
	local a
	for a in 10.7.0.1 192.0.2.1 192.0.3.1 10.250.0.1 127.0.0.1 127.1.2.3 10.7.0.255 10.7.0.0 \
		255.255.255.255 224.0.0.1 0.0.0.0 169.254.1.1; do
		echo "eth ip4 src=$HOST4 dst=$a udp dport=9 fill=100"
		echo "eth ip4 src=$HOST4 dst=$a tcp sport=40001 dport=179 flags=2 fill=100"
		echo "eth ip4 src=$HOST4 dst=$a icmp fill=100"
		echo "eth ip4 src=$HOST4 dst=$a id=1 udp dport=9 fill=1100 slice=0,1008"
		echo "eth ip4 src=$HOST4 dst=$a id=1 udp dport=9 fill=1100 slice=1008,1000"
		echo "eth ip4 src=$HOST4 dst=$a type=47 fill=100"
		echo "eth ip4 src=$HOST4 dst=$a udp dport=500 fill=100"
		echo "eth dst=ff:ff:ff:ff:ff:ff ip4 src=$HOST4 dst=$a udp dport=67 fill=100"
	done
	for a in fd00:7:0::1 2001:db8::1 2001:db8:1::1 fd00:250::1 "$link_local" ::1 ff02::1 ff02::2 \
		ff05::2 ::ffff:10.7.0.1 ::ffff:127.0.0.1 ::10.7.0.1; do
		echo "eth ip6 src=$HOST6 dst=$a udp dport=9 fill=100"
		echo "eth ip6 src=$HOST6 dst=$a tcp sport=40001 dport=179 flags=2 fill=100"
		echo "eth ip6 src=$HOST6 dst=$a icmp kind=128 fill=100"
		echo "eth ip6 src=$HOST6 dst=$a ext kind=0 size=8 udp dport=547 fill=100"
		echo "eth ip6 src=$HOST6 dst=$a type=47 fill=100"
		echo "eth ip6 src=$HOST6 dst=$a udp dport=500 fill=100"
		echo "eth ip6 src=$HOST6 dst=$a frag6 id=1 udp dport=9 fill=1100 slice=0,1008"
		echo "eth ip6 src=$HOST6 dst=$a frag6 id=1 udp dport=9 fill=1100 slice=1008,1000"
		echo "eth ip6 src=fe80::1 dst=$a icmp kind=128 fill=100"
		echo "eth dst=33:33:00:00:00:01 ip6 src=$HOST6 dst=$a udp dport=9 fill=100"
	done
	echo "eth ip4 src=127.0.0.1 dst=127.0.0.1 udp dport=9 fill=100"
	echo "eth ip4 src=10.7.0.1 dst=10.7.0.1 udp dport=9 fill=100"
	echo "eth ip6 src=::1 dst=::1 udp dport=9 fill=100"
}
judges_on
steal --count 4000 --pps 4000 <<<"$(frames)"
ping_ok=0
in_host ping -c 2 -W 1 10.7.0.1 >/dev/null && ping_ok=1
in_host ping -c 2 -W 1 "$link_local%h0" >/dev/null && ping_ok=1
in_host ping -c 1 -W 1 fd00:7:0::1 >/dev/null && ping_ok=1
judges_off
no_socket_heard "UDP, TCP and ICMP to any address of the DPU reach no socket"
promised "not even a ping is answered" [ $ping_ok -eq 0 ]
check "though the DPU's neighbour answers ARP: the address was right" \
	[ -n "$(ip_in host neigh show 10.7.0.1 | grep lladdr)" ]
nothing_leaves "and nothing of it leaves by an uplink or by the management port"
granted_arrives
done_testing
