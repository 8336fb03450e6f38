#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ways out that the policy does not name: a second uplink, the management port, and the routes
# that lead there.
set -uo pipefail
LAB_UPLINKS=2 LAB_DESTS=2 LAB_POLICY_UPLINKS='p0, p1'
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 1 "no byte leaves by any interface but the uplink that its grant names"
thief_lab
# A careless operator: the DPU's own routes point there.
ip_in dpu route add 10.104.0.0/16 via 10.250.0.2
ip_in dpu route add 10.102.0.0/24 via 192.0.3.254
ip_in dpu -6 route add fd00:104::/64 via fd00:250::2
judges_on
steal --count 9000 --pps 3000 <<END
eth ip4 src=$HOST4 dst=10.250.0.2 udp fill=500
eth ip4 src=$HOST4 dst=$X4 udp fill=500
eth ip6 src=$HOST6 dst=$X6 udp fill=500
eth ip6 src=$HOST6 dst=fd00:250::2 udp fill=500
eth ip4 src=$HOST4 dst=192.0.3.254 udp fill=500
eth ip4 src=$HOST4 dst=$B4 udp fill=500
eth dst=$(lab_mac dpu mgmt0) ip4 src=$HOST4 dst=10.250.0.2 udp fill=500
eth dst=$(lab_mac mgmt eth0) ip4 src=$HOST4 dst=10.250.0.2 icmp fill=500
eth dst=$(lab_mac dpu mgmt0) ip6 src=$HOST6 dst=fd00:250::2 udp fill=500
eth dst=$(lab_mac mgmt eth0) ip6 src=$HOST6 dst=fd00:250::2 icmp kind=128 fill=500
eth ip6 src=$HOST6 dst=2001:db8:1::fe udp fill=500
eth ip6 src=$HOST6 dst=$B6 udp fill=500
eth dst=$(lab_mac net s1) ip4 src=$HOST4 dst=$A4 udp fill=500
eth ip4 src=$HOST4 dst=192.0.2.254 udp fill=500
eth ip6 src=$HOST6 dst=2001:db8::fe udp fill=500
END
judges_off
nothing_at "nothing leaves by the management port" mgmt
nothing_at "nothing leaves by an uplink that no grant names" wire1
promised "only the granted peers are seen on the wire" \
	[ "$(arrived wire)" -eq "$(arrived wire "^($A4|$B4|$B6)\$")" ]
something_at "the granted peer is reached by the policy's next hop, whatever the route" d2 "^$B4\$"
something_at "and over IPv6" d2 "^$B6\$"
no_socket_heard "no socket of the DPU is reached"
done_testing
