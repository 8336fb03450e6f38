# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # variables are for who sources this
#
# For attacks on the DPU's own kernel: the worst case for its answers. Its default route leads to
# management, the host's sources are wider than the connected subnet, so that
# answers to W4 and W6 are routed there, and the wire uses addresses of management's hosts.
# Source it instead of thief.sh.
#
#   brings WHO PPS [SECONDS]               runs by-WHO in LAB_TMP, between judges_on and judges_off
#   steal_by_wire OPTIONS… <<< frames      from the wire, to the uplink
#   DPU4, DPU6                             every address of the DPU, on any device
#   NAMED                                  a line of the policy: uplink_control
#   untouched_on / untouched SENTENCE      the DPU's routes, addresses and memberships did not change

LAB_DESTS=${LAB_DESTS:-1} LAB_HOSTS=${LAB_HOSTS:-2}
LAB_SOURCES=('10.7.0.0/24, 10.77.0.0/16, "fd00:7::/64", "fd00:77::/64"')
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"

W4=10.77.0.5 W6=fd00:77::5	# the host's, routed by management
R4=192.0.2.99 R6=2001:db8::99	# the DPUs of two encrypted peers, who have no SA
MGMT4=10.250.0.2 MGMT6=fd00:250::2
DPU4='10.7.0.1 192.0.2.1 10.250.0.1' DPU6='fd00:7:0::1 2001:db8::1 fd00:250::1'
NAMED=

thief_peers() { # in place of thief.sh's; a script may have its own
	printf '%s\npeers:\n' "$NAMED"
	lab_peer alpha 1 "grant: { rate: 1mbit, burst: 150kb, mode: police }"
	cat <<-END
	  - { name: enc4, addresses: [10.105.0.0/24], ipsec: { remote: $R4 }, grant: { rate: 1mbit } }
	  - { name: enc6, addresses: ["fd00:105::/64"], ipsec: { remote: "$R6" }, grant: { rate: 1mbit } }
	END
}

# An answer to a remote address would be seen at the wire.
reach_lab() {
	thief_lab
	UPLINK_MAC=$(lab_mac dpu p0)
	lab_addr net s0 $R4/24 $R6/64
	LL_HOST=$(lab_link_local dpu hpf0) LL_WIRE=$(lab_link_local dpu p0)
}
steal_by_wire() {
	in_ns net "$FRAMES" send s0 --gw "$UPLINK_MAC" "$@" >"$LAB_TMP/sent" || nok "the wire can send"
}
# The host's frames, or the wire's; waits SECONDS longer for the kernel's answers.
brings() { # who pps [seconds]
	local n by=steal
	[[ $1 == host ]] || by=steal_by_wire
	n=$(wc -l <"$LAB_TMP/by-$1")
	note "$n frames by the $1"
	judges_on
	$by --count "$n" --pps "$2" <"$LAB_TMP/by-$1"
	sleep "${3:-0}"
	judges_off
}

untouched_is() {
	{
		ip_in dpu -6 route show table all | grep -v '^multicast'
		ip_in dpu -4 route show table all
		ip_in dpu -o addr show | sed 's/valid_lft.*//'
		ip_in dpu maddr show
		in_dpu sh -c 'cat /proc/sys/net/ipv6/conf/*/hop_limit /proc/sys/net/ipv6/conf/*/mtu
			cat /proc/sys/net/ipv6/neigh/*/retrans_time_ms'
	} 2>/dev/null
}
untouched_on() { untouched_is >"$LAB_TMP/untouched"; }
untouched() { # sentence
	untouched_is | diff "$LAB_TMP/untouched" - >"$LAB_TMP/touched" ||
		sed 's/^/# /' "$LAB_TMP/touched"
	promised "$1" [ ! -s "$LAB_TMP/touched" ]
}
