#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# From one host port to another one of the same DPU: two tenants, or two functions of one host.
set -uo pipefail
LAB_HOSTS=2 LAB_DESTS=2 LAB_SOURCES=('10.7.0.0/24, "fd00:7:0::/64"' '10.7.1.0/24, "fd00:7:1::/64"')
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 1 "no byte leaves by another host port unless a grant was charged for it"
thief_peers() {
	echo "peers:"
	lab_peer alpha 1 "grant: { rate: 1mbit, burst: 150kb }, from: [hpf0]"
	lab_peer beta 2 "grant: { rate: 1mbit, burst: 150kb }, from: [hpf1]"
}
thief_lab
mac1=$(lab_mac host1 h0) port1=$(lab_mac dpu hpf1)
judges_on
steal --count 3000 --pps 3000 <<END
eth ip4 src=$HOST4 dst=10.7.1.2 udp fill=500
eth ip6 src=$HOST6 dst=fd00:7:1::2 udp fill=500
eth dst=$mac1 ip4 src=$HOST4 dst=10.7.1.2 udp fill=500
eth dst=$port1 ip4 src=$HOST4 dst=10.7.1.2 udp fill=500
eth dst=$mac1 ip6 src=$HOST6 dst=fd00:7:1::2 icmp kind=128 fill=500
eth dst=ff:ff:ff:ff:ff:ff ip4 src=$HOST4 dst=10.7.1.255 udp fill=500
eth dst=ff:ff:ff:ff:ff:ff arp sip=$HOST4 tip=10.7.1.2 fill=500
eth dst=33:33:ff:00:00:02 ip6 src=$HOST6 dst=ff02::1:ff00:2 hop=255 nd target=fd00:7:1::2 fill=500
eth dst=$mac1 type=0x88b5 fill=500
eth ip4 src=$HOST4 dst=$B4 udp fill=500
eth ip4 src=10.7.1.2 dst=$B4 udp fill=500
eth ip6 src=fd00:7:1::2 dst=$B6 udp fill=500
END
judges_off
nothing_at "nothing arrives at the other host port" host1
nothing_at "a peer of the other port cannot be reached from this one" d2
nothing_leaves "nothing leaves by any other device"
nothing_at "nor by taking the other port's source address" wire . '^(10\.7\.1\.2|fd00:7:1::2)$'
no_socket_heard "no socket of the DPU is reached either"

# The judges do see: permitted packets arrive there.
judges_on
steal --count 200 --pps 2000 <<END
eth ip4 src=$HOST4 dst=$A4 udp fill=500
eth ip6 src=$HOST6 dst=$A6 udp fill=500
END
in_ns host1 "$FRAMES" send h0 --gw "$port1" --count 200 --pps 2000 >"$LAB_TMP/sent" <<END
eth ip4 src=10.7.1.2 dst=$B4 udp fill=500
eth ip6 src=fd00:7:1::2 dst=$B6 udp fill=500
END
judges_off
something_at "this port's own peer is reached over IPv4" d1 "^$A4\$"
something_at "and over IPv6" d1 "^$A6\$"
something_at "the other port's own peer is reached from there over IPv4" d2 "^$B4\$"
something_at "and over IPv6" d2 "^$B6\$"
done_testing
