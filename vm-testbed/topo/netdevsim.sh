# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# A DPU as its drivers show it: netdevsim in switchdev mode, an uplink (devlink flavour physical)
# and representors of VFs (pcivf, phys_port_name pf0vfN), in a network namespace of tests/harness/
# lab.sh. A test that uses this says `# vm-needs: netdevsim`.
#
# For the control path: netdevsim takes native XDP on the uplink and never runs it, encrypts
# nothing, and connects to nothing by itself.

nsim_up() { # namespace vfs: devices p0, pf0vf0, pf0vf1 …
	local ns=$1 vfs=$2 dev port name
	if [[ ! -d /sys/bus/netdevsim ]]; then
		modprobe -a psample udp_tunnel macsec 2>/dev/null # what it uses, where it is a module
		insmod "$BWL_VM_CACHE/modules/$BWL_VM/netdevsim/netdevsim.ko" || return
	fi
	# A device comes up in the namespace of who writes.
	in_ns "$ns" sh -c 'echo "1 1" >/sys/bus/netdevsim/new_device' || return
	echo "$vfs" >/sys/bus/netdevsim/devices/netdevsim1/sriov_numvfs || return
	in_ns "$ns" devlink dev eswitch set netdevsim/netdevsim1 mode switchdev || return
	# By what the driver calls its ports, not by names, which udev may or may not have given.
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
