#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bond as the uplink: its members fail in turn; traffic continues and never leaves in the clear.
# vm-cost: 40
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-bond-$$
for part in tests/harness/tap vm-testbed/topo/trays \
	vm-testbed/topo/manual_sa vm-testbed/topo/mesh tests/vm/lib/uplinks; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
trays_up 2 || exit 1
link_up() { # member of the bond: as the bond reports it
	ip_in dpu1 -d -j link show "$1" | jq -e '.[0].linkinfo.info_slave_data.mii_status == "UP"' >/dev/null
}
status_says() { # jq-condition on the bond's port
	tray_load 1 status --json | jq -e ".ports[] | select(.port == \"bond0\") | ($1)" >/dev/null
}

second_uplink
modprobe bonding max_bonds=0
ip_in dpu1 addr flush dev p0
ip_in dpu1 link add bond0 type bond mode active-backup miimon 50
for dev in p0 p1; do
	ip_in dpu1 link set $dev down
	ip_in dpu1 link set $dev master bond0
done
ip_in dpu1 link set bond0 up
ip_in dpu1 addr add 192.0.2.1/24 dev bond0
check "tray 2 attaches" attach 2 p0
check "tray 1 attaches with a bond as its uplink" attach 1 bond0
verified() {
	tray_load 1 verify --json >"$LAB_TMP/verify"
	! jq -r '.checks[] | select(.result == "fail") | .text' "$LAB_TMP/verify" | grep -E 'p0|p1|bond0'
}
check "verify has nothing to say against the bond and its members" verified
check "status shows the bond, its members and that each has a carrier" \
	status_says '.carrier and ([.bond[] | select(.carrier) | .device] | sort == ["p0", "p1"])'
by_hand
capture_start bond s1 s2 s3
marker_start host1 10.0.2.2
check "traffic passes" pass_again
while read -ru 3 port member other; do
	ip_in switch link set "$port" down
	check "$member fails: status says so" lab_wait_for 20 status_says \
		".carrier and (.bond[] | select(.device == \"$member\") | .carrier | not)"
	check "and traffic goes on by $other" pass_again
	ip_in switch link set "$port" up
	check "$member is back" lab_wait_for 20 link_up "$member"
done 3<<<$'s1 p0 p1\ns3 p1 p0'
live "both members of the bond are back"
marker_stop
check "the capture is whole" capture_stop bond
check "both have carried ESP" test "$(sent_esp bond s1)" -gt 0 -a "$(sent_esp bond s3)" -gt 0
check "only ESP, ARP and ND left the trays by any of them" capture_only_encrypted bond
check "the marker never passed in the clear" capture_lacks_marker bond
leak_end
done_testing
