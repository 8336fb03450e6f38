#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Frames of every size: jumbo ones where the uplink takes 1500, runts of a few bytes, and
# many small ones that cost the wire more than their length.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "1 and 2" "what does not fit is dropped; a small frame is charged min_charge"
thief_lab
ip_in host link set h0 mtu 9000
ip_in dpu link set hpf0 mtu 9000
for n in 14 15 17 18 20 33 34 41 42 53 54; do
	echo "eth ip4 src=$HOST4 dst=$A4 udp fill=400 cut=$n"
	echo "eth ip6 src=$HOST6 dst=$A6 udp fill=400 cut=$n"
	echo "eth ip4 src=$HOST4 dst=$X4 udp fill=400 cut=$n"
	echo "eth ip4 src=$HOST4 dst=10.7.0.1 udp fill=400 cut=$n"
	echo "eth ip6 src=$HOST6 dst=fd00:7:0::1 udp fill=400 cut=$n"
done >"$LAB_TMP/runts"
judges_on
steal --count 2000 --pps 2000 <"$LAB_TMP/runts"
judges_off
nothing_leaves "frames cut short go nowhere"
no_socket_heard "nor to a socket of the DPU"
judges_on
steal --count 600 --pps 300 <<END
eth ip4 src=$HOST4 dst=$A4 udp fill=1473
eth ip4 src=$HOST4 dst=$A4 udp fill=8000
eth ip6 src=$HOST6 dst=$A6 udp fill=4000
eth ip4 src=$HOST4 dst=$A4 df=1 tcp dport=443 fill=8900
eth ip6 src=$HOST6 dst=$A6 tcp dport=443 fill=8900
eth ip4 src=$HOST4 dst=10.7.0.1 df=1 udp fill=8000
eth ip6 src=$HOST6 dst=fd00:7:0::1 udp fill=8000
END
judges_off
nothing_leaves "jumbo frames do not fit the uplink and go nowhere"
no_socket_heard "nor to a socket of the DPU"
sleep 1.5
judges_on
steal --count 90000 --pps 30000 <<END
eth ip4 src=$HOST4 dst=$A4 udp fill=1
eth ip4 src=$HOST4 dst=$A4 type=253
eth ip6 src=$HOST6 dst=$A6 udp
END
judges_off
frames=$(awk '/^(0800|86dd)/ && $2 ~ /^(10.101|fd00:101)/ { n += $4 } END { print n + 0 }' "$LAB_TMP/at-d1")
within "small frames, at 64 bytes each, stay within the grant" $((frames * 64)) $RATE $BURST
something_at "and the grant was used over IPv4" d1 "^$A4\$"
something_at "and over IPv6" d1 "^$A6\$"
granted_arrives "the flood of small frames is over"
done_testing
