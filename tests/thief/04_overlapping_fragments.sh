#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Overlapping fragments, tiny first fragments, offsets that wrap: what a reassembler would make of them
# differs from what a filter saw.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "1 and 2" "each fragment is charged by itself; no reassembly is trusted"
thief_lab
sleep 1
judges_on
steal --count 18000 --pps 6000 <<END
eth ip4 src=$HOST4 dst=$A4 id=1 mf=1 udp dport=9 fill=1000
eth ip4 src=$HOST4 dst=$A4 id=1 off=8 mf=1 type=17 fill=1000
eth ip4 src=$HOST4 dst=$A4 id=1 off=0 mf=1 type=17 fill=1000
eth ip4 src=$HOST4 dst=$A4 id=2 off=65528 mf=1 type=17 fill=1400
eth ip4 src=$HOST4 dst=$A4 id=3 mf=1 type=6 fill=8
eth ip4 src=$HOST4 dst=$A4 id=3 off=8 type=6 fill=1000
eth ip6 src=$HOST6 dst=$A6 frag6 id=4 mf=1 udp dport=9 fill=1000
eth ip6 src=$HOST6 dst=$A6 frag6 id=4 off=8 mf=1 type=17 fill=1000
eth ip6 src=$HOST6 dst=$A6 frag6 id=5 type=44 mf=1 frag6 id=6 off=8 type=17 fill=800
eth ip4 src=$HOST4 dst=10.7.0.1 id=7 udp dport=9 fill=1500 slice=0,1008
eth ip4 src=$HOST4 dst=10.7.0.1 id=7 udp dport=9 fill=1500 slice=0,1000
eth ip4 src=$HOST4 dst=10.7.0.1 id=7 udp dport=9 fill=1500 slice=1008,1000
eth ip4 src=$HOST4 dst=10.7.0.1 id=8 mf=1 udp dport=9 fill=1000
eth ip6 src=$HOST6 dst=fd00:7:0::1 frag6 id=7 udp dport=9 fill=1500 slice=0,1008
eth ip6 src=$HOST6 dst=fd00:7:0::1 frag6 id=8 udp dport=9 fill=1500 slice=0,1008
eth ip6 src=$HOST6 dst=fd00:7:0::1 frag6 id=8 udp dport=9 fill=1500 slice=1008,1000
eth ip4 src=$HOST4 dst=$X4 id=1 mf=1 udp dport=9 fill=1000
eth ip4 src=$HOST4 dst=$X4 id=1 off=8 type=17 fill=1000
eth ip6 src=$HOST6 dst=$X6 frag6 id=9 off=8 type=17 fill=1000
END
judges_off
within "overlapping fragments together stay within the grant" "$(arrived d1)" $RATE $BURST
something_at "and the grant was used" d1
nothing_at "none reaches a stranger" d4
nothing_at "none leaves by the management port" mgmt
no_socket_heard "none ends at a socket of the DPU"
done_testing
