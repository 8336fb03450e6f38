#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# GSO fields are chosen by the host: segments of one byte, of none, wrong types and headers. The
# router before the destination segments, so what is counted there is what a wire would see.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 2 "every segment is charged with its headers; GSO fields never lower the charge"
thief_lab
sleep 1
# UDP GSO: the kernel needs a checksum to complete: start at the UDP header, offset 6 in it.
v4="csum=34,6 eth ip4 src=$HOST4 dst=$A4" v6="csum=54,6 eth ip6 src=$HOST6 dst=$A6"
t4="csum=34,16 eth ip4 src=$HOST4 dst=$A4" t6="csum=54,16 eth ip6 src=$HOST6 dst=$A6"
judges_on
steal --count 4500 --pps 1500 <<END
vnet gso=udp hdr=42 size=1400 $v4 udp fill=42000
vnet gso=udp hdr=42 size=600 $v4 udp fill=30000
vnet gso=udp hdr=42 size=20 $v4 udp fill=1200
vnet gso=udp hdr=42 size=1 $v4 udp fill=100
vnet gso=udp hdr=62 size=100 $v6 udp fill=6000
vnet gso=tcp4 hdr=54 size=1448 $t4 tcp dport=443 flags=0x10 fill=60000
vnet gso=tcp4 hdr=54 size=8 $t4 tcp dport=443 flags=0x10 fill=2000
vnet gso=tcp4 hdr=54 size=1 $t4 tcp dport=443 flags=0x10 fill=500
vnet gso=tcp6 hdr=74 size=50 $t6 tcp dport=443 flags=0x10 fill=20000
vnet gso=tcp6 hdr=14 size=1448 $t6 tcp dport=443 flags=0x10 fill=20000
vnet gso=tcp4 hdr=54 size=65535 $t4 tcp dport=443 flags=0x10 fill=60000
vnet gso=tcp4 hdr=54 size=0 $t4 tcp dport=443 flags=0x10 fill=3000
vnet gso=tcp4 hdr=200 size=100 $t4 tcp dport=443 flags=0x10 fill=9000
vnet gso=tcp4 hdr=42 size=100 $v4 udp fill=9000
vnet gso=udp hdr=54 size=100 $t4 tcp flags=0x10 fill=9000
vnet gso=tcp6 hdr=54 size=100 $t4 tcp flags=0x10 fill=9000
vnet gso=tcp4 hdr=54 size=1448 $t4 len=0 tcp dport=443 flags=0x10 fill=60000
vnet gso=tcp6 hdr=74 size=1428 $t6 len=0 tcp dport=443 flags=0x10 fill=60000
vnet gso=tcp6 hdr=82 size=1428 csum=62,16 eth ip6 src=$HOST6 dst=$A6 len=0 ext kind=0 size=8 tcp dport=443 flags=0x10 fill=60000
vnet gso=ufo hdr=42 size=1000 $v4 udp fill=9000
END
judges_off
note "$(cat "$LAB_TMP/sent") (refused by the host's own kernel)"
something_at "segments arrive" d1
within "segments with their headers stay within the grant" "$(arrived d1)" $RATE $BURST
promised "no frame above the uplink's MTU arrived" \
	awk '/^(0800|86dd)/ && $4 { if ($5 / $4 > 1514) exit 1 }' "$LAB_TMP/at-d1"
done_testing
