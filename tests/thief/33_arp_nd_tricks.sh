#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ARP and neighbour discovery, which end at the DPU: to wrong receivers, with more data than belongs
# there, about addresses of other ports, and with contents that make a host change its routes.
set -uo pipefail
# shellcheck source=reach.sh
. "$(dirname "${BASH_SOURCE[0]}")/reach.sh"
attacks 1 "ARP and ND end at the DPU, and change nothing there but their own entry"
reach_lab
# As if the underlay's routes came by advertisements; and packets without a route cause errors.
for dev in hpf0 p0; do lab_sysctl dpu net.ipv6.conf.$dev.accept_ra=2 net.ipv6.conf.$dev.accept_redirects=1; done
ip_in dpu -6 route add unreachable fd00:dead::/64
ip_in dpu -6 route add prohibit fd00:dead:1::/64
ip_in dpu route add unreachable 10.66.0.0/16
HOST_MAC=$(lab_mac host h0)

FILL="hex=fd03$(printf '%012d' 0)" # an option (RFC 4727) for 16 bytes more
nd() { # source destination MAC
	local t o
	for t in fd00:7:0::1 2001:db8::1 fd00:250::1 "$MGMT6"; do
		echo "eth $3 ip6 src=$1 dst=$2 hop=255 nd kind=135 target=$t sll=02:00:00:00:00:01 $FILL fill=16"
		echo "eth $3 ip6 src=$1 dst=$2 hop=255 nd kind=136 flags=0xe0000000 target=$t tll=02:00:00:00:00:01 $FILL fill=16"
		echo "eth $3 ip6 src=$1 dst=$2 hop=255 nd kind=136 flags=0 target=$t tll=02:00:00:00:00:01"
	done
	for o in fill=800 fill=1180 hex=0000 hex=fd000000 hex=01ff "hex=0101" "$FILL fill=4"; do
		echo "eth $3 ip6 src=$1 dst=$2 hop=255 nd kind=135 target=fd00:7:0::1 $o"
		echo "eth $3 ip6 src=$1 dst=$2 hop=255 nd kind=136 target=fd00:7:0::2 $o"
	done
	echo "eth $3 ip6 src=$1 dst=$2 hop=64 nd kind=135 target=fd00:7:0::1 fill=64"
	echo "eth $3 ip6 src=$1 dst=$2 hop=255 nd kind=135 target=ff02::1 fill=64"
	echo "eth $3 ip6 src=$1 dst=$2 hop=255 frag6 id=7 nd kind=135 target=fd00:7:0::1 fill=64"
	echo "eth $3 ip6 src=$1 dst=$2 hop=255 ext kind=0 size=8 hex=c2040000 nd kind=135 target=fd00:7:0::1 fill=64"
}
# Router advertisements with a route, a prefix, an MTU, a hop limit; redirects; solicitations.
routers() { # link-local destination MAC
	# reachable and retransmission time, the router's MAC, MTU 1280, a prefix for address configuration
	local ra=00007530000003e901010200000000010501000000000500
	ra+=030440c0000fffff000fffff0000000020010666000000000000000000000000
	echo "eth $3 ip6 src=$1 dst=$2 hop=255 icmp kind=134 rest=0x01080708 hex=$ra $FILL fill=16"
	echo "eth $3 ip6 src=$1 dst=$2 hop=255 icmp kind=134 rest=0x01080708 hex=$ra"
	echo "eth $3 ip6 src=$1 dst=$2 hop=255 nd kind=137 target=$1 dest=$MGMT6 tll=02:00:00:00:00:01"
	echo "eth $3 ip6 src=$1 dst=$2 hop=255 nd kind=137 target=$MGMT6 dest=$MGMT6 tll=02:00:00:00:00:01"
	echo "eth $3 ip6 src=$1 dst=$2 hop=255 nd kind=133 sll=02:00:00:00:00:01 $FILL fill=16"
}
arps() { # sender-MAC sender-address
	local t op m
	for t in 10.7.0.1 10.7.1.1 192.0.2.1 10.250.0.1 $MGMT4 $LAB_VIA4 10.7.1.2 10.66.0.1 127.0.0.1 224.0.0.1; do
		for op in 1 2 9; do
			for m in "" dst=ff:ff:ff:ff:ff:ff; do
				echo "eth $m src=$1 arp op=$op smac=$1 sip=$2 tip=$t fill=64"
				echo "eth $m src=$1 arp op=$op smac=$1 sip=$2 tmac=02:00:00:00:00:01 tip=$t fill=200"
			done
		done
	done
}
frames() { # sources6 DPU's-link-local more-destinations
	local s d
	for s in $1; do
		for d in fd00:7:0::1 fd00:250::1 2001:db8::1 "$2" $MGMT6 fd00:dead::1 fd00:dead:1::1 \
			fd00:999::1 ::1 fd00:7:1::2; do
			nd "$s" "$d" ""
		done
		nd "$s" ff02::1 dst=33:33:00:00:00:01
		nd "$s" ff02::1:ff00:1 dst=33:33:ff:00:00:01
		nd "$s" ff05::2 dst=33:33:00:00:00:02
		nd "$s" ff0e::1 dst=ff:ff:ff:ff:ff:ff
	done
}
# The kernel's log warns of a sender that claims the kernel's own address: with the MAC that it chose.
LOGGED=02:$(od -An -N5 -tx1 /dev/urandom | sed 's/^ //; s/ /:/g')
ours_is() { # source, address of the DPU
	echo "eth src=$LOGGED ip6 src=$1 dst=$2 hop=255 nd kind=136 flags=0x60000000 target=$2 tll=$LOGGED"
	echo "eth src=$LOGGED dst=33:33:00:00:00:01 ip6 src=$1 dst=ff02::1 hop=255 nd kind=136 flags=0x20000000 target=$2 tll=$LOGGED"
}
# As many as the port's small limit for neighbours allows.
{
	ours_is "$HOST6" fd00:7:0::1
	routers fe80::1 ff02::1 dst=33:33:00:00:00:01
	routers fe80::1 "$LL_HOST" ""
	arps "$HOST_MAC" $HOST4
	arps "$HOST_MAC" $W4
	frames "$W6 fe80::1 ::" "$LL_HOST"
} >"$LAB_TMP/by-host"
{
	ours_is $LAB_VIA6 2001:db8::1
	routers fe80::1 ff02::1 dst=33:33:00:00:00:01
	routers fe80::1 "$LL_WIRE" ""
	arps "$(lab_mac net s0)" $MGMT4
	arps "$(lab_mac net s0)" 10.9.9.9
	frames "$MGMT6 fe80::1" "$LL_WIRE"
} >"$LAB_TMP/by-wire"
ours() { # what must stay as it is, whatever is said on other ports
	ip_in dpu neigh replace $MGMT4 lladdr "$(lab_mac mgmt eth0)" nud reachable dev mgmt0
	ip_in dpu neigh replace $MGMT6 lladdr "$(lab_mac mgmt eth0)" nud reachable dev mgmt0
}
same_neighbours() {
	ip_in dpu neigh show dev mgmt0 | grep -E "^($MGMT4|$MGMT6) " | grep -cv "$(lab_mac mgmt eth0)"
}
asked() { # since the last time
	in_dpu env NSTAT_HISTORY="$LAB_TMP/nstat" nstat -z Icmp6InNeighborSolicits Icmp6InNeighborAdvertisements |
		awk '/^Icmp6/ && $2 == 0 { bad = 1 } END { exit bad }'
}
ours
asked
untouched_on
for who in host wire; do
	brings $who 700
	check "some of the $who's do reach the kernel, of ND" asked
	nothing_leaves "nothing that ARP and ND of the $who bring leaves"
	no_socket_heard "and no socket but the kernel's own hears it"
	untouched "nor do they change a route, an address, a group or a timer of the DPU"
done
if dmesg >"$LAB_TMP/dmesg" 2>/dev/null; then
	promised "nor does either write the kernel's log" [ "$(grep -c "$LOGGED" "$LAB_TMP/dmesg")" -eq 0 ]
else
	skip "nor does either write the kernel's log" "cannot be read here"
fi
check "the management's neighbours are where they were" [ "$(same_neighbours)" -eq 0 ]
check "the DPU answers the host that asks for its gateway, ARP" eval \
	'in_host ip neigh flush dev h0; in_host ping -c 1 -W 1 10.7.0.1 >/dev/null;
	 ip_in host neigh show 10.7.0.1 | grep_all lladdr'
check "and ND" eval 'in_host ping -c 1 -W 1 fd00:7:0::1 >/dev/null;
	ip_in host neigh show fd00:7:0::1 | grep_all lladdr'
granted_arrives
done_testing
