#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Fragments: without ports to classify them by, without a first one, and as small as possible.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "1 and 2" "fragments are charged (class other) or denied, never free"

thief_peers() {
	echo "peers:"
	# https may take all of the grant, other classes little: a fragment is one of the others.
	lab_peer alpha 1 "grant: { rate: 4mbit, burst: 150kb }, classes: { other: { rate: 200kbit, burst: 80kb } }"
	lab_peer beta 2 "grant: { rate: 1mbit, burst: 150kb }"
}
thief_lab
sleep 1
for part in 0,1008 1008,1008; do
	echo "eth ip4 src=$HOST4 dst=10.7.0.1 id=11 udp dport=9 fill=1500 slice=$part"
	echo "eth ip4 src=$HOST4 dst=10.7.0.1 id=12 tcp sport=40001 dport=9 flags=2 fill=1500 slice=$part"
	echo "eth ip4 src=$HOST4 dst=10.250.0.1 id=13 icmp fill=1500 slice=$part"
	echo "eth ip6 src=$HOST6 dst=fd00:7:0::1 frag6 id=14 udp dport=9 fill=1500 slice=$part"
	echo "eth ip6 src=$HOST6 dst=fd00:7:0::1 frag6 id=15 tcp sport=40001 dport=9 flags=2 fill=1500 slice=$part"
	echo "eth ip6 src=$HOST6 dst=fd00:250::1 frag6 id=16 icmp kind=128 fill=1500 slice=$part"
done >"$LAB_TMP/to-dpu"
judges_on
cat - "$LAB_TMP/to-dpu" <<END | steal --count 24000 --pps 8000
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
of_class() { # source destination class, then as for explain
	[[ $(ctl explain "$1" "$2" "${@:4}" --json | sed -n 's/.*"class": "\([a-z]*\)".*/\1/p') == "$3" ]]
}
check "control: to explain, a whole packet to port 443 is https, by IPv4" of_class "$HOST4" "$A4" https tcp 443
check "and by IPv6" of_class "$HOST6" "$A6" https tcp 443
check "a fragment is other, by IPv4" of_class "$HOST4" "$A4" other fragment
check "and by IPv6" of_class "$HOST6" "$A6" other fragment
within "fragments of port 443 are class other, not https" "$(arrived d1)" 200000 81920
within "fragments stay within a grant without classes" "$(arrived d2)" 1000000 153600
something_at "fragments do arrive within the limit" d2
nothing_at "fragments to a stranger do not" d4
nothing_at "nor do those to the DPU leave by the management port" mgmt
no_socket_heard "and none ends at a socket of the DPU"
done_testing
