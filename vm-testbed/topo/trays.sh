# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Two or three trays on a switch, and a rogue device:
#
#   host1 ── h0   pf0hpf ── dpu1 ── p0   s1 ──┐
#   host2 ── h0   pf0hpf ── dpu2 ── p0   s2 ──┤ br0 in `switch`
#   host3 ── h0   pf0hpf ── dpu3 ── p0   s3 ──┤
#                          rogue ── p0   s9 ──┘
#
#   tray N   hosts 10.0.N.0/24, fd00:N::/64 (host .2, DPU .1)   underlay 192.0.2.N, 2001:db8::N
#   rogue    underlay 192.0.2.9, 2001:db8::9
#
# The DPUs forward nothing (ip_forward=0); the switch itself has no address and no IPv6. MACs
# are 02:00:00:00:0N:01 (h0), :02 (pf0hpf), :03 (p0), :04 (sN). Needs no bwlimit and no ESP.
#
# Source tests/harness/tap.sh, then this; set LAB to a unique prefix; call trays_up 2.
# TRAY_MTU is the uplinks' MTU (1500), LAB_MTU the hosts' (1500).

. "${BASH_SOURCE[0]%/*}/../../tests/harness/lab.sh"
# shellcheck source=leak.sh
. "${BASH_SOURCE[0]%/*}/leak.sh"
# shellcheck source=../../tests/harness/live.sh
. "${BASH_SOURCE[0]%/*}/../../tests/harness/live.sh"
TRAY_MTU=${TRAY_MTU:-1500}
TRAYS=0
TRAY_LEAK_WATCH=${TRAY_LEAK_WATCH:-yes} # no: of a test that counts instructions, or whose trays send in the clear

tray_mac() { # tray port-number
	printf '02:00:00:00:%02x:%02x' "$1" "$2"
}
# Sets the MAC before the device is up, so that its link-local address is made from that MAC.
tray_set_mac() { # namespace device tray port-number
	ip_in "$1" link set "$2" down &&
		ip_in "$1" link set "$2" address "$(tray_mac "$3" "$4")" &&
		ip_in "$1" link set "$2" up
}

# Connects device p0 of a namespace to port sN of the switch, and gives it the underlay's addresses.
tray_cable_new() { # namespace number
	LAB_MTU=$TRAY_MTU lab_veth "$1" p0 switch "s$2" || return
	tray_set_mac switch "s$2" "$2" 4
	ip_in switch link set "s$2" master br0
	tray_set_mac "$1" p0 "$2" 3
	lab_addr "$1" p0 "192.0.2.$2/24" "2001:db8::$2/64"
}

tray_up() { # number
	local n=$1
	lab_ns "dpu$n" && lab_ns "host$n" || return
	lab_sysctl "dpu$n" net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
	tray_cable_new "dpu$n" "$n"
	lab_veth "host$n" h0 "dpu$n" pf0hpf || return
	lab_xps "host$n" h0
	tray_set_mac "host$n" h0 "$n" 1
	tray_set_mac "dpu$n" pf0hpf "$n" 2
	lab_addr "host$n" h0 "10.0.$n.2/24" "fd00:$n::2/64"
	lab_addr "dpu$n" pf0hpf "10.0.$n.1/24" "fd00:$n::1/64"
	ip_in "host$n" route add default via "10.0.$n.1"
	ip_in "host$n" -6 route add default via "fd00:$n::1"
	TRAYS=$((TRAYS > n ? TRAYS : n))
}

trays_up() { # how many
	local n
	trap lab_down EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	lab_require || return
	LAB_TMP=$(mktemp -d)
	lab_ns switch || return
	lab_sysctl switch net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
	ip_in switch link add br0 mtu "$TRAY_MTU" type bridge mcast_snooping 0 || return
	ip_in switch link set br0 up
	for ((n = 1; n <= $1; n++)); do tray_up "$n" || return; done
	lab_ns rogue && tray_cable_new rogue 9
}

# Unplugs the cable of tray N from the switch and plugs it into the rogue device (as its port c0), or
# back.
tray_cable_to_rogue() { # number
	ip_in switch link set "s$1" nomaster
	ip_in switch link set "s$1" netns "$LAB-rogue" name c0 && ip_in rogue link set c0 up
}
tray_cable_back() { # number
	ip_in rogue link set c0 down
	ip_in rogue link set c0 netns "$LAB-switch" name "s$1"
	ip_in switch link set "s$1" master br0
	ip_in switch link set "s$1" up
}

# bwlimit on the DPU of tray N, with its own pins.
tray_load() { # number arguments…
	local n=$1
	shift
	BWLIMIT_PIN_DIR=$LAB_PINS/tray$n in_ns "dpu$n" "$LOAD" "$@"
}
tray_ctl() { # number arguments…
	local n=$1
	shift
	BWLIMIT_PIN_DIR=$LAB_PINS/tray$n in_ns "dpu$n" "$CTL" "$@"
}
# Prints the command's output if it fails.
tray_quiet() { # command…
	"$@" >"$LAB_TMP/said" 2>&1 && return
	sed 's/^/# /' "$LAB_TMP/said"
	return 1
}
tray_attach() { # number further-options…
	local n=$1
	shift
	mkdir -p "$LAB_PINS"
	[[ $TRAY_LEAK_WATCH == no ]] || leak_watch "$n" || return
	tray_quiet tray_load "$n" attach --drill --fresh-volume --host pf0hpf --uplink p0 "$@" && leak_since "$n"
}
tray_apply() { # number; policy on standard input; renews the heartbeat
	cat >"$LAB_TMP/policy$1.yaml"
	tray_quiet tray_ctl "$1" policy apply "$LAB_TMP/policy$1.yaml" &&
		tray_quiet tray_ctl "$1" heartbeat
}

# What live (tests/harness/live.sh) sends: from the host of tray LIVE_FROM to that of the other.
LIVE_FROM=1 LIVE_PPS=400
live_path() { # family
	local from=$LIVE_FROM to=$((3 - LIVE_FROM))
	echo "host$from" h0 "$(tray_mac "$from" 2)" "host$to" h0
	if [[ $1 == 4 ]]; then echo "10.0.$from.2" "10.0.$to.2"; else echo "fd00:$from::2" "fd00:$to::2"; fi
}
live_settle() { in_ns switch "$FRAMES" settle; }
