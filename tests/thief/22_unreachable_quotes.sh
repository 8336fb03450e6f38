#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The DPU's kernel quotes what it cannot deliver, and sends that to whatever source the thief chose, by
# the DPU's own routes: solicitations to addresses to which the DPU has no route, or only an
# unreachable one, from the host and from the wire.
set -uo pipefail
LAB_DESTS=2
# Wider than the port's own subnet, so that answers use the default route.
LAB_SOURCES=('10.7.0.0/16, "fd00:7::/32"')
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 1 "what the DPU's own kernel says about a host's or the wire's bytes leaves by no device"
thief_lab
ip_in dpu -6 route add unreachable fd00:dead::/64
ip_in dpu route add unreachable 10.66.0.0/16
ip_in dpu -6 route add prohibit fd00:bad::/64
ip_in dpu route add prohibit 10.67.0.0/16
port=$(lab_mac dpu hpf0) wire=$(lab_mac dpu p0)
behind="hex=fd94 fill=1182" # an option of 148 units of 8 bytes, well-formed
loud() { # MAC of the DPU's port; source addresses that its answers would go to by another device
	local mac=$1 src4=$2 src6=$3 to
	for to in "fd00:dead::9" "fd00:bad::9" "fd00:dead:0:0:$MARK6" 2001:db8:99::9 fd00:7:77::9; do
		echo "eth dst=$mac ip6 src=$src6 dst=$to hop=255 nd target=$to $behind"
		echo "eth dst=$mac ip6 src=$src6 dst=$to hop=255 nd target=$to sll=02:00:00:00:00:77 $behind"
		echo "eth dst=$mac ip6 src=$src6 dst=$to hop=255 nd kind=136 flags=0x60 target=$to $behind"
		echo "eth dst=$mac ip6 src=$src6 dst=$to udp dport=500 fill=1000"
		echo "eth dst=$mac ip6 src=$src6 dst=$to hop=1 icmp kind=128 fill=1000"
	done
	for to in 10.66.0.9 10.67.0.9 203.0.113.9; do
		echo "eth dst=$mac arp op=1 sip=$src4 tip=$to fill=500"
		echo "eth dst=$mac ip4 src=$src4 dst=$to udp dport=500 fill=1000"
		echo "eth dst=$mac ip4 src=$src4 dst=$to ttl=1 icmp fill=1000"
	done
	for to in 10.7.0.1 192.0.2.1 10.250.0.1; do
		echo "eth dst=$mac ip4 src=$src4 dst=$to udp sport=500 dport=500 fill=1000"
		echo "eth dst=$mac ip4 src=$src4 dst=$to udp dport=99 fill=1000"
		echo "eth dst=$mac ip4 src=$src4 dst=$to icmp fill=1000"
		echo "eth dst=$mac ip4 src=$src4 dst=$to type=200 fill=1000"
	done
	for to in fd00:7:0::1 2001:db8::1 fd00:250::1; do
		echo "eth dst=$mac ip6 src=$src6 dst=$to hop=255 nd target=$to $behind"
		echo "eth dst=$mac ip6 src=$src6 dst=$to udp sport=500 dport=500 fill=1000"
		echo "eth dst=$mac ip6 src=$src6 dst=$to udp dport=99 fill=1000"
		echo "eth dst=$mac ip6 src=$src6 dst=$to icmp kind=128 fill=1000"
		echo "eth dst=$mac ip6 src=$src6 dst=$to type=200 fill=1000"
	done
}
judges_on
steal --count 4000 --pps 2000 <<<"$(loud "$port" 10.7.99.2 fd00:7:99::2)"
judges_off
nothing_leaves "nothing of the host's leaves by any device, however it is answered"
no_socket_heard "nor does any of it reach a socket"

judges_on
{
	loud "$wire" 10.7.99.2 fd00:7:99::2
	loud "$wire" 10.250.0.2 fd00:250::2
	loud "$wire" "$X4" "$X6"
} | in_ns net "$FRAMES" send s0 --gw "$wire" --seconds 2 --pps 2000 >"$LAB_TMP/sent" ||
	nok "the thief on the wire can send"
judges_off
nothing_leaves "nothing that came by the wire leaves by any device"
granted_arrives
done_testing
