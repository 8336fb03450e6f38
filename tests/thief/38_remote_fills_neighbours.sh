#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The DPU's neighbour table, filled from outside: packets of a granted peer (or of a forger on the
# wire) to ever new addresses of the host's prefix, each of which the DPU has to resolve.
set -uo pipefail
LAB_HOSTS=1
# shellcheck source=reach.sh
. "$(dirname "${BASH_SOURCE[0]}")/reach.sh"
attacks 9 "nobody on the wire keeps the operator from the DPU, nor a peer from its next hop"
reach_lab
ip_in dpu addr add 10.77.0.1/16 dev hpf0
ip_in dpu -6 addr add fd00:77::1/64 dev hpf0 nodad

answered_anew() {
	forget dpu mgmt0
	[[ $(answered 4 5) -eq 5 && $(answered 6 5) -eq 5 ]]
}
check "management is answered before" answered_anew
# Packets to the host do arrive: the flood consists of packets that pass.
lab_bg at-host host "$FRAMES" count h0
counter=$LAB_PID
lab_wait_for 5 grep -q ready "$LAB_TMP/at-host"
steal_by_wire --count 10 --pps 50 <<END
eth ip4 src=$A4 dst=$HOST4 udp fill=64
eth ip6 src=$A6 dst=$HOST6 udp fill=64
END
lab_settle
lab_stop "$counter"
check "what the wire says in the peer's name reaches the host, over IPv4" \
	grep -q "^0800 $HOST4 $A4 " "$LAB_TMP/at-host"
check "and over IPv6" grep -q "^86dd fd00:7::2 $A6 " "$LAB_TMP/at-host"

cat >"$LAB_TMP/frames" <<END
eth ip4 src=$A4 dst=10.77.0.0/16 udp fill=16
eth ip6 src=$A6 dst=fd00:77::/64 udp fill=16
END
frames_in() { lab_rx dpu p0 | cut -d' ' -f2; }
before=$(frames_in)
nsenter --net="/run/netns/$LAB-net" "$FRAMES" send s0 --gw "$UPLINK_MAC" --seconds 600 --pps 1500 \
	<"$LAB_TMP/frames" >/dev/null &
wire=$!
LAB_PIDS+=("$wire")
floods() { [[ $(frames_in) -ge $((before + 3000)) ]]; }
check "the wire floods: more new addresses of each family have come than a table has entries" lab_wait_for 60 floods
note "entries of the host port: IPv4 $(entries 4), IPv6 $(entries 6)"
promised "of IPv4 the host port has not filled the table" [ "$(entries 4)" -lt 600 ]
promised "nor of IPv6" [ "$(entries 6)" -lt 600 ]
promised "5 of 5 pings of management are answered of each family, its entries learnt anew" answered_anew
forget dpu p0
judges_on
steal --count 40 --pps 80 <<END
eth ip4 src=$HOST4 dst=$A4 udp fill=64
eth ip6 src=$HOST6 dst=$A6 udp fill=64
END
judges_off
check "the flood still runs" kill -0 $wire
promised "and the peer's next hop is found anew, over IPv4" [ "$(arrived d1 "^$A4\$")" -gt 0 ]
promised "and over IPv6" [ "$(arrived d1 "^$A6\$")" -gt 0 ]
lab_stop $wire
granted_arrives "the flood from the wire is over"
done_testing
