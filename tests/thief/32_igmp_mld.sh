#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Group management: queries that a kernel answers with reports, and reports and leaves, of all versions,
# to all hosts, to a group and to the DPU alone, with more data after them than belongs there.
set -uo pipefail
# shellcheck source=reach.sh
. "$(dirname "${BASH_SOURCE[0]}")/reach.sh"
attacks 1 "the DPU takes part in no group management of a host or of the wire"
reach_lab
# A group that the DPU has joined on every device, for queries.
for dev in hpf0 p0 mgmt0; do
	ip_in dpu addr add 239.1.2.3/32 dev "$dev" autojoin
	ip_in dpu -6 addr add ff05::1:2:3/128 dev "$dev" autojoin
done 2>/dev/null

groups4() { # source destination MAC; in form IGMP is as ICMP
	local o="ihl=6 opt=94040000 ttl=1 type=2" k g=0xef010203
	echo "eth $3 ip4 src=$1 dst=$2 $o icmp kind=0x11 code=1 rest=0 fill=64"
	echo "eth $3 ip4 src=$1 dst=$2 $o icmp kind=0x11 code=1 rest=$g fill=64"
	echo "eth $3 ip4 src=$1 dst=$2 $o icmp kind=0x11 rest=$g" # version 1
	echo "eth $3 ip4 src=$1 dst=$2 $o icmp kind=0x11 code=1 rest=$g hex=020100010a070002"
	echo "eth $3 ip4 src=$1 dst=$2 $o icmp kind=0x11 code=1 rest=0 hex=02010000 fill=600"
	echo "eth $3 ip4 src=$1 dst=$2 ttl=64 type=2 icmp kind=0x11 code=1 rest=0"
	for k in 0x12 0x13 0x14 0x16 0x17 0x22 0x30; do
		echo "eth $3 ip4 src=$1 dst=$2 $o icmp kind=$k rest=$g fill=64"
	done
}
groups6() { # source destination MAC
	local o="ext kind=0 size=8 hex=050200000100" g=ff050000000000000000000100020003 k
	local any=00000000000000000000000000000000
	echo "eth $3 ip6 src=$1 dst=$2 hop=1 $o icmp kind=130 rest=0x00010000 hex=$any"
	echo "eth $3 ip6 src=$1 dst=$2 hop=1 $o icmp kind=130 rest=0x00010000 hex=$g"
	echo "eth $3 ip6 src=$1 dst=$2 hop=1 $o icmp kind=130 rest=0x00010000 hex=${g}02010000"
	echo "eth $3 ip6 src=$1 dst=$2 hop=1 $o icmp kind=130 rest=0x00010000 hex=${any}02010000 fill=600"
	echo "eth $3 ip6 src=$1 dst=$2 hop=1 icmp kind=130 rest=0x00010000 hex=$any"
	for k in 131 132 143 151 152 153; do
		echo "eth $3 ip6 src=$1 dst=$2 hop=1 $o icmp kind=$k hex=$g fill=64"
	done
}
frames() { # sources4 sources6 DPU's-address DPU's-link-local
	local s
	for s in $1; do
		groups4 "$s" 224.0.0.1 dst=01:00:5e:00:00:01
		groups4 "$s" 239.1.2.3 dst=01:00:5e:01:02:03
		groups4 "$s" 224.0.0.22 dst=01:00:5e:00:00:16
		groups4 "$s" "$3" ""
	done
	for s in $2; do
		groups6 "$s" ff02::1 dst=33:33:00:00:00:01
		groups6 "$s" ff05::1:2:3 dst=33:33:00:02:00:03
		groups6 "$s" ff02::16 dst=33:33:00:00:00:16
		groups6 "$s" "$4" ""
	done
}
# Queries and reports that the kernel accepted: IPv4 by a raw socket, IPv6 by its counters.
no_igmp() { [[ $(heard | grep -oE 'control4 [0-9]+') == 'control4 0' ]]; }
no_mld() {
	in_dpu nstat -asz Icmp6InGroup\* Icmp6InMLD\* | awk '{ n += $2 } END { exit n != 0 }'
}
frames "$HOST4 $W4 0.0.0.0 10.7.0.1" "fe80::1 $HOST6 ::" 10.7.0.1 "$LL_HOST" >"$LAB_TMP/by-host"
frames "$LAB_VIA4 $MGMT4 0.0.0.0" "fe80::1 $MGMT6" 192.0.2.1 "$LL_WIRE" >"$LAB_TMP/by-wire"
for who in host wire; do
	brings $who 1000 0.5 # it may take its time to answer: a tenth of a second here
	promised "no IGMP of the $who reaches the kernel" no_igmp
	promised "nor does MLD" no_mld
	nothing_leaves "and nothing of it leaves"
	no_socket_heard "or reaches another socket"
done
granted_arrives
done_testing
