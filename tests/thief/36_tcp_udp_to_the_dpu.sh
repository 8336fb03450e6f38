#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# TCP and UDP to sockets of the DPU and to ports without one, with data where it does not belong, from
# addresses of the DPU itself, of its gateway and of management; and through named uplink control.
set -uo pipefail
# shellcheck source=reach.sh
. "$(dirname "${BASH_SOURCE[0]}")/reach.sh"
attacks 1 "no byte of a host reaches a socket of the DPU, and no answer to one leaves"
NAMED='uplink_control: [bgp, bfd, dhcp, ptp]'
reach_lab

transport() { # what goes before
	local f
	for f in 0x02 0x12 0x10 0x18 0x04 0x14 0x01 0x11 0x29 0x00 0x3f 0xc2; do
		echo "$1 tcp sport=40001 dport=179 flags=$f fill=64"
		echo "$1 tcp sport=40001 dport=22 flags=$f fill=64"
		echo "$1 tcp sport=179 dport=40002 flags=$f fill=64"
	done
	# Fast Open: its option with a cookie, and a request for one
	echo "$1 tcp sport=40003 dport=179 flags=2 doff=8 hex=220a0123456789abcdef0101 fill=64"
	echo "$1 tcp sport=40003 dport=9 flags=2 doff=6 hex=22020101 fill=64"
	echo "$1 udp sport=53 dport=9 fill=64"
	echo "$1 udp sport=53 dport=53 fill=64"
	echo "$1 udp sport=123 dport=33434 fill=64"
	echo "$1 udp sport=0 dport=0 fill=64"
	echo "$1 udp sport=500 dport=500 fill=64"
	echo "$1 udp sport=67 dport=68 fill=64"
	echo "$1 udp sport=547 dport=546 fill=64"
	echo "$1 udp dport=9 len=8 fill=64"
	echo "$1 udp dport=9"
	echo "$1 type=136 hex=9c410009000000ff fill=64" # UDP-Lite
	echo "$1 type=132 hex=9c41000900000000000000000100001400000001 fill=64" # SCTP INIT
	echo "$1 type=33 hex=9c41000900000000 fill=64" # DCCP
	echo "$1 type=139 fill=64" # HIP
}
{
	for s in $HOST4 $W4 10.7.0.1; do
		for d in $DPU4 $MGMT4 $LAB_VIA4 10.7.1.2; do transport "eth ip4 src=$s dst=$d"; done
	done
	for s in $HOST6 $W6 fd00:7:0::1; do
		for d in $DPU6 $MGMT6 $LAB_VIA6 fd00:7:1::2 "$LL_HOST"; do transport "eth ip6 src=$s dst=$d"; done
	done
	for s in 127.0.0.1 192.0.2.1 10.250.0.1 $MGMT4 $LAB_VIA4 0.0.0.0; do transport "eth ip4 src=$s dst=10.7.0.1"; done
	for s in ::1 2001:db8::1 fd00:250::1 $MGMT6 $LAB_VIA6 :: ::ffff:10.250.0.2; do transport "eth ip6 src=$s dst=fd00:7:0::1"; done
} >"$LAB_TMP/by-host"
brings host 3000
nothing_leaves "by no TCP or UDP of the host is the kernel made to speak"
no_socket_heard "nor does a socket hear one"

# Named control goes up from the wire. If nothing listens there, the kernel reports it, with a quote.
by_name() { # what goes before
	local f
	for f in 0x02 0x10 0x18 0x11; do
		echo "$1 tcp sport=40001 dport=179 flags=$f fill=64"
		echo "$1 tcp sport=179 dport=40002 flags=$([[ $f == 0x02 ]] && echo 0x12 || echo $f) fill=64"
	done
	for f in 3784 4784 67 68 546 547 319 320; do echo "$1 udp sport=49152 dport=$f fill=64"; done
	echo "$1 udp sport=49152 dport=3784 fill=1000"
}
{
	for s in $MGMT4 10.250.0.77 10.9.9.9 $W4 $LAB_VIA4; do
		for d in $DPU4; do by_name "eth ip4 src=$s dst=$d"; done
	done
	for s in $MGMT6 fd00:250::77 fd00:999::9 $W6 $LAB_VIA6; do
		for d in $DPU6; do by_name "eth ip6 src=$s dst=$d"; done
	done
} >"$LAB_TMP/by-wire"
DPU_PORTS=9 brings wire 500
check "what is named does go up, of both families" \
	eval '[[ $(in_dpu nstat -asz TcpOutRsts | awk "/^Tcp/ { print \$2 }") -gt 0 &&
		$(in_dpu nstat -asz Udp6NoPorts | awk "/^Udp6/ { print \$2 }") -gt 0 ]]'
nothing_at "but nothing that the kernel says about it leaves by the management port" mgmt
nothing_at "nor to a host" host1
nothing_marked_at "and no byte of it goes back to the wire" wire
granted_arrives
done_testing
