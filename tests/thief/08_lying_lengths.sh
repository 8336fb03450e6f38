#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# False length fields: IP shorter than the frame (data after it), longer than it, no
# payload at all, header lengths that point past the end.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "1 and 2" "the frame is charged, not what its headers say"
thief_lab
sleep 1
judges_on
steal --count 24000 --pps 8000 <<END
eth ip4 src=$HOST4 dst=$A4 len=28 udp len=8 fill=1400
eth ip4 src=$HOST4 dst=$A4 len=20 udp fill=1400
eth ip4 src=$HOST4 dst=$A4 len=1400 udp fill=100
eth ip4 src=$HOST4 dst=$A4 len=0 udp fill=1400
eth ip4 src=$HOST4 dst=$A4 ihl=4 udp fill=1400
eth ip4 src=$HOST4 dst=$A4 ihl=15 len=40 udp fill=1400
eth ip4 src=$HOST4 dst=$A4 udp len=0 fill=1400
eth ip4 src=$HOST4 dst=$A4 udp len=4 fill=1400
eth ip4 src=$HOST4 dst=$A4 udp len=65535 fill=1400
eth ip4 src=$HOST4 dst=$A4 tcp doff=15 fill=8
eth ip4 src=$HOST4 dst=$A4 tcp doff=0 fill=1400
eth ip6 src=$HOST6 dst=$A6 len=8 udp len=8 fill=1400
eth ip6 src=$HOST6 dst=$A6 len=0 udp fill=1400
eth ip6 src=$HOST6 dst=$A6 len=65535 udp fill=1400
eth ip6 src=$HOST6 dst=$A6 len=0 ext kind=0 size=8 hex=c20400010000 udp fill=1400
eth ip4 src=$HOST4 dst=$X4 len=28 udp len=8 fill=1400
eth ip4 src=$HOST4 dst=10.7.0.1 len=128 udp len=108 fill=1400
eth ip4 src=$HOST4 dst=10.7.0.1 udp len=108 fill=1400
eth ip4 src=$HOST4 dst=10.250.0.1 len=128 icmp fill=1400
eth ip6 src=$HOST6 dst=fd00:7:0::1 len=108 udp len=108 fill=1400
eth ip6 src=$HOST6 dst=fd00:250::1 len=108 icmp kind=128 fill=1400
eth ip6 src=$HOST6 dst=$X6 len=8 udp len=8 fill=1400
END
judges_off
something_at "some of them leave over IPv4" wire "^$A4\$"
something_at "and over IPv6" wire "^$A6\$"
within "with all their bytes within the grant" "$(arrived wire)" $RATE $BURST
nothing_at "a stranger gets none" d4
nothing_at "none leaves by the management port" mgmt
no_socket_heard "none ends at a socket of the DPU"
done_testing
