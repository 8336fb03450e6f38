# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# A DPU as its drivers present it: netdevsim in switchdev mode, with an uplink (devlink flavour physical)
# and representors of VFs (pcivf, phys_port_name pf0vfN), in a network namespace of tests/harness/
# lab.sh. A test that uses this says `# vm-needs: netdevsim`.
#
# netdevsim accepts native XDP on the uplink, but runs it only on devices of nsim_wire. It encrypts nothing, and
# connects to nothing by itself.

nsim_load() {
	[[ ! -d /sys/bus/netdevsim ]] || return 0
	modprobe -a psample udp_tunnel macsec 2>/dev/null # what it uses, if that is a module
	insmod "$BWL_VM_CACHE/modules/$BWL_VM/netdevsim/netdevsim.ko"
}
nsim_up() { # namespace vfs: devices p0, pf0vf0, pf0vf1 …
	local ns=$1 vfs=$2 dev port name
	nsim_load || return
	# A device appears in the namespace of the process that writes.
	in_ns "$ns" sh -c 'echo "1 1" >/sys/bus/netdevsim/new_device' || return
	echo "$vfs" >/sys/bus/netdevsim/devices/netdevsim1/sriov_numvfs || return
	in_ns "$ns" devlink dev eswitch set netdevsim/netdevsim1 mode switchdev || return
	# Ports are found by the driver's names for them, because udev may or may not have renamed them.
	while read -r dev port; do
		case $port in
		p1) name=p0 ;;
		*) name=$port ;;
		esac
		ip_in "$ns" link set "$dev" down && ip_in "$ns" link set "$dev" name "$name" || return
	done < <(ip_in "$ns" -d -j link | jq -r '.[] | select(.phys_port_name) |
		"\(.ifname) \(.phys_port_name)"')
}
nsim_down() {
	echo 1 >/sys/bus/netdevsim/del_device
}
# What the device itself holds: SAs, policies, packets.
nsim_ipsec() {
	cat /sys/kernel/debug/netdevsim/netdevsim1/ports/0/ipsec
}

# Replaces an uplink's veth with another netdevsim, which runs XDP and sends what is redirected to it: p0
# of NAMESPACE is linked to w0 in namespace BOX, whose w1 is on port PORT of the switch. A program in BOX
# must forward between w0 and w1. Fails if the module is not our patched one.
nsim_wire() { # namespace box port
	local a b ns=$1 box=$2 port=$3
	nsim_load || return
	[[ -e /sys/module/netdevsim/parameters/xdp ]] || return
	ip_in switch link del "$port" # and with it the veth that was p0
	lab_ns "$box" && lab_veth "$box" w1 switch "$port" || return
	ip_in switch link set "$port" master br0
	lab_sysctl "$box" net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
	echo 1 >/sys/module/netdevsim/parameters/xdp
	in_ns "$ns" sh -c 'echo "1 1" >/sys/bus/netdevsim/new_device' || return
	in_ns "$box" sh -c 'echo "2 1" >/sys/bus/netdevsim/new_device' || return
	echo 0 >/sys/module/netdevsim/parameters/xdp
	nsim_name "$ns" p0 && nsim_name "$box" w0 || return
	exec {a}<"/run/netns/$LAB-$ns" {b}<"/run/netns/$LAB-$box"
	echo "$a:$(nsim_index "$ns" p0) $b:$(nsim_index "$box" w0)" >/sys/bus/netdevsim/link_device || return
	exec {a}<&- {b}<&-
	ip_in "$ns" link set p0 up
	ip_in "$box" link set w0 up promisc on
	ip_in "$box" link set w1 promisc on
}
nsim_name() { # namespace name: renames the only port there
	local dev
	dev=$(ip_in "$1" -d -j link | jq -r '.[] | select(.phys_port_name) | .ifname')
	ip_in "$1" link set "$dev" down && ip_in "$1" link set "$dev" name "$2"
}
nsim_index() { ip_in "$1" -j link show "$2" | jq '.[0].ifindex'; }
