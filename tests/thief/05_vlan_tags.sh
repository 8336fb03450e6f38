#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# VLAN tags: not listed, nested, with other EtherTypes, three deep, and one that is allowed.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 1 "tags that are not listed are dropped; a listed one is charged and goes no further"
thief_lab
vlan_frames() { # destination4 destination6
	cat <<-END
	eth vlan id=9 ip4 src=$HOST4 dst=$1 udp fill=500
	eth vlan id=0 ip4 src=$HOST4 dst=$1 udp fill=500
	eth vlan id=4095 ip6 src=$HOST6 dst=$2 udp fill=500
	eth vlan tpid=0x88a8 id=9 vlan id=5 ip4 src=$HOST4 dst=$1 udp fill=500
	eth vlan tpid=0x88a8 id=5 vlan id=9 ip6 src=$HOST6 dst=$2 udp fill=500
	eth vlan id=5 vlan id=5 vlan id=5 ip4 src=$HOST4 dst=$1 udp fill=500
	eth vlan id=5 vlan id=5 vlan id=5 vlan id=5 ip4 src=$HOST4 dst=$1 udp fill=500
	eth vlan tpid=0x9100 id=5 ip4 src=$HOST4 dst=$1 udp fill=500
	eth type=0x9200 hex=00050800 ip4 src=$HOST4 dst=$1 udp fill=500
	eth vlan id=5 type=0x88b5 ip4 src=$HOST4 dst=$1 udp fill=500
	eth vlan id=5 type=5 ip4 src=$HOST4 dst=$1 udp fill=500
	eth vlan id=9 arp sip=$HOST4 tip=$1
	eth vlan id=5 cut=16
	END
}
{
	vlan_frames $A4 $A6
	vlan_frames $X4 $X6
	vlan_frames 10.7.0.1 fd00:7:0::1
	vlan_frames 10.250.0.2 fd00:250::2
} >"$LAB_TMP/frames"
judges_on
steal --count 2000 --pps 2000 <"$LAB_TMP/frames"
judges_off
nothing_leaves "no tag is listed: nothing leaves by any device"
no_socket_heard "and nothing ends at a socket of the DPU"

# Now tag 5 is allowed: once, or twice.
thief_peers | lab_policy_head | sed 's/^    sources:.*/&\n    vlans: [5]/' | lab_apply
{
	vlan_frames $A4 $A6
	vlan_frames $X4 $X6
	vlan_frames 10.7.0.1 fd00:7:0::1
	vlan_frames 10.250.0.2 fd00:250::2
	echo "eth vlan id=5 ip4 src=$HOST4 dst=$A4 udp fill=1000"
	echo "eth vlan id=5 ip6 src=$HOST6 dst=$A6 udp fill=1000"
	echo "eth vlan tpid=0x88a8 id=5 vlan id=5 ip4 src=$HOST4 dst=$A4 udp fill=1000"
} >"$LAB_TMP/frames"
sleep 0.5
judges_on
steal --count 18000 --pps 6000 <"$LAB_TMP/frames"
judges_off
something_at "with tag 5 listed its IPv4 packets leave" d1 "^$A4\$"
something_at "and its IPv6 packets" d1 "^$A6\$"
within "and stay within the grant, tags and all" "$(arrived d1)" $RATE $BURST
promised "no tag reaches the wire" [ "$(grep -c vlan "$LAB_TMP/at-wire")" -eq 0 ]
promised "no frame of another EtherType does either" \
	[ "$(grep -vcE '^(#|total|marked|protocols|device|0800|0806|86dd) ' "$LAB_TMP/at-wire")" -eq 0 ]
nothing_at "a stranger gets nothing, whatever the tags" d4
nothing_at "nor does the management network" mgmt
no_socket_heard "nor a socket of the DPU"
done_testing
