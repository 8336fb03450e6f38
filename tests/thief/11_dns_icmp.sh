#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# DNS and ICMP, the classic tunnels: to a destination with a grant, and to one without.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 1 "DNS and ICMP are denied or charged, never free"
thief_peers() {
	local classes="classes: { dns: { rate: 200kbit, burst: 80kb }, icmp: { rate: 100kbit, burst: 80kb } }"
	echo "peers:"
	lab_peer alpha 1 "grant: { rate: 1mbit, burst: 150kb }"
	lab_peer beta 2 "grant: { rate: 4mbit, burst: 150kb }, $classes"
	lab_peer gamma 3 "grant: { rate: 4mbit, burst: 150kb }, $classes"
}
dns() { # destination4 destination6
	cat <<-END
	eth ip4 src=$HOST4 dst=$1 udp dport=53 fill=800
	eth ip4 src=$HOST4 dst=$1 udp sport=53 dport=40001 fill=800
	eth ip4 src=$HOST4 dst=$1 tcp dport=53 flags=0x18 fill=800
	eth ip6 src=$HOST6 dst=$2 udp dport=53 fill=800
	END
}
icmp() { # destination4 destination6
	cat <<-END
	eth ip4 src=$HOST4 dst=$1 icmp fill=800
	eth ip4 src=$HOST4 dst=$1 icmp kind=0 fill=800
	eth ip4 src=$HOST4 dst=$1 icmp kind=3 code=4 fill=800
	eth ip4 src=$HOST4 dst=$1 icmp kind=5 code=1 fill=800
	eth ip6 src=$HOST6 dst=$2 icmp kind=128 fill=800
	eth ip6 src=$HOST6 dst=$2 icmp kind=2 fill=800
	END
}
thief_lab
sleep 1
judges_on
{
	dns $A4 $A6; icmp $A4 $A6
	dns $B4 $B6
	icmp $C4 $C6
	dns $X4 $X6; icmp $X4 $X6
	dns 10.7.0.1 fd00:7:0::1; icmp 10.7.0.1 fd00:7:0::1
	dns 10.250.0.2 fd00:250::2; icmp 10.250.0.2 fd00:250::2
	dns 8.8.8.8 2001:4860::8; icmp 8.8.8.8 2001:4860::8
} | steal --count 24000 --pps 8000
judges_off
within "within the grant where DNS and ICMP may go" "$(arrived d1)" $RATE $BURST
something_at "and they do go there over IPv4" d1 "^$A4\$"
something_at "and over IPv6" d1 "^$A6\$"
within "DNS within its class where that is limited" "$(arrived d2)" 200000 81920
within "ICMP within its class where that is limited" "$(arrived d3)" 100000 81920
nothing_at "nothing to a stranger" d4
nothing_at "nothing to anyone else's address" wire '^(8\.8|2001:4860)'
nothing_at "nothing to the management network, nor to anyone by it" mgmt
no_socket_heard "nothing to the DPU's own port 53"
done_testing
