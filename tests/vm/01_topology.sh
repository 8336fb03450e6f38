#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The trays, the capture at the switch and two charons, without bwlimit: the parts on which tests of the mesh
# rely.
# vm-cost: 50
# leak: no bwlimit; it shows that the watch can see
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-topo-$$
for part in tests/harness/tap vm-testbed/topo/trays tests/harness/charon; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
charon_require
trays_up 3 || exit 1

pings() { # namespace address
	in_ns "$1" ping -q -c 1 -W 5 "$2" >/dev/null
}
for n in 2 3 9; do
	check "DPU 1 reaches 192.0.2.$n on the underlay" pings dpu1 "192.0.2.$n"
	check "DPU 1 reaches 2001:db8::$n on the underlay" pings dpu1 "2001:db8::$n"
done
check "a host reaches its DPU" pings host1 fd00:1::1
ip_in dpu1 route add 10.0.2.0/24 via 192.0.2.2
ip_in dpu2 route add 10.0.1.0/24 via 192.0.2.1
refute "no DPU forwards by itself" pings host1 10.0.2.2
check "MACs are what they are on every run" \
	[ "$(lab_mac dpu2 p0) $(lab_mac host3 h0)" = "02:00:00:00:02:03 02:00:00:00:03:01" ]

# Traffic in the clear, which must not be: the judges see it.
lab_sysctl dpu1 net.ipv4.ip_forward=1
lab_sysctl dpu2 net.ipv4.ip_forward=1
capture_start clear s1 s2
marker_from host1 10.0.2.2 5
check "the capture lost nothing" capture_stop clear
refute "the judge of captures sees clear packets" capture_only_encrypted clear
refute "the judge of captures sees the marker" capture_lacks_marker clear
check "each frame is captured once" [ "$(capture_count clear 'icmp')" -eq 10 ]

# The leak watch finds what leaves from when it counts, and only that.
reset() { # family source destination
	in_ns dpu3 "$FRAMES" send p0 --gw "$(tray_mac 9 3)" <<<"eth $1 src=$2 dst=$3 tcp flags=4 sport=443" >/dev/null
}
reset4() { reset ip4 192.0.2.3 192.0.2.9; }
reset6() { reset ip6 2001:db8::3 2001:db8::9; }
watched() { # command…: nothing leaked
	leak_watch 3 && reset4 && leak_since 3 && "$@" && leak_none
	local rc=$?
	LEAK_PORTS=() LEAK_SINCE=()
	return $rc
}
asks() { echo "eth dst=ff:ff:ff:ff:ff:ff arp op=1 sip=192.0.2.3 tip=192.0.2.9" | in_ns dpu3 "$FRAMES" send p0 >/dev/null; }
ping9() { in_ns dpu3 ping -q -c 1 -W 5 192.0.2.9 >/dev/null; }
check "the leak watch sees its control, and does not count what left before" watched true
check "nor ARP" watched asks
refute "a reset is a leak" watched reset4
refute "and over IPv6" watched reset6
refute "and so is a ping" watched ping9
blind() {
	capture_start leak-3-blind s3 || return 0
	LEAK_RUNS[3]=leak-3-blind LEAK_PORTS[leak-3-blind]=s3
	leak_none
}
refute "a watch that has not seen its control shows nothing" blind
LEAK_PORTS=() LEAK_SINCE=()

# Two charons with a shared secret, and an xfrm interface for each.
for n in 1 2; do
	m=$((3 - n))
	check "charon starts in dpu$n" charon_up "$n" "dpu$n"
	ip_in "dpu$n" link add ipsec0 type xfrm dev p0 if_id 7
	ip_in "dpu$n" link set ipsec0 up
	ip_in "dpu$n" route replace "10.0.$m.0/24" dev ipsec0
	cat >"$(charon_dir "$n")/swanctl/conf.d/mesh.conf" <<-END
	connections { mesh {
		version = 2
		local_addrs = 192.0.2.$n
		remote_addrs = 192.0.2.$m
		proposals = aes256gcm16-prfsha384-ecp384
		if_id_in = 7
		if_id_out = 7
		local { auth = psk
			id = tray$n }
		remote { auth = psk
			id = tray$m }
		children { net {
			local_ts = 10.0.$n.0/24
			remote_ts = 10.0.$m.0/24
			esp_proposals = aes256gcm16-ecp384
		} }
	} }
	secrets { ike { secret = "only for this test" } }
	END
	check "charon in dpu$n loads its configuration" tray_quiet swan "$n" --load-all
done
capture_start esp s1 s2
check "the two negotiate an SA" \
	tray_quiet swan 1 --initiate --child net --timeout 30
check "packets pass through the tunnel" marker_from host1 10.0.2.2 5
check "the capture lost nothing" capture_stop esp
check "only ESP, IKE, ARP and ND left the trays" capture_only_encrypted esp
check "the marker is nowhere on the wire" capture_lacks_marker esp

# Moves the cable of tray 2 to the rogue, and back.
tray_cable_to_rogue 2
refute "with its cable in the rogue tray 2 is not reached" pings dpu1 192.0.2.2
tray_cable_back 2
check "with its cable back it is" lab_wait_for 10 pings dpu1 192.0.2.2

states() { in_ns "$1" ip xfrm state count | sed -n 's/.*count \([0-9]*\).*/\1/p'; }
charon_down 1
check "a charon that is asked to end leaves no SA" [ "$(states dpu1)" -eq 0 ]
no_states() { [[ $(states dpu2) -eq 0 ]]; }
check "and none on the other side, which it tells" lab_wait_for 10 no_states
done_testing
