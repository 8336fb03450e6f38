#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A host asks for a checksum to be filled in (virtio header, CHECKSUM_PARTIAL) over a field that has been judged: the kernel, or
# the device, writes it behind the last gate. The sum is chosen so that what it leaves is a stranger's address.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 1 "no header that was judged changes behind the last gate"

# With a correct UDP checksum the sum from daddr on depends on no payload: its complement is src + protocol + length. So
# source and length choose what is written: alpha's 10.101 becomes 10.104, and fd00:101 becomes fd00:104.
S6=fd00:7::69c
add() { # words of 16 bits: their one's complement sum
	local w n=0
	for w in "$@"; do n=$((n + w)); done
	while [[ $n -gt 65535 ]]; do n=$(((n >> 16) + (n & 65535))); done
	echo $n
}
# IPv4's own checksum is right for the stranger, else the router drops it.
R4=$((65535 - $(add 0x4500 98 7 0 0x4011 0x0a07 2 0x0a68 9)))
IP4="ip4 src=$HOST4 dst=$A4 id=7 ttl=64" IP6="ip6 src=$S6 dst=$A6"
to_stranger() {
	echo "vnet csum=30,0 eth $IP4 sum=$R4 udp fill=70"
	echo "vnet csum=40,0 eth $IP6 udp fill=70"
}
# Start, offset: MACs, EtherType, protocol, lengths, source, destination, ports, and what RoCE's class is read from; also
# behind fragments, options, extension headers and tags, in segments, and where the sum itself begins in the payload
# but is written before it.
over_headers() {
	local at
	for at in 0,0 0,6 6,0 12,0 14,2 14,6 14,8 22,0 24,0 26,0 26,2 28,2 30,0 30,2 32,0 34,0 34,2 34,4 36,0 34,8 42,0 44,2 20,14; do
		echo "vnet csum=$at eth $IP4 udp fill=70"
	done
	for at in 0,0 12,0 14,4 18,0 20,0 22,0 30,8 36,0 38,0 40,0 44,8 52,0 54,0 54,2 54,4 56,0 54,8 62,0 20,34; do
		echo "vnet csum=$at eth $IP6 udp fill=70"
	done
	for at in 34,0 34,2 34,12 34,6 30,20 36,14; do echo "vnet csum=$at eth $IP4 tcp dport=443 flags=0x10 fill=70"; done
	for at in 54,0 54,12 54,6 50,20; do echo "vnet csum=$at eth $IP6 tcp dport=443 flags=0x10 fill=70"; done
	echo "vnet csum=30,0 eth $IP4 type=47 fill=70"
	echo "vnet csum=40,0 eth $IP6 type=47 fill=70"
	echo "vnet csum=30,0 eth $IP4 id=9 mf=1 fill=72"
	echo "vnet csum=40,0 eth $IP6 frag6 id=9 mf=1 fill=72"
	echo "vnet csum=34,0 eth $IP4 opt=01010101 udp fill=70"
	echo "vnet csum=56,0 eth $IP6 ext kind=60 size=16 udp fill=70"
	# What names a next header behind one that hides it: the sum could make it a routing header.
	echo "vnet csum=62,0 eth $IP6 frag6 id=9 mf=1 ext kind=60 size=16 udp fill=72"
	echo "vnet csum=78,0 eth $IP6 frag6 id=9 mf=1 ext kind=60 size=16 ext kind=60 size=16 udp fill=72"
	echo "vnet csum=54,0 eth $IP6 ext kind=51 size=16 udp fill=70"
	echo "vnet csum=54,0 eth $IP6 ext kind=51 size=16 frag6 id=9 off=80 mf=1 udp fill=72"
	echo "vnet csum=62,0 eth $IP6 ext kind=139 size=16 udp fill=70"
	echo "vnet gso=udp hdr=42 size=400 csum=30,6 eth $IP4 udp fill=1200"
	echo "vnet gso=tcp4 hdr=54 size=400 csum=30,16 eth $IP4 tcp dport=443 flags=0x10 fill=1200"
	echo "vnet gso=tcp6 hdr=74 size=400 csum=50,16 eth $IP6 tcp dport=443 flags=0x10 fill=1200"
}
honest() { # in the transport's field, and in a payload: a tunnel's own, or a fragment
	echo "vnet csum=34,6 eth $IP4 udp fill=70"
	echo "vnet csum=34,16 eth $IP4 tcp dport=443 flags=0x10 fill=70"
	echo "vnet csum=54,6 eth $IP6 udp fill=70"
	echo "vnet csum=54,16 eth $IP6 tcp dport=443 flags=0x10 fill=70"
	echo "vnet csum=54,6 eth $IP4 ip4 src=10.9.0.1 dst=10.9.0.2 udp fill=70"
	echo "vnet csum=94,6 eth $IP6 ip6 src=fd00:9::1 dst=fd00:9::2 udp fill=70"
	echo "vnet csum=34,2 eth $IP4 icmp fill=70"
	echo "vnet csum=54,2 eth $IP6 icmp fill=70"
}
sends() { # <<< frames
	judges_on
	steal --count "$1" --pps 600
	judges_off
}

LAB_XDP=native thief_lab
for form in native generic none; do
	[[ $form = native || -n ${THIEF_OPEN:-} ]] || {
		in_dpu "$LOAD" detach --open >/dev/null 2>&1
		LAB_XDP=$form lab_attach && thief_peers | lab_policy_head | lab_apply || exit 1
	}
	for tx in off on; do
		in_dpu ethtool -K p0 tx $tx >/dev/null 2>&1
		where="with XDP $form and the uplink's checksums $tx"
		sends 40 < <(to_stranger)
		nothing_at "$where, nothing reaches a stranger" d4
		nothing_leaves "nor anybody else"
		sends 120 < <(over_headers)
		nothing_leaves "$where, no judged header is left for a checksum"
		sends 80 < <(honest)
		for of in "0800 17" "0800 6" "0800 4" "0800 1" "86dd 17" "86dd 6" "86dd 41" "86dd 58"; do
			check "$where, what a checksum belongs to arrives: ${of/ /, protocol }" \
				grep -q "^protocols ${of% *} .*\<${of#* }=" "$LAB_TMP/at-d1"
		done
	done
done
granted_arrives
done_testing
