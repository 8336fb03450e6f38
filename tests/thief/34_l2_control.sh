#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Control protocols below IP, and carriers of other frames: to addresses that switches and network
# cards keep for themselves, to all stations, and to the DPU's ports; tagged and untagged.
set -uo pipefail
# shellcheck source=reach.sh
. "$(dirname "${BASH_SOURCE[0]}")/reach.sh"
attacks 1 "control frames of a host end at the DPU"
# What the DPU's own underlay may use is still not permitted to the host.
NAMED='uplink_control: [lldp, lacp, ptp, bfd]'
reach_lab
# A VLAN device with an address on the host port, as a site may have one.
if ip_in dpu link add link hpf0 name hpf0.5 type vlan id 5 2>/dev/null; then
	ip_in dpu link set hpf0.5 up
	lab_addr dpu hpf0.5 10.78.0.1/24 fd00:78::1/64
else
	note "this kernel has no VLAN devices"
fi

types='0x8808 0x8809 0x88cc 0x888e 0x88e5 0x8863 0x8864 0x88f7 0x8847 0x8848 0x8902 0x8906 0x8914
	0x22f0 0x22ea 0x892f 0x88fb 0x88e7 0x894f 0x8035 0x80f3 0x809b 0x8137 0x6558 0x9000 0x9100
	0x88b5 0x0101 0x0027 0x0004 0x05dc 0x0600 0xffff 0x0003'
macs="$(lab_mac dpu hpf0) $(lab_mac dpu p0) $(lab_mac dpu mgmt0) ff:ff:ff:ff:ff:ff 01:80:c2:00:00:00
	01:80:c2:00:00:01 01:80:c2:00:00:02 01:80:c2:00:00:03 01:80:c2:00:00:0e 01:80:c2:00:00:10
	01:00:0c:cc:cc:cc 01:1b:19:00:00:00 01:00:0c:cd:cd:d0 33:33:00:00:00:01"
frames() { # source4 source6 gateway4 gateway6
	local t m
	for m in $macs; do
		for t in $types; do echo "eth dst=$m type=$t fill=64"; done
		# 802.2: spanning tree, CDP, IPX and IP in SNAP
		echo "eth dst=$m type=0x0064 hex=424203 fill=97"
		echo "eth dst=$m type=0x0064 hex=aaaa0300000c2000 fill=92"
		echo "eth dst=$m type=0x0064 hex=aaaa030000000800 fill=92"
		# PPPoE, MPLS, priority, Q in Q, and endless tags, with IP inside
		echo "eth dst=$m type=0x8864 hex=1100000100420021 ip4 src=$1 dst=$3 udp fill=64"
		echo "eth dst=$m type=0x8847 hex=000011ff ip4 src=$1 dst=$3 udp fill=64"
		echo "eth dst=$m vlan id=0 ip4 src=$1 dst=$3 udp fill=64"
		echo "eth dst=$m vlan id=0 ip4 src=$1 dst=10.7.0.1 udp fill=64"
		echo "eth dst=$m vlan id=0 ip6 src=$2 dst=fd00:7:0::1 udp fill=64"
		echo "eth dst=$m vlan id=5 ip4 src=10.78.0.2 dst=10.78.0.1 udp fill=64"
		echo "eth dst=$m vlan id=5 ip6 src=fd00:78::2 dst=fd00:78::1 udp fill=64"
		echo "eth dst=$m vlan id=5 ip6 src=fe80::1 dst=fd00:78::1 hop=255 nd kind=135 target=fd00:78::1 fill=64"
		echo "eth dst=$m vlan id=4095 ip6 src=$2 dst=$4 udp fill=64"
		echo "eth dst=$m vlan id=5 tpid=0x88a8 vlan id=7 ip6 src=$2 dst=$4 udp fill=64"
		echo "eth dst=$m vlan id=0 vlan id=0 ip4 src=$1 dst=$3 udp fill=64"
		echo "eth dst=$m vlan id=0 vlan id=0 vlan id=0 ip6 src=$2 dst=$4 udp fill=64"
	done
}
frames $HOST4 $HOST6 $MGMT4 $MGMT6 >"$LAB_TMP/by-host"
frames $LAB_VIA4 $LAB_VIA6 $MGMT4 $MGMT6 >"$LAB_TMP/by-wire"
for who in host wire; do
	brings $who 3000
	nothing_leaves "no control frame of the $who, and nothing about it, leaves"
	no_socket_heard "and no socket hears what is in one"
done
granted_arrives
done_testing
