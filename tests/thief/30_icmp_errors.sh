#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What makes a kernel answer, quote or echo: closed ports, unknown protocols, bad options, TTL 1, no
# route, and every type of ICMP. From the host, and from the wire in the name of others.
set -uo pipefail
# shellcheck source=reach.sh
. "$(dirname "${BASH_SOURCE[0]}")/reach.sh"
attacks 1 "what the DPU's own kernel says about a packet leaves by no interface"
reach_lab

errors4() { # source destination
	local t
	cat <<-END
	eth ip4 src=$1 dst=$2 udp dport=33434 fill=64
	eth ip4 src=$1 dst=$2 ttl=1 udp dport=33434 fill=64
	eth ip4 src=$1 dst=$2 ttl=0 udp dport=33434 fill=64
	eth ip4 src=$1 dst=$2 df=1 udp dport=33434 fill=1400
	eth ip4 src=$1 dst=$2 ihl=6 opt=07270400 udp dport=33434 fill=64
	eth ip4 src=$1 dst=$2 ihl=6 opt=070bff00 udp dport=33434 fill=64
	eth ip4 src=$1 dst=$2 ihl=6 opt=44040501 udp dport=33434 fill=64
	eth ip4 src=$1 dst=$2 ihl=6 opt=94040000 udp dport=33434 fill=64
	eth ip4 src=$1 dst=$2 ihl=7 opt=8207040000000000 udp dport=33434 fill=64
	eth ip4 src=$1 dst=$2 ihl=7 opt=8307040a07000200 udp dport=33434 fill=64
	eth ip4 src=$1 dst=$2 type=89 fill=64
	eth ip4 src=$1 dst=$2 type=132 fill=64
	eth ip4 src=$1 dst=$2 type=255 fill=64
	eth dst=ff:ff:ff:ff:ff:ff ip4 src=$1 dst=$2 udp dport=33434 fill=64
	eth dst=01:00:5e:00:00:01 ip4 src=$1 dst=$2 icmp fill=64
	eth dst=$(lab_mac dpu mgmt0) ip4 src=$1 dst=$2 icmp fill=64
	END
	for t in 0 8 9 10 13 14 15 16 17 18 30 37 42 43 253; do
		echo "eth ip4 src=$1 dst=$2 icmp kind=$t fill=64"
	done
	# errors about packets that the DPU is supposed to have sent: unreachable of all codes,
	# source quench, redirect, time exceeded, parameter problem
	for t in 3,0 3,1 3,2 3,3 3,4 3,13 4,0 5,0 5,1 11,0 11,1 12,0; do
		echo "eth ip4 src=$1 dst=$2 icmp kind=${t%,*} code=${t#*,} rest=0x0a070002 ip4 src=$2 dst=$1 udp sport=9 fill=64"
	done
}
errors6() { # source destination
	local t
	cat <<-END
	eth ip6 src=$1 dst=$2 udp dport=33434 fill=64
	eth ip6 src=$1 dst=$2 hop=1 udp dport=33434 fill=64
	eth ip6 src=$1 dst=$2 hop=0 udp dport=33434 fill=64
	eth ip6 src=$1 dst=$2 udp dport=33434 fill=1400
	eth ip6 src=$1 dst=$2 ext kind=0 size=8 hex=c2040000 udp dport=33434 fill=64
	eth ip6 src=$1 dst=$2 ext kind=0 size=8 hex=05020000 udp dport=33434 fill=64
	eth ip6 src=$1 dst=$2 ext kind=60 size=8 hex=c2040000 udp dport=33434 fill=64
	eth ip6 src=$1 dst=$2 ext kind=60 size=8 hex=82040000 udp dport=33434 fill=64
	eth ip6 src=$1 dst=$2 ext kind=43 size=24 hex=0001 udp dport=33434 fill=64
	eth ip6 src=$1 dst=$2 ext kind=43 size=24 hex=0401 udp dport=33434 fill=64
	eth ip6 src=$1 dst=$2 type=59 fill=64
	eth ip6 src=$1 dst=$2 type=89 fill=64
	eth ip6 src=$1 dst=$2 type=132 fill=64
	eth ip6 src=$1 dst=$2 type=253 fill=64
	eth dst=33:33:00:00:00:01 ip6 src=$1 dst=$2 udp dport=33434 fill=64
	eth dst=$(lab_mac dpu mgmt0) ip6 src=$1 dst=$2 icmp kind=128 fill=64
	END
	for t in 128 129 130 131 132 133 134 137 138 139 140 141 142 143 144 145 146 147 151 153 155 160 200; do
		echo "eth ip6 src=$1 dst=$2 hop=255 icmp kind=$t fill=64"
	done
	for t in 1,0 1,1 1,3 1,4 2,0 3,0 3,1 4,0 4,1 4,2; do
		echo "eth ip6 src=$1 dst=$2 icmp kind=${t%,*} code=${t#*,} rest=1300 ip6 src=$2 dst=$1 udp sport=9 fill=64"
	done
}
frames() { # sources4 sources6 link-local
	local s d
	for s in $1; do
		for d in $DPU4 $MGMT4 10.99.9.9 127.0.0.1 224.0.0.1 255.255.255.255 10.7.0.255; do
			errors4 "$s" "$d"
		done
	done
	for s in $2; do
		for d in $DPU6 $MGMT6 fd00:999::1 "$3" ::1 fd00:7:: ff02::1 ff02::2 ff05::2; do
			errors6 "$s" "$d"
		done
	done
}

frames "$HOST4 $W4 10.7.0.1" "$HOST6 $W6 fe80::1 fd00:7::1" "$LL_HOST" >"$LAB_TMP/by-host"
frames "$MGMT4 $LAB_VIA4 $W4" "$MGMT6 $LAB_VIA6 fe80::1" "$LL_WIRE" >"$LAB_TMP/by-wire"
brings host 3000
nothing_leaves "by nothing that the host sends is the kernel made to speak"
no_socket_heard "nor does a socket hear it"
brings wire 3000
nothing_leaves "nor by what comes from the wire"
no_socket_heard "and no socket hears that"
granted_arrives
done_testing
