#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Fragments for the DPU to reassemble: complete ones, first ones without the rest (after a while the
# kernel reports that, with a quote), overlapping ones; ESP fragments from the wire, which go up.
set -uo pipefail
# shellcheck source=reach.sh
. "$(dirname "${BASH_SOURCE[0]}")/reach.sh"
attacks 1 "what the kernel says about fragments leaves by no interface"
reach_lab
# The timeouts are 30 and 60 s by default.
lab_sysctl dpu net.ipv4.ipfrag_time=1 net.ipv6.ip6frag_time=1 net.ipv4.icmp_ratelimit=0 \
	net.ipv6.icmp.ratelimit=0

fragments4() { # source destination
	local id=$((RANDOM % 30000 + 1000))
	cat <<-END
	eth ip4 src=$1 dst=$2 id=$id mf=1 udp dport=33434 fill=64 slice=0,48
	eth ip4 src=$1 dst=$2 id=$id udp dport=33434 fill=64 slice=48,24
	eth ip4 src=$1 dst=$2 id=$((id + 1)) mf=1 udp dport=9 fill=1000 slice=0,800
	eth ip4 src=$1 dst=$2 id=$((id + 2)) mf=1 icmp fill=200 slice=0,120
	eth ip4 src=$1 dst=$2 id=$((id + 3)) off=800 mf=1 type=17 fill=200
	eth ip4 src=$1 dst=$2 id=$((id + 4)) mf=1 type=50 hex=0000010100000001 fill=200
	eth ip4 src=$1 dst=$2 id=$((id + 5)) mf=1 type=17 fill=24
	eth ip4 src=$1 dst=$2 id=$((id + 5)) mf=1 off=16 type=17 fill=24
	eth ip4 src=$1 dst=$2 id=$((id + 6)) mf=1 off=65512 type=17 fill=800
	END
}
fragments6() { # source destination
	local id=$((RANDOM + 70000))
	cat <<-END
	eth ip6 src=$1 dst=$2 frag6 id=$id mf=1 udp dport=33434 fill=64 slice=0,48
	eth ip6 src=$1 dst=$2 frag6 id=$id udp dport=33434 fill=64 slice=48,24
	eth ip6 src=$1 dst=$2 frag6 id=$((id + 1)) mf=1 udp dport=9 fill=1000 slice=0,800
	eth ip6 src=$1 dst=$2 frag6 id=$((id + 2)) mf=1 icmp kind=128 fill=200 slice=0,120
	eth ip6 src=$1 dst=$2 frag6 id=$((id + 3)) off=800 mf=1 type=17 fill=200
	eth ip6 src=$1 dst=$2 frag6 id=$((id + 4)) mf=1 type=50 hex=0000010100000001 fill=200
	eth ip6 src=$1 dst=$2 frag6 id=$((id + 5)) mf=1 type=17 fill=24
	eth ip6 src=$1 dst=$2 frag6 id=$((id + 5)) mf=1 off=16 type=17 fill=24
	eth ip6 src=$1 dst=$2 frag6 id=$((id + 6)) mf=1 type=17 fill=27
	eth ip6 src=$1 dst=$2 frag6 id=$((id + 7)) type=44 hex=1100000100000001 fill=64
	eth ip6 src=$1 dst=$2 hop=255 frag6 id=$((id + 8)) nd kind=135 target=$2 fill=64
	END
}
frames() { # sources4 sources6
	local s d
	for s in $1; do for d in $DPU4 $MGMT4 224.0.0.1; do fragments4 "$s" "$d"; done; done
	for s in $2; do for d in $DPU6 $MGMT6 ff02::1; do fragments6 "$s" "$d"; done; done
}
frames "$HOST4 $W4 10.7.0.1" "$HOST6 $W6 fe80::1" >"$LAB_TMP/by-host"
frames "$MGMT4 $R4 10.9.9.9" "$MGMT6 $R6 fd00:999::9" >"$LAB_TMP/by-wire"
brings host 1000 1.5
nothing_leaves "no fragment of the host makes the kernel speak, nor a second later"
no_socket_heard "nor does a socket hear one, put together or not"
check "no reassembly of the kernel's saw one" [ "$(in_dpu nstat -asz |
	awk '/ReasmReqds/ { n += $2 } END { print n + 0 }')" -eq 0 ]
brings wire 1000 1.5
check "fragments of ESP from the wire do go up, of both families" [ "$(in_dpu nstat -asz |
	awk '/^Ip6?ReasmReqds/ && $2 > 0' | wc -l)" -eq 2 ]
nothing_leaves "and nothing that the kernel says about those leaves"
no_socket_heard "nor does a socket hear one"
granted_arrives "the floods of fragments are over"
done_testing
