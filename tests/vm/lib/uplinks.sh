# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Two trays with SAs made by hand; the first has two uplinks. Needs topo/trays.sh, topo/manual_sa.sh, topo/mesh.sh.
pass_again() { passes 10.0.2.2 && passes fd00:2::2; }
two_policy() { # this tray, its uplinks
	cat <<-END
	version: 1
	node: tray-$1
	uplinks: [$2]
	host_ports: [{ dev: pf0hpf, sources: [10.0.$1.0/24, "fd00:$1::/64"] }]
	heartbeat: none
	peers:
	  - { name: tray-$((3 - $1)), addresses: [10.0.$((3 - $1)).0/24, "fd00:$((3 - $1))::/64"], ipsec: { remote: 192.0.2.$((3 - $1)) }, grant: { rate: 10mbit } }
	END
}
second_uplink() { # s3 at the switch, without an address of its own
	lab_veth dpu1 p1 switch s3
	ip_in switch link set s3 master br0
	ip_in dpu1 link set p1 address "$(tray_mac 1 5)"
	LEAK_SENDER[s3]="dpu1 p1"
}
attach() { # tray uplinks…
	local n=$1 dev options=() ports=("s$1")
	shift
	[[ "$n $*" != *1*bond0* && "$n $*" != *p1* ]] || ports+=(s3)
	for dev in "$@"; do options+=(--uplink "$dev"); done
	mkdir -p "$LAB_PINS"
	leak_watch "$n" "${ports[@]}" || return
	tray_quiet tray_load "$n" attach --drill --fresh-volume --host pf0hpf "${options[@]}" --tunnel bwl0 && leak_since "$n" &&
		tray_apply "$n" < <(two_policy "$n" "$(IFS=,; echo "$*")")
}
by_hand() {
	sa_pair 1 2
	sa_usable 1 "$(sa_if_id 1 tray-2)" 3
	sa_usable 2 "$(sa_if_id 2 tray-1)" 3
}
sent_esp() { # capture port: ESP frames that arrived there
	tcpdump -nn -r "$LAB_TMP/$1.$2.pcap" 'ip proto 50' 2>/dev/null | wc -l
}
