#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tunnels that end at the DPU: every encapsulation that a kernel can remove, with a packet for a
# neighbour of the DPU inside; ESP, AH and IKE from the host and from the wire, where only the DPUs
# of encrypted peers may use them; and addresses of IPv6 that spell one of IPv4 (::ffff:a.b.c.d and the like).
set -uo pipefail
# shellcheck source=reach.sh
. "$(dirname "${BASH_SOURCE[0]}")/reach.sh"
attacks 1 "no host makes the DPU take a packet out of another"
reach_lab
# The DPU has a device for every tunnel type that this kernel knows.
tunnels=''
tunnel() { # name, arguments of ip link add
	ip_in dpu link add "$1" type "${@:2}" 2>/dev/null && ip_in dpu link set "$1" up && tunnels+=" $1"
}
tunnel vx4 vxlan id 7 dstport 4789 local 10.7.0.1
tunnel vx6 vxlan id 7 dstport 4790 local fd00:7:0::1
tunnel gn4 geneve id 7 remote $HOST4
tunnel gr4 gre local 10.7.0.1 remote $HOST4
tunnel gr6 ip6gre local fd00:7:0::1 remote $HOST6
tunnel ii4 ipip local 10.7.0.1 remote $HOST4
tunnel si4 sit local 10.7.0.1 remote $HOST4
tunnel ii6 ip6tnl local fd00:7:0::1 remote $HOST6 mode any
note "tunnels of this kernel:$tunnels"
for dev in $tunnels; do ip_in dpu addr add 10.79.0.1/24 dev "$dev"; done
VX_MAC=$(lab_mac dpu vx4) VX6_MAC=$(lab_mac dpu vx6)

into() { # what a carrier brings: frames, then packets of IPv4 and IPv6
	local carrier=$1 mac=$2
	echo "$carrier eth dst=$mac ip4 src=10.79.0.2 dst=$MGMT4 udp fill=64"
	echo "$carrier eth dst=$mac ip6 src=fd00:79::2 dst=$MGMT6 udp fill=64"
	echo "$carrier eth dst=$mac ip4 src=10.79.0.2 dst=10.7.0.1 udp fill=64"
}
tunnels_to() { # outer layer of IP, DPU's VXLAN MAC
	into "$1 udp sport=4789 dport=4789 hex=0800000000000700" "$2"
	into "$1 udp sport=4789 dport=4790 hex=0800000000000700" "$2"
	into "$1 udp sport=4790 dport=4790 hex=0c00000300000700" "$2" # GPE
	into "$1 udp sport=6081 dport=6081 hex=0000655800000700" "$2"
	into "$1 udp sport=8472 dport=8472 hex=0800000000000700" "$2"
	into "$1 type=47 hex=00006558" "$2"
	echo "$1 type=47 hex=00000800 ip4 src=10.79.0.2 dst=$MGMT4 udp fill=64"
	echo "$1 type=47 hex=000086dd ip6 src=fd00:79::2 dst=$MGMT6 udp fill=64"
	echo "$1 type=4 ip4 src=10.79.0.2 dst=$MGMT4 udp fill=64"
	echo "$1 type=41 ip6 src=fd00:79::2 dst=$MGMT6 udp fill=64"
	echo "$1 type=137 hex=00010140 ip4 src=10.79.0.2 dst=$MGMT4 udp fill=64"
	echo "$1 type=115 hex=0000000100000000 fill=64"
	echo "$1 type=94 fill=64"
	echo "$1 type=108 hex=04000001 fill=64"
	echo "$1 udp sport=1701 dport=1701 hex=c802005c fill=80"
	echo "$1 udp sport=51820 dport=51820 hex=01000000 fill=144"
	echo "$1 udp sport=2152 dport=2152 hex=30ff004000000001 ip4 src=10.79.0.2 dst=$MGMT4 udp fill=64"
	echo "$1 udp sport=6635 dport=6635 hex=000011ff ip4 src=10.79.0.2 dst=$MGMT4 udp fill=64"
	echo "$1 udp sport=3544 dport=3544 ip6 src=fd00:79::2 dst=$MGMT6 udp fill=64"
	ipsec_to "$1"
}
ipsec_to() { # outer layer of IP
	local spi
	for spi in 00000001 00000100 deadbeef ffffffff; do
		echo "$1 type=50 hex=${spi}00000001 fill=64"
		echo "$1 type=51 hex=11040000${spi}00000001000000000000000000000000 fill=64"
		echo "$1 udp sport=4500 dport=4500 hex=${spi}00000001 fill=64"
	done
	echo "$1 type=50 fill=4"
	echo "$1 udp sport=500 dport=500 hex=0102030405060708000000000000000021202208000000000000005c fill=64"
	echo "$1 udp sport=4500 dport=4500 hex=000000000102030405060708000000000000000021202208000000000000005c fill=64"
	echo "$1 udp sport=4500 dport=4500 hex=ff"
	echo "$1 udp sport=40500 dport=500 fill=64"
	echo "$1 udp sport=40500 dport=4500 hex=00000000 fill=64"
}
{
	for d in $DPU4; do
		tunnels_to "eth ip4 src=$HOST4 dst=$d" "$VX_MAC"
		ipsec_to "eth ip4 src=$W4 dst=$d"
		ipsec_to "eth ip4 src=$R4 dst=$d"
	done
	for d in $DPU6; do
		tunnels_to "eth ip6 src=$HOST6 dst=$d" "${VX6_MAC:-$GATEWAY}"
		ipsec_to "eth ip6 src=$W6 dst=$d"
		ipsec_to "eth ip6 src=$R6 dst=$d"
	done
} >"$LAB_TMP/by-host"
{
	for d in $DPU4; do
		tunnels_to "eth ip4 src=$HOST4 dst=$d" "$VX_MAC"
		ipsec_to "eth ip4 src=$MGMT4 dst=$d"
	done
	for d in $DPU6; do
		tunnels_to "eth ip6 src=$HOST6 dst=$d" "${VX6_MAC:-$GATEWAY}"
		ipsec_to "eth ip6 src=$MGMT6 dst=$d"
	done
} >"$LAB_TMP/by-wire"
# In the name of the two remotes it does go up: to IKE, where the judge has the socket, and to ESP.
{
	for d in $DPU4 10.66.0.9; do ipsec_to "eth ip4 src=$R4 dst=$d"; done
	for d in $DPU6 fd00:dead::9; do ipsec_to "eth ip6 src=$R6 dst=$d"; done
} >"$LAB_TMP/by-remote"
for who in host wire remote; do
	brings $who 3000
	nothing_leaves "nothing leaves of what the $who brings in tunnels and of what the kernel says to it"
	[[ $who == remote ]] || no_socket_heard "nor does a socket hear it"
