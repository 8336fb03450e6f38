#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The data path of encrypted peers (promises 1, 5, 7, 8) with SAs made by hand, without charon.
# Tray 2 is then taken over and tries what a conforming DPU would not do.
# vm-set: core
# vm-cost: 75
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-tun-$$
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../../vm-testbed/topo/trays.sh
. "$BWL_SOURCE/vm-testbed/topo/trays.sh"
# shellcheck source=../../vm-testbed/topo/manual_sa.sh
. "$BWL_SOURCE/vm-testbed/topo/manual_sa.sh"

pings() { in_ns "$1" ping -q -c 3 -i 0.2 -W 1 "$2" >/dev/null; }
reason() { # tray port reason: frames so far
	tray_ctl "$1" --json reasons | jq "[.reasons[] | select((.port + (if .hook == \"gate\" then \" out\" else \"\" end)) == \"$2\" and .reason == \"$3\") | .frames] | add // 0"
}
counts() { # tray port reason command…: whether the command raises it
	local was tray=$1 port=$2 reason=$3
	shift 3
	was=$(reason "$tray" "$port" "$reason")
	"$@"
	[[ $(reason "$tray" "$port" "$reason") -gt $was ]]
}

LIMITS='grant: { rate: 4mbit, mode: police }, accept: { rate: 2mbit, burst: 20kb }'

trays_up 2 || exit 1
for n in 1 2; do
	check "bwlimit attaches on tray $n with a tunnel device" tray_attach $n --tunnel bwl0
	check "and takes a policy with an encrypted peer" tray_apply $n < <(sa_tray_policy $n "$LIMITS")
done
check "the tunnel device's programs are attached" \
	sh -c "BWLIMIT_PIN_DIR=$LAB_PINS/tray1 nsenter --net=/run/netns/$LAB-dpu1 '$LOAD' status --json |
		jq -e '[.ports[] | select(.role == \"tunnel\") | .programs[] | select(.attached and .first)] | length == 2' >/dev/null"
complaints() { # of verify, about what encrypted peers require
	tray_load 1 verify --json >"$LAB_TMP/verify"
	jq -r ".checks[] | select(.result == \"$1\") | .text" "$LAB_TMP/verify" | grep -E 'tunnel|encrypted|the DPU'
}
refute "verify has nothing against it" complaints fail
check "but warns that nobody looks after the SAs" test "$(complaints warn | grep -c 'nothing tracks')" = 1
capture_start wire s1 s2
refute "without an SA nothing passes" pings host1 10.0.2.2
check "and the reason is no-sa" test "$(reason 1 pf0hpf no-sa)" -ge 3

sa_pair 1 2
refute "SAs that nobody told us of are not used" pings host1 10.0.2.2
sa_usable 1 "$(sa_if_id 1 tray-2)" 3
sa_usable 2 "$(sa_if_id 2 tray-1)" 3
marker_start host1 10.0.2.2
check "IPv4 passes through the tunnel" pings host1 10.0.2.2
check "IPv6 passes through the tunnel" pings host1 fd00:2::2
check "and from the other side" pings host2 fd00:1::2
refute "the other DPU itself does not answer" in_ns host1 ping -q -c 1 -W 1 10.0.2.1
lab_iperf_server host2 5201
in_ns host1 timeout 300 iperf3 -c 10.0.2.2 -n 400K -J >"$LAB_TMP/tcp.json"
note "TCP at 4 Mbit/s, accept 2 Mbit/s: $(jq -r '.end.sum_received.bits_per_second / 1e6' "$LAB_TMP/tcp.json") Mbit/s"
check "TCP passes" jq -e '.end.sum_received.bytes > 300000' "$LAB_TMP/tcp.json"
check "and is held to the receiver's accept" jq -e '.end.sum_received.bits_per_second < 2400000' "$LAB_TMP/tcp.json"
check "what is too much is refused on arrival" test "$(reason 2 bwl0 accept-rate)" -gt 0

# The network side of tray 1.
inject() { # source destination: in the clear, from the rogue
	in_ns rogue "$FRAMES" send p0 --gw "$(tray_mac 1 3)" --count 3 \
		<<<"eth ip4 src=$1 dst=$2 udp dport=9 fill=64" >/dev/null
}
check "plaintext in the peer's name is dropped at the uplink" counts 1 p0 no-sa inject 10.0.2.2 10.0.1.2
check "plaintext in nobody's name, too" counts 1 p0 uplink-in inject 10.99.0.1 10.0.1.2

# The last gate: what the DPU itself sends for the peer was charged at no host port.
in_clear() {
	in_ns dpu1 "$FRAMES" send p0 --gw "$(tray_mac 2 3)" --count 3 \
		<<<"eth ip4 src=10.0.1.2 dst=10.0.2.2 udp dport=9 fill=64" >/dev/null
}
into_tunnel() { in_ns dpu1 ping -q -c 3 -i 0.2 -W 1 -I bwl0 10.0.2.2 >/dev/null; }
check "what is in the clear for the peer does not leave by the uplink" counts 1 "p0 out" gate in_clear
check "nor does what nobody charged enter the tunnel" counts 1 "bwl0 out" gate into_tunnel
check "what a host sends passes beside it" pings host1 10.0.2.2

# The SAs disappear without bwlimit; the map still says that they are there.
in_ns dpu1 ip xfrm state flush
refute "without its SA nothing passes, although the map says otherwise" pings host1 10.0.2.2
in_ns dpu1 ip xfrm policy flush
refute "nor without the policy" pings host1 10.0.2.2

marker_stop
check "the captures are whole" capture_stop wire
check "the trays sent ESP, ARP and ND only" capture_only_encrypted wire
check "the marker never passed in the clear" capture_lacks_marker wire

# Tray 2 is taken over: it has no limits any more, but still its SA. It sends whatever it wants.
leak_pause 2
tray_quiet tray_load 2 detach
for n in 1 2; do in_ns dpu$n ip xfrm state flush; in_ns dpu$n ip xfrm policy flush; done
evil_id=77
sa_pair_ids 1 2 "$(sa_if_id 1 tray-2)" $evil_id
lab_sysctl dpu2 net.ipv4.ip_forward=1
ip_in dpu2 link add evil type xfrm dev p0 if_id "$evil_id"
ip_in dpu2 link set evil up
ip_in dpu2 addr add 10.99.0.5/32 dev evil
ip_in dpu2 addr add 10.0.2.77/32 dev evil
ip_in dpu2 route add 10.0.1.0/24 dev evil
ip_in dpu2 route add 10.0.9.0/24 dev evil
check "an inner source that is not the peer's is dropped" \
	counts 1 bwl0 tunnel-source in_ns dpu2 ping -q -c 3 -i 0.2 -W 1 -I 10.99.0.5 10.0.1.2
check "an inner destination that is no host's is dropped" \
	counts 1 bwl0 uplink-in in_ns dpu2 ping -q -c 1 -W 1 -I 10.0.2.77 10.0.9.1
lab_iperf_server host1 5201
in_ns dpu2 timeout 300 iperf3 -c 10.0.1.2 -B 10.0.2.77 -u -b 8M -l 1200 -t 3 -J >"$LAB_TMP/udp.json"
note "UDP at 8 Mbit/s, accept 2 Mbit/s: $(jq -c '.end.sum | [.bits_per_second / 1e6, .lost_percent]' "$LAB_TMP/udp.json") Mbit/s offered, % lost"
check "it is held to accept on arrival" test "$(reason 1 bwl0 accept-rate)" -gt 100
leak_end
done_testing
