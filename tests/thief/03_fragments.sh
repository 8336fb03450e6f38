#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Fragments: no ports to classify them by, first ones missing, as small as they can be.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "1 and 2" "fragments are charged (class other) or denied, never free"

thief_peers() {
	echo "peers:"
	# https may take all of the grant, anything else little: a fragment is anything else.
	lab_peer alpha 1 "grant: { rate: 4mbit, burst: 150kb }, classes: { other: { rate: 200kbit, burst: 80kb } }"
	lab_peer beta 2 "grant: { rate: 1mbit, burst: 150kb }"
}
thief_lab
sleep 1
judges_on
steal --seconds 3 --pps 8000 <<END
eth ip4 src=$HOST4 dst=$A4 id=7 mf=1 tcp sport=40000 dport=443 fill=1208
eth ip4 src=$HOST4 dst=$A4 id=7 off=1232 mf=1 type=6 fill=1208
eth ip4 src=$HOST4 dst=$A4 id=7 off=2464 type=6 fill=1000
eth ip4 src=$HOST4 dst=$A4 id=8 off=8 type=6 fill=8
eth ip6 src=$HOST6 dst=$A6 frag6 id=9 mf=1 tcp dport=443 fill=1196
eth ip6 src=$HOST6 dst=$A6 frag6 id=9 off=1216 type=6 fill=1000
eth ip4 src=$HOST4 dst=$B4 id=3 mf=1 udp dport=53 fill=1000
eth ip4 src=$HOST4 dst=$B4 id=3 off=1008 type=17 fill=1000
eth ip6 src=$HOST6 dst=$B6 frag6 id=4 off=1208 type=17 fill=1000
eth ip4 src=$HOST4 dst=$X4 id=5 off=1232 type=6 fill=1208
eth ip6 src=$HOST6 dst=$X6 frag6 id=6 off=1232 type=6 fill=1208
END
judges_off
within "fragments of port 443 are class other, not https" "$(arrived d1)" 200000 81920
within "fragments stay within a grant without classes" "$(arrived d2)" 1000000 153600
something_at "fragments do arrive within the limit" d2
nothing_at "fragments to a stranger do not" d4
no_socket_heard "and none ends at a socket of the DPU"
done_testing