done
check "of the remotes' the sockets of IKE do hear, of both families" \
	eval '[[ $(heard) != *"udp4 0 "* && $(heard) != *"udp6 0 "* ]]'

# In the name of an IPv4 host, by IPv6: a remote, the peer of named control, a clear peer; to the DPU and to the host.
spells() { # IPv4 address
	local a
	IFS=. read -ra a <<<"$1"
	echo "::ffff:$1 ::$1 ::ffff:0:$(printf '%02x%02x:%02x%02x' "${a[@]}")"
}
named=$NAMED
NAMED='uplink_control: [bgp, bfd]'
thief_peers | lab_policy_head | lab_apply || nok "the policy names control"
{
	for d in $DPU6 $(spells 192.0.2.1); do
		for s in $(spells $R4) $(spells $LAB_VIA4) $(spells $A4); do
			ipsec_to "eth ip6 src=$s dst=$d"
			echo "eth ip6 src=$s dst=$d udp sport=49152 dport=3784 fill=64"
			echo "eth ip6 src=$s dst=$d tcp sport=40001 dport=179 flags=2 fill=64"
		done
	done
	for d in $(spells 192.0.2.1); do ipsec_to "eth ip6 src=$R6 dst=$d"; done
	for s in $(spells $A4); do echo "eth ip6 src=$s dst=$HOST6 udp fill=64"; done
	for d in $(spells $HOST4); do echo "eth ip6 src=$A6 dst=$d udp fill=64"; done
} >"$LAB_TMP/by-spelled"
printf 'eth ip%s udp fill=64\n' "4 src=$A4 dst=$HOST4" "6 src=$A6 dst=$HOST6" >"$LAB_TMP/by-clear"
at_host_on() {
	lab_bg at-host0 host "$FRAMES" count h0
	AT_HOST=$LAB_PID
	lab_wait_for 5 grep -q ready "$LAB_TMP/at-host0" || nok "the judge at the host is ready"
}
at_host_off() {
	lab_settle
	kill -TERM "$AT_HOST"
	wait "$AT_HOST"
}
at_host_on
DPU_PORTS="$DPU_PORTS 3784" brings spelled 3000
at_host_off
nothing_leaves "nothing leaves of what comes by IPv6 in the name of an IPv4 host"
no_socket_heard "no socket hears it, not even IKE's and those of named control"
nothing_marked_at "and no host receives it as a peer's" host0
at_host_on
brings clear 100
at_host_off
something_at "what the peer sends by IPv4 the host receives" host0 "^$HOST4\$" "^$A4\$"
something_at "and what he sends by IPv6" host0 "^fd00:7::2\$" "^$A6\$"
NAMED=$named

# The host to such an address, with a grant for the addresses around it.
{
	thief_peers
	printf '  - { name: wide, addresses: ["::/3"], path: clear, via6: "%s", grant: { rate: 1mbit } }\n' $LAB_VIA6
} | lab_policy_head | lab_apply || nok "the policy has a peer around them"
{
	for a in $(spells $A4) $(spells $X4) $(spells 10.250.0.2); do
		echo "eth ip6 src=$HOST6 dst=$a udp fill=64"
		echo "eth ip6 src=$HOST6 dst=$a frag6 mf=1 udp fill=64"
	done
	for a in $(spells $HOST4); do
		echo "eth ip6 src=$a dst=$A6 udp fill=64"
		echo "eth ip6 src=$a dst=64:ff9b::9 udp fill=64"
	done
} >"$LAB_TMP/by-host"
brings host 3000
nothing_leaves "nothing that a host sends to or from such an address leaves, whoever has the prefix around it"
no_socket_heard "or reaches a socket"
judges_on
steal --count 10 --pps 100 <<<"eth ip6 src=$HOST6 dst=64:ff9b::a65:9 udp fill=64"
judges_off
something_at "while the rest of that prefix is the peer's, such as what a translator of the network has" wire '^64:ff9b::'
granted_arrives
done_testing
